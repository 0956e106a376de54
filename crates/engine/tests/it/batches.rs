//! Batches of members on a timeline, through the real engine.

mod crashes;
mod immediate;
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
pub(crate) mod world;
