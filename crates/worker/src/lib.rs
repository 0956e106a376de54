//! A worker's side: lease, run, report.
//!
//! [`Worker`] is the loop that most people want: it leases directives of one pool, runs a function
//! for each, keeps the deliveries while the function works, and reports what came of it. [`Client`]
//! is the layer below, for those who write a loop of their own. Neither is needed to be a worker:
//! `docs/workers.md` shows the same with `curl`.
//!
//! ```no_run
//! use serde_json::json;
//! use stepwell_worker::{Client, ClientError, Directive, Outcome, Worker};
//!
//! async fn greet(directive: Directive) -> Outcome {
//!     Outcome::succeeded(json!({ "greeting": format!("hello, {}", directive.payload["name"]) }))
//! }
//!
//! async fn work() -> Result<(), ClientError> {
//!     let client = Client::new("http://127.0.0.1:8080", "swl_…")?;
//!     let interrupted = async { tokio::signal::ctrl_c().await.unwrap_or(()) };
//!     Worker::new(client, "greeter").concurrency(4).run(greet, interrupted).await?;
//!     Ok(())
//! }
//! ```

mod attempt;
mod backoff;
mod client;
mod heartbeat;
mod report;
mod wire;
mod worker;

pub use attempt::{Handler, Outcome};
pub use client::{Client, ClientError, Lease};
pub use wire::{
    Answer, Attempt, Directive, Failure, ItemProblem, Kept, Leased, Next, Report, Status,
};
pub use worker::{Tally, Worker};
