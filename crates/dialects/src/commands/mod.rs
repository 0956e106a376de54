//! The commands dialect: a multi-tenant command API over lanes, with ack and result callbacks.
//!
//! A workflow with a `request_type` is called a protocol here, and a run a job. [`mod@accept`] turns an
//! envelope into the header of a run, [`directive`] is the message to a platform worker, [`outcome`]
//! reads the worker's callbacks, [`view`] shows jobs and steps, [`status`] has the words for both, and
//! [`notice`] tells the requester that a job has ended. `docs/dialects/commands.md` has the mapping
//! to the kernel's words.

pub mod accept;
pub mod attempts;
mod context;
pub mod directive;
pub mod envelope;
pub mod notice;
pub mod outcome;
pub mod reference;
pub mod status;
pub mod view;

pub use self::accept::{Accept, accept, unknown_protocol};
pub use self::envelope::{Envelope, envelope};
pub use self::reference::ReferencePolicy;
pub use crate::rejection::{Rejection, RejectionKind};
