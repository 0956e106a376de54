//! The program as people and scripts meet it: the real binary, real sockets, real files.

mod config;
mod crash;
mod demo;
mod exits;
mod help;
mod jobs;
mod page;
mod program;
mod recovery;
mod serve;
mod validate;
mod webhooks;
mod workers;
