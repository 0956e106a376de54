//! The seeded world: the real engine on simulated time, store, bus, workers and people.
//!
//! [`world::run`] lives through the world of a seed and says which rule it broke, if any. The engine
//! in it is the real one; what is simulated is everything it touches: [`clock`], [`store`], [`bus`],
//! and the people at its [`door`]. [`oracle`] watches, [`faults`] names what goes wrong, [`bugs`]
//! proves that a mistake would be found.

pub mod accounts;
pub mod args;
pub mod bugs;
pub mod bus;
pub mod clients;
pub mod clock;
pub mod door;
pub mod faults;
pub mod followers;
pub mod instances;
mod jobs;
pub mod leads;
pub mod life;
pub mod lives;
pub mod operators;
pub mod oracle;
pub mod plan;
pub mod planners;
pub mod proof;
pub mod report;
pub mod runbooks;
pub mod runner;
pub mod shared;
pub mod shrink;
pub mod source;
pub mod store;
pub mod trace;
pub mod workers;
pub mod workload;
pub mod world;

pub use stepwell_connectors::chance;
