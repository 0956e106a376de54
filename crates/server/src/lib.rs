//! How it is asked: routes, access, live events, metrics.
