//! The promises of the contract, as cases that every store passes.
