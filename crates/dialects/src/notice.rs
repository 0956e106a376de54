//! What is sent to whoever asked to be told that a run has ended.

use serde_json::Value;
use stepwell_core::definition::Part;
use stepwell_core::run::{Dialect, Run};

use crate::event::CloudEvent;
use crate::{commands, platform};

const EVENT_TYPE: &str = "stepwell.job.completed.v1";

/// One message to one address.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    /// whom it goes to; not yet known to be an address that may be called
    pub url: String,
    /// a CloudEvent as JSON
    pub body: Value,
}

/// The messages that must follow the end of a run; none while it goes on.
#[must_use]
pub fn notices(run: &Run) -> Vec<Notice> {
    match run.header.dialect {
        Dialect::Commands => commands::notice::notices(run),
        Dialect::Platform => platform::notice::notices(run),
        // Nobody can ask to be told in these; who follows events is told by them.
        Dialect::Runbooks | Dialect::Workspaces => Vec::new(),
    }
}

/// Whether the job has ended.
///
/// A compensation carries its job's URLs too, but its end is not the job's: nobody is told of it.
pub(crate) fn ended(run: &Run) -> bool {
    run.status.is_terminal() && run.header.part == Part::Main
}

/// The CloudEvent of a job's end, with what its dialect says of it.
pub(crate) fn event(run: &Run, data: Value) -> Value {
    let job = run.id().to_string();
    // The version makes the id the same however often the notice is sent.
    let id = format!("{job}:{}", run.version);
    let time = run.ended_at.unwrap_or(run.updated_at);
    let traceparent = run.header.traceparent.as_deref();
    CloudEvent { id, time, subject: job, traceparent }.body(EVENT_TYPE, data)
}
