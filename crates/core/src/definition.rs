//! What a run follows: steps, edges, gates and policies, once they are known to be sound.
//!
//! Values of these types are made by the readers in `dialects`, which refuse cycles, unknown names
//! and bad durations with line and column. Nothing here checks again.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::condition::Condition;
use crate::credit::Credits;
use crate::duration::Interval;
use crate::id::StepIndex;
use crate::retry::RetryPolicy;

/// A versioned, immutable graph of steps for one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Workflow {
    /// unique together with `version`
    pub name: String,
    /// counted from 1 for each name
    pub version: u32,
    /// for people
    pub description: String,
    /// what the commands dialect addresses it by; then the workflow is called a protocol there
    pub request_type: Option<String>,
    /// what a run's input must look like
    pub input_schema: Option<Value>,
    /// in the order of the document; `after` makes the graph
    pub steps: Vec<StepSpec>,
    /// steps to run when a step that names them in `on_failure` fails for good; always a sequence
    pub compensations: BTreeMap<String, Vec<StepSpec>>,
    /// attempts of the whole run: a failed step waits, and the run goes on from there
    pub run_retry: Option<RetryPolicy>,
    /// what a run of it will probably cost, unless whoever asks for it says otherwise
    pub credits: Option<Credits>,
    /// what a cancel means when the caller does not say
    pub cancel: CancelMode,
    /// what becomes of the rest when a step fails for good
    pub failure: FailureMode,
}

/// One step as it is defined.
#[derive(Clone, Debug, PartialEq)]
pub struct StepSpec {
    /// unique in its workflow
    pub id: String,
    /// what kind of work this is, in the worker's words; may hold placeholders
    pub kind: String,
    /// where its directives wait for workers
    pub pool: String,
    /// what the worker is given; may hold placeholders. Without it, the worker gets the run's input
    pub params: Option<Value>,
    /// what the run's input must look like for this step to make sense
    pub payload_schema: Option<Value>,
    /// variable → where it stands in the result
    pub outputs: BTreeMap<String, String>,
    /// steps that must have ended well before
    pub after: Vec<StepIndex>,
    /// the door it stands behind
    pub gate: Option<String>,
    /// asked once, when its turn has come; if it does not hold, the step is passed over
    pub when: Option<Condition>,
    /// the list for each of whose items it is done once
    pub for_each: Option<ForEach>,
    /// how long an attempt may take, from its dispatch; an ack does not extend it
    pub timeout: Interval,
    /// somebody has set the timeout. One that nobody has set does not bind a worker that keeps the step
    /// by signs of life: see [`StepSpec::kept_max`]
    pub timeout_given: bool,
    /// what follows when an attempt took longer
    pub on_timeout: TimeoutMode,
    /// attempts of this step
    pub retry: RetryPolicy,
    /// how an unfinished result is asked for again
    pub poll: Option<Poll>,
    /// the compensation to run when it fails for good
    pub on_failure: Option<String>,
    /// its failure neither fails the run nor skips what comes after it
    pub continue_on_failure: bool,
}

/// The list for each of whose items a step is done once.
#[derive(Clone, Debug, PartialEq)]
pub struct ForEach {
    /// the list, whose texts may hold placeholders, or a text that is exactly one placeholder
    pub list: Value,
    /// a longer list fails the step
    pub items_max: u16,
    /// how many items may be under way at the same time; all of them if not said
    pub parallel_max: Option<u16>,
}

/// How an unfinished result is asked for again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Poll {
    /// from one answer to the next question
    pub interval: Interval,
    /// from the first unfinished answer to giving up
    pub timeout: Interval,
}

/// What follows when an attempt takes longer than its `timeout` (D-044).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeoutMode {
    /// a new attempt with a new lease, while attempts remain
    Republish,
    /// the step has timed out
    Fail,
}

/// How a run is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CancelMode {
    /// everything ends now; what workers still report is recorded and ignored
    Immediate,
    /// nothing new starts; the run ends when what is under way has ended
    Drain,
}

/// What becomes of the rest of a run when a step fails for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureMode {
    /// what depends on the step is skipped; independent branches run on
    SkipDescendants,
    /// everything that has not ended is cancelled at once
    CancelRest,
}

impl StepSpec {
    /// How long a worker that keeps the step may take, from the moment it took it; `None` if it may take
    /// as long as it gives signs of life.
    #[must_use]
    pub fn kept_max(&self) -> Option<Interval> {
        self.timeout_given.then_some(self.timeout)
    }
}

impl Workflow {
    /// The steps a run of this part follows.
    #[must_use]
    pub fn specs(&self, part: &Part) -> &[StepSpec] {
        match part {
            Part::Main => &self.steps,
            Part::Compensation(name) => self.compensations.get(name).map_or(&[], Vec::as_slice),
        }
    }
}

/// Which sequence of a workflow a run follows.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// the steps themselves
    Main,
    /// the named compensation
    Compensation(String),
}
