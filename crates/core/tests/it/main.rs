//! Proofs of the core: what is decided, that every arrow of the machine is drawn and taken, and
//! that a history folds to its state for ever.

mod text;
mod world;

mod attempts;
mod cancel;
mod compensation;
mod explain;
mod fencing;
mod graph;
mod operate;
mod pause;
mod polling;
mod run_retry;
mod templates;
