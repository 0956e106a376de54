//! Runbooks and batches as people and scripts steer them: the real binary against a real server.

mod automated;
mod batches;
mod documents;
mod operate;
mod routes;
mod sign_in;
mod site;
mod watch;
