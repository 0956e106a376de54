//! How it travels: buses, data sources, guarded calls to the outside.
//!
//! This crate knows bytes and addresses. It does not know what a run, a step or a batch is, and
//! depends on no other crate of ours. Each kind of connector is one trait with one conformance
//! suite; a new one is done when it passes.

pub mod bus;
pub mod chance;
pub mod clock;
pub mod egress;
pub mod file_drop;
#[cfg(feature = "sources")]
pub mod source;
