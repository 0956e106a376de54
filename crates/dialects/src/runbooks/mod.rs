//! The runbooks dialect: batches of members that go through phases on a timeline around T-0.
//!
//! [`read`] turns a document into a [`Runbook`] or into all of its problems, each with line, column
//! and path; [`schema`] is the same format as JSON Schema, for editors. [`accept`] reads the request
//! that publishes one. [`compile`] says what the kernel runs for it: a member is a run whose phases
//! are gates. [`offset`] is how a phase is placed, [`columns`] what a list of members must hold.
//! `docs/runbook.md` is the reference for authors.

pub mod accept;
pub mod columns;
pub mod compile;
pub mod document;
mod folded;
pub mod offset;
mod read;
mod schema;

pub use self::compile::{Compiled, compile};
pub use self::document::Runbook;
pub use self::offset::Offset;
pub use self::read::{Reading, SPECIALS, is_runbook, read};
pub use self::schema::schema;
