//! What is promised must hold when the process is killed, stopped, paused, out of disk, or wrong
//! about the time: the real binary, a real file, real HTTP, and an oracle that stands outside.
//!
//! [`storm`] keeps clients and unreliable workers busy while a test does something to the server.
//! They write down what they were told in a [`journal`]; afterwards [`verdict`] and [`history`] hold
//! it against what the server shows and what its file says. `docs/reliability.md` says what each
//! test proves.

mod clients;
mod clock;
mod disk;
mod history;
mod journal;
mod kill;
mod pause;
mod site;
mod small_disk;
mod stop;
mod storm;
mod verdict;
mod workers;
