//! Runbooks and batches as people and scripts steer them: the real binary against a real server.

mod batches;
mod documents;
mod operate;
mod sign_in;
mod site;
mod watch;
