//! What others are told of runs, as CloudEvents 1.0.
//!
//! An event is made from the decision that made it true, and stored with it: whoever stores the one
//! has stored the other. Its id is made of the run, its version and the kind, so it is the same
//! however often it is told. It says nothing that could be personal: no input, no result, no user,
//! and errors only as [`crate::workspaces::redact`] lets them pass (C-013).

mod data;
mod other;

use serde_json::{Map, Value};
use stepwell_core::definition::Part;
use stepwell_core::entry::Entry;
use stepwell_core::id::StepIndex;
use stepwell_core::run::{Run, RunStatus};
use stepwell_core::step::StepError;
use stepwell_core::time::Timestamp;

use self::data::Data;
pub use self::other::{DeadLetter, dead_letter_created, dead_letter_reason};
use crate::workspaces::job_id::public_id;

/// The message of an attempt waits for a worker.
pub const QUEUED: &str = "workflow_run_queued";
/// A worker has begun an attempt.
pub const STARTED: &str = "workflow_run_started";
/// A step is done.
pub const STEP_COMPLETED: &str = "workflow_run_step_completed";
/// An attempt failed, and another one follows.
pub const ATTEMPT_FAILED: &str = "workflow_run_attempt_failed";
/// The run has ended, well or not: exactly one for each run (C-031, X-128).
pub const COMPLETED: &str = "workflow_run_completed";
/// Something was given up and waits for a person.
pub const DEAD_LETTER_CREATED: &str = "dead_letter.created";

/// Every kind.
pub const KINDS: [&str; 6] =
    [QUEUED, STARTED, STEP_COMPLETED, ATTEMPT_FAILED, COMPLETED, DEAD_LETTER_CREATED];

const SOURCE: &str = "stepwell";

/// Something others are told.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// one of [`KINDS`]
    pub kind: &'static str,
    /// a CloudEvent as JSON
    pub body: Value,
}

/// What a decision tells others: `entries` made `run` out of `before`. A compensation tells nothing,
/// because its end is not the job's.
#[must_use]
pub fn events(before: &Run, entries: &[Entry], run: &Run) -> Vec<Event> {
    if run.header.part != Part::Main {
        return Vec::new();
    }
    let mut telling = Telling::new(before, run);
    for entry in entries {
        telling.hear(entry);
    }
    telling.events
}

/// The CloudEvents `type` of a kind. The one that analytics have always known keeps its name.
#[must_use]
pub fn type_of(kind: &str) -> String {
    if kind == COMPLETED { kind.to_owned() } else { format!("stepwell.{kind}") }
}

/// The kind of this name, whether it is written as a kind or as the `type` of its events.
#[must_use]
pub fn kind_of(word: &str) -> Option<&'static str> {
    let name = word.strip_prefix("stepwell.").unwrap_or(word);
    KINDS.into_iter().find(|kind| *kind == name)
}

/// One decision, heard entry by entry.
struct Telling<'r> {
    run: &'r Run,
    /// which attempt of the whole run the entries so far are about
    attempt: u32,
    /// its message waits for a worker
    queued: bool,
    /// the run had ended before: nothing more ends it
    ended: bool,
    events: Vec<Event>,
}

impl<'r> Telling<'r> {
    fn new(before: &Run, run: &'r Run) -> Self {
        Self {
            run,
            attempt: before.attempt,
            queued: before.status == RunStatus::Ready,
            ended: before.status.is_terminal(),
            events: Vec::new(),
        }
    }

    /// Several kinds of entries tell nothing; those that end a run are told once, whatever follows.
    fn hear(&mut self, entry: &Entry) {
        match entry {
            Entry::RunStarted => self.wait(),
            Entry::RunRetried { attempt } => {
                self.attempt = *attempt;
                self.wait();
            }
            Entry::StepAcked { .. } if self.keeps_its_worker() => self.begin(),
            Entry::StepDispatched { .. } if !self.keeps_its_worker() => self.begin(),
            Entry::StepSucceeded { step, .. } | Entry::StepGathered { step, .. } => {
                self.finish(*step);
            }
            Entry::RunRetryScheduled { retry_at, error } => self.fail(*retry_at, error),
            Entry::RunSucceeded => self.end(RunStatus::Succeeded),
            Entry::RunFailed { .. } => self.end(RunStatus::Failed),
            Entry::RunCancelled => self.end(RunStatus::Cancelled),
            _ => {}
        }
    }

    /// A run whose worker does all steps of an attempt has begun when a worker has it; any other
    /// when its first step was sent out.
    fn keeps_its_worker(&self) -> bool {
        self.run.keeping().is_some()
    }

    fn wait(&mut self) {
        self.queued = true;
        let data = Data::of(self.run, RunStatus::Ready).attempt(self.attempt);
        self.tell(QUEUED, None, data);
    }

    fn begin(&mut self) {
        if std::mem::take(&mut self.queued) {
            let data = Data::of(self.run, RunStatus::Running).attempt(self.attempt);
            self.tell(STARTED, None, data);
        }
    }

    /// An item is part of its step, and is not told apart.
    fn finish(&mut self, step: StepIndex) {
        if step.position() < self.run.header.specs().len() {
            let data = Data::of(self.run, RunStatus::Running).attempt(self.attempt).step(step);
            self.tell(STEP_COMPLETED, Some(step), data);
        }
    }

    fn fail(&mut self, retry_at: Timestamp, error: &StepError) {
        let data = Data::of(self.run, RunStatus::RetryWait);
        let data = data.attempt(self.attempt).error(Some(error)).next_attempt(retry_at);
        self.tell(ATTEMPT_FAILED, None, data);
    }

    fn end(&mut self, status: RunStatus) {
        if !std::mem::replace(&mut self.ended, true) {
            let data = Data::of(self.run, status).error(self.run.error.as_deref()).end(status);
            self.tell(COMPLETED, None, data);
        }
    }

    fn tell(&mut self, kind: &'static str, step: Option<StepIndex>, data: Data<'_>) {
        let job = public_id(&self.run.header).to_string();
        let place = step.map_or_else(String::new, |step| format!(":{}", step.0));
        let id = format!("{job}:{}:{kind}{place}", self.run.version);
        let traceparent = self.run.header.traceparent.as_deref();
        let cloud_event = CloudEvent { id, time: self.run.updated_at, subject: job, traceparent };
        let body = cloud_event.body(&type_of(kind), data.into_json());
        self.events.push(Event { kind, body });
    }
}

/// The attributes of a CloudEvent.
pub(crate) struct CloudEvent<'a> {
    /// the same however often it is told
    pub(crate) id: String,
    /// when it became true
    pub(crate) time: Timestamp,
    /// what it is about
    pub(crate) subject: String,
    /// W3C trace context
    pub(crate) traceparent: Option<&'a str>,
}

impl CloudEvent<'_> {
    /// The event as JSON.
    pub(crate) fn body(self, event_type: &str, data: Value) -> Value {
        let mut event = Map::new();
        let mut set = |key: &str, value: Value| event.insert(key.to_owned(), value);
        set("specversion", "1.0".into());
        set("type", event_type.into());
        set("source", SOURCE.into());
        set("id", self.id.into());
        set("time", self.time.to_string().into());
        set("subject", self.subject.into());
        set("datacontenttype", "application/json".into());
        if let Some(traceparent) = self.traceparent {
            set("traceparent", traceparent.into());
        }
        set("data", data);
        Value::Object(event)
    }
}
