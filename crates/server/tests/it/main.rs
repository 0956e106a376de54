//! The HTTP interface, driven through `app()` with a real engine and a real store behind it.
#![allow(clippy::unwrap_used)] // A test that panics has failed, and says where.

mod access;
mod alerts;
mod callbacks;
mod commands;
mod contract;
mod dead_letters;
mod documents;
mod health;
mod live;
mod logs;
mod operate;
mod platform;
mod reads;
mod receiver;
mod refusals;
mod runbooks;
mod site;
mod tokens;
mod workers;
mod workflows;
mod workspaces;
