//! How each dialect says it: documents, requests, messages, views, status words. Pure.
