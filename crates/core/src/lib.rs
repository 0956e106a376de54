//! What is true: definitions, the run state machine, decide, evolve, explain. Pure.

pub mod duration;
pub mod lane;
pub mod template;
