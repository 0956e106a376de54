//! What requests and answers look like, for the OpenAPI document.
//!
//! The types here are never filled in: the dialects write the answers, and the tests hold both
//! together. Field docs are what a reader of the document sees.
#![allow(dead_code)] // They exist for their schemas.

mod batch;
mod body;
mod dead_letter;
mod event;
mod job;
mod member;
mod message;
mod platform;
mod query;
mod runbook;
mod secret;
mod trigger;
mod view;
mod work;
mod workspace;
mod workspace_job;

pub(crate) use self::batch::*;
pub(crate) use self::body::*;
pub(crate) use self::dead_letter::*;
pub(crate) use self::event::*;
pub(crate) use self::job::*;
pub(crate) use self::member::*;
pub(crate) use self::message::*;
pub(crate) use self::platform::*;
pub(crate) use self::query::*;
pub(crate) use self::runbook::*;
pub(crate) use self::secret::*;
pub(crate) use self::trigger::*;
pub(crate) use self::view::*;
pub(crate) use self::work::*;
pub(crate) use self::workspace::*;
pub(crate) use self::workspace_job::*;
