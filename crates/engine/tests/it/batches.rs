//! Batches of members on a timeline, through the real engine.

mod immediate;
mod life;
mod manual;
mod members;
mod numbers;
mod operations;
mod orders;
mod passes;
pub(crate) mod quiet;
mod story;
mod versions;
pub(crate) mod world;
