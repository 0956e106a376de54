//! The dialects: what they read, what they refuse, and what they say.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod callbacks;
mod conditions;
mod directive;
mod document;
mod envelope;
mod examples;
mod hostile;
mod items;
mod jobs;
mod limits;
mod notice;
mod pages;
mod payload;
mod platform;
mod refused_fields;
mod refused_graphs;
mod runbooks;
mod status;
mod workspaces;
mod world;
