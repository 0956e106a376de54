//! The program as people and scripts meet it: the real binary, real sockets, real files.

mod config;
mod crash;
mod demo;
mod exits;
#[cfg(feature = "postgres")]
mod fleet;
mod help;
mod jobs;
mod page;
mod program;
mod readme;
mod recovery;
mod rehearse;
mod runbooks;
mod secrets;
mod serve;
#[cfg(feature = "postgres")]
mod store_move;
mod validate;
mod webhooks;
mod workers;
