//! Batches of members on a timeline, through the real engine.

mod crashes;
mod immediate;
mod instances;
mod life;
mod manual;
mod members;
mod numbers;
mod operations;
mod orders;
mod passes;
pub(crate) mod quiet;
mod races;
mod sources;
mod story;
mod versions;
mod waits;
pub(crate) mod world;
