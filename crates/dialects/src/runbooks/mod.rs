//! The runbooks dialect: batches of members that go through phases on a timeline around T-0.
//!
//! [`read`] turns a document into a [`Runbook`] or into all of its problems, each with line, column
//! and path; [`schema`] is the same format as JSON Schema, for editors. [`accept`] reads the request
//! that publishes one. [`compile`] says what the kernel runs for it: a member is a run whose phases
//! are gates. [`offset`] is how a phase is placed, [`columns`] what a list of members must hold.
//! [`rows`] sorts what a source returns into batches, [`members_csv`] reads a list that a person sends.
//! `docs/runbook.md` is the reference for authors.
//!
//! [`directive`] is the message that gives a worker a job, [`job_id`] what the job is called,
//! [`outcome`] reads what the worker says of it, and [`event`] what tells that something may be due.
//! [`message`] is what all of these have in common.
//!
//! [`request`] reads what people ask over HTTP, [`view`] shows batches, members and steps in the
//! words of [`status`], [`plan`] says what will happen before it does, and [`explain`] why something
//! does not.

pub mod accept;
pub mod columns;
pub mod compile;
pub mod directive;
pub mod document;
pub mod event;
pub mod explain;
mod folded;
pub mod job_id;
pub mod members_csv;
pub mod message;
pub mod offset;
pub mod outcome;
pub mod plan;
mod read;
pub mod request;
pub mod rows;
mod schema;
pub mod status;
pub mod view;

pub use self::compile::{Compiled, compile};
pub use self::document::Runbook;
pub use self::event::Event;
pub use self::job_id::JobId;
pub use self::message::StepExecutionId;
pub use self::offset::Offset;
pub use self::read::{Reading, SPECIALS, is_runbook, read};
pub use self::schema::schema;
