//! What is true: definitions, the run state machine, decide, evolve, explain. Pure.
//!
//! Nothing in this crate reads a clock, draws a random number or touches a store. Read it in this
//! order: [`definition`] (what a run follows), [`run`] and [`step`] (its state), [`expansion`] (a step
//! that is done once for each item of a list), [`command`] (what may happen), [`decide`] (what that
//! means), [`entry`] (what is remembered), [`evolve`] (what the state becomes), [`effect`] (what must
//! follow), [`explain`] (why it waits). [`table`] is the same machine as a picture, and the tests hold
//! the two together. [`batch`] decides for a batch of members on a timeline.

pub mod batch;
pub mod command;
pub mod condition;
pub mod credit;
pub mod decide;
pub mod definition;
pub mod duration;
pub mod effect;
pub mod entry;
pub mod evolve;
pub mod expansion;
pub mod explain;
pub mod id;
pub mod invariant;
pub mod lane;
pub mod refusal;
pub mod retry;
pub mod run;
pub mod step;
pub mod steps;
pub mod table;
pub mod template;
pub mod terms;
pub mod time;
pub mod trigger;
