//! Every store against the contract, and SQLite against the world.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod batches;
mod ceiling;
mod conformance;
mod crash;
mod credits;
mod damage;
mod events;
mod file;
mod golden;
mod ledger;
mod observed;
mod plans;
mod postgres;
mod postgres_batches;
mod postgres_ceiling;
mod postgres_ownership;
mod postgres_plans;
mod postgres_schema;
#[cfg(unix)]
mod postgres_server;
mod postgres_views;
mod scale;
mod schema;
mod space;
mod transfer;
mod views;
