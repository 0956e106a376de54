//! How each dialect says it: documents, requests, messages, views, status words. Pure.
//!
//! [`workflow`] reads the documents that every dialect but the runbooks follows. Each dialect is a
//! module of its own with the same file names in all of them: [`commands`], [`platform`],
//! [`runbooks`]. [`fields`], [`yaml`] and [`problem`] are what all readers are made of. Nothing in
//! this crate decides what a run does next: that is for `stepwell_core`.

pub mod commands;
pub mod fields;
pub mod items;
pub mod moment;
mod name;
pub mod notice;
pub mod payload;
pub mod platform;
pub mod problem;
pub mod rejection;
pub mod resume;
pub mod runbooks;
mod text;
pub mod workflow;
pub mod workspaces;
pub mod yaml;
