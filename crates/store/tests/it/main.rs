//! Every store against the contract, and SQLite against the world.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod conformance;
