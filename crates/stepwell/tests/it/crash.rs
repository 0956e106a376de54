//! What is promised must hold when the process is killed, stopped, paused, out of disk, or wrong
//! about the time: the real binary, a real file, real HTTP, and an oracle that stands outside.
//!
//! [`storm`] keeps clients and unreliable workers busy while a test does something to the server.
//! They share a [`world`], and write down what they were told in a [`journal`]; afterwards [`verdict`] and [`history`] hold
//! it against what the server shows and what its file says. `docs/reliability.md` says what each
//! test proves.

mod clients;
mod clock;
mod disk;
pub(crate) mod history;
pub(crate) mod journal;
mod kill;
mod pause;
pub(crate) mod site;
mod small_disk;
mod stop;
mod storm;
pub(crate) mod verdict;
pub(crate) mod workers;
pub(crate) mod world;
