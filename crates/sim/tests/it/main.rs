//! The simulator proves itself: worlds are sound, repeatable and small, and mistakes are found.

mod bugs;
mod clock;
mod lives;
mod readers;
mod regressions;
mod repetition;
mod shrinking;
mod worlds;
