//! The connectors, each against its contract.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod conformance;
mod embedded;
mod window;
