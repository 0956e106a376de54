//! The connectors, each against its contract.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod conformance;
mod egress;
mod embedded;
mod file_drop;
mod hostile_urls;
mod publisher;
mod release;
mod signature;
mod source;
mod window;
