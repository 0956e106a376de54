//! How each dialect says it: documents, requests, messages, views, status words. Pure.

pub mod fields;
pub mod problem;
pub mod yaml;
