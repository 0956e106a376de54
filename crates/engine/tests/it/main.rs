//! The engine, on real stores and the real bus, with a clock that the test moves.

mod batches;
mod faults;
mod faulty;
mod fencing;
mod flow;
mod given_up;
mod intake;
mod letters;
mod loops;
mod ownership;
mod recovery;
mod retention;
mod submissions;
mod timelines;
mod timers;
mod triggers;
mod webhooks;
mod workspaces;
mod world;
