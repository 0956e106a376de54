//! Batches of members on a timeline, through the real engine.

mod life;
mod world;
