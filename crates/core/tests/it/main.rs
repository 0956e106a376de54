//! Proofs of the core: what is decided, that every arrow of the machine is drawn and taken, and
//! that a history folds to its state for ever.

mod life;
mod lives;
mod text;
mod world;

mod adopt;
mod attempts;
mod batch;
mod cancel;
mod compensation;
mod conditions;
mod drawing;
mod explain;
mod fencing;
mod golden;
mod graph;
mod items;
mod items_by_hand;
mod keeping_rules;
mod liveness;
mod operate;
mod pause;
mod polling;
mod refresh;
mod replay;
mod rules;
mod run_retry;
mod scale;
mod table;
mod templates;
mod workspaces;
