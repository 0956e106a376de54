//! The workspaces dialect: jobs with attempts, dead letters, credits, retention and triggers.
//!
//! A run is called a job here, and a tenant a workspace. [`request`] is what a client asks for,
//! [`mod@accept`] turns it into the header of a run, and [`key`] makes a repetition recognizable.
//! [`envelope`] is the message that starts an attempt, [`directive`] what a worker is given with it,
//! [`outcome`] what it answers. [`view`] shows jobs, [`status`] has the words for them and the arrows
//! between them, [`redact`] keeps personal data out of what they show. [`policy`] is what jobs are
//! granted, [`trigger`] what makes them without being asked each time, and [`schedule`] when. What others are told of jobs is in
//! [`crate::event`].
//! `docs/dialects/workspaces.md` has the mapping to the kernel's words.

pub mod accept;
mod context;
pub mod directive;
pub mod envelope;
pub mod job_id;
pub mod key;
pub mod outcome;
pub mod policy;
pub mod redact;
pub mod request;
pub mod schedule;
pub mod status;
pub mod trigger;
pub mod view;

pub use self::accept::{Accept, accept};
pub use self::envelope::{Message, Poison};
pub use self::job_id::JobId;
pub use self::key::Key;
pub use self::policy::{Defaults, WorkspacePolicy};
pub use self::request::JobRequest;
pub use self::trigger::Trigger;
