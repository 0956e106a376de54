//! Batches: when a phase begins, when it is over, what a newer version means, when a batch has ended.

mod counters;
mod golden;
mod life;
mod manual;
mod phases;
mod random;
mod stop;
mod table;
mod versions;
mod world;
