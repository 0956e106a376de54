//! How each dialect says it: documents, requests, messages, views, status words. Pure.
//!
//! [`workflow`] reads the documents that every dialect but the runbooks follows. Each dialect is a
//! module of its own with the same file names in all of them: [`commands`], [`platform`],
//! [`runbooks`], [`workspaces`]. [`event`] is what others are told of runs, whatever their dialect.
//! [`fields`], [`yaml`] and [`problem`] are what all readers are made of. Nothing in this crate decides
//! what a run does next: that is for `stepwell_core`.

pub mod amount;
pub mod commands;
pub mod event;
pub mod fields;
pub mod fingerprint;
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
mod special;
mod text;
pub mod trace;
mod wording;
pub mod workflow;
pub mod workspaces;
pub mod yaml;
