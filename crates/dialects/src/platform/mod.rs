//! The platform dialect: DAG jobs that wait in a queue until one of several instances takes them.
//!
//! A run is called a job here, and a step a node. [`request`] is what a client submits, [`message`] the
//! order that waits in the queue, [`queue`] what the queue says of it. [`accept`] turns an order into
//! the header of a run, or says in [`rejection`] why it never becomes one. [`key`] makes a repetition
//! recognizable, [`view`] shows jobs and nodes, [`status`] has the words for both, and [`notice`] tells
//! the requester that a job has ended. `docs/dialects/platform.md` has the mapping to the kernel's
//! words. Workers are the same for all dialects: they get what [`crate::commands::directive`] writes.

pub mod accept;
mod context;
pub mod key;
pub mod message;
pub mod notice;
pub mod queue;
pub mod rejection;
pub mod request;
pub mod status;
pub mod view;

pub use self::accept::{Order, order};
pub use self::key::Key;
pub use self::message::JobQueueMessage;
pub use self::queue::Delivery;
pub use self::rejection::Rejection;
pub use self::request::JobSubmitRequest;
