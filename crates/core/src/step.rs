//! One step of one run, and what its status means.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::duration::Interval;
use crate::effect::Directive;
use crate::id::{LeaseId, RunId, StepIndex};
use crate::time::Timestamp;

/// Where a step stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// something must happen first: a step before it, or its gate
    Waiting,
    /// it could be dispatched, but the run is paused
    Ready,
    /// it is done once for each item of a list; the items are steps of their own
    Expanded,
    /// an attempt is with the bus or a worker
    Dispatched,
    /// a worker has taken the attempt
    Acked,
    /// the worker answered "not finished yet"; it is asked again
    Polling,
    /// an attempt failed; the next one waits for its time
    RetryWait,
    /// it ended well
    Succeeded,
    /// it failed for good
    Failed,
    /// its last attempt, or its polling, took too long
    TimedOut,
    /// the run was stopped before it ended
    Cancelled,
    /// it was passed over
    Skipped,
}

impl StepStatus {
    /// Every status, in the order of a step's life.
    pub const ALL: [Self; 12] = [
        Self::Waiting,
        Self::Ready,
        Self::Expanded,
        Self::Dispatched,
        Self::Acked,
        Self::Polling,
        Self::RetryWait,
        Self::Succeeded,
        Self::Failed,
        Self::TimedOut,
        Self::Cancelled,
        Self::Skipped,
    ];

    /// Nothing changes it any more.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Succeeded | Self::Failed | Self::TimedOut | Self::Cancelled | Self::Skipped => {
                true
            }
            Self::Waiting
            | Self::Ready
            | Self::Expanded
            | Self::Dispatched
            | Self::Acked
            | Self::Polling
            | Self::RetryWait => false,
        }
    }

    /// The word stored and shown.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Ready => "ready",
            Self::Expanded => "expanded",
            Self::Dispatched => "dispatched",
            Self::Acked => "acked",
            Self::Polling => "polling",
            Self::RetryWait => "retry_wait",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::Skipped => "skipped",
        }
    }

    /// The status of a stored word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.word() == word)
    }
}

/// One step of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// where it stands
    pub status: StepStatus,
    /// the number of the newest attempt; 0 before the first
    pub attempt: u32,
    /// attempts that count to the limit: published ones, since the step or the run began this round
    pub tries: u32,
    /// the right to report on it; only while an attempt is under way
    pub lease: Option<Lease>,
    /// what the worker is given, frozen at the first dispatch; `None`: the run's input. Of a
    /// step that was expanded: the list of its items
    pub params: Option<Arc<Value>>,
    /// the kind of work after its placeholders were filled in; `None`: as defined
    pub kind: Option<Arc<str>>,
    /// how often it was asked for an unfinished result
    pub poll: Option<PollState>,
    /// when something must happen even if nobody calls
    pub wake_at: Option<Timestamp>,
    /// while it is held: the next attempt of the whole run does not begin before this, because its
    /// worker has asked for a rest
    pub not_before: Option<Timestamp>,
    /// what the worker returned; of a step that was expanded see [`crate::run::Run::result`]
    pub result: Option<Arc<Value>>,
    /// why the newest attempt, or the step, did not succeed
    pub error: Option<Arc<StepError>>,
    /// why it was passed over
    pub skip: Option<SkipReason>,
    /// the run that undoes it
    pub compensation: Option<RunId>,
    /// when the newest attempt was dispatched
    pub dispatched_at: Option<Timestamp>,
    /// when it ended
    pub ended_at: Option<Timestamp>,
}

/// The right to report on one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// never reused
    pub id: LeaseId,
    /// the attempt it belongs to
    pub attempt: u32,
    /// when the attempt is given up
    pub expires_at: Timestamp,
    /// where a worker keeps it by signs of life: none of them moves `expires_at` beyond this
    pub deadline: Option<Timestamp>,
    /// how far the attempt has come
    pub stage: LeaseStage,
}

/// How far an attempt has come. A worker may answer before our own bus has confirmed the publish,
/// so a later stage is never left for an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeaseStage {
    /// committed, and with the bus
    Recorded,
    /// an outside bus has confirmed it
    Published,
    /// a worker has taken it
    Acked,
}

/// Polling so far, within one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PollState {
    /// the first unfinished answer
    pub started_at: Timestamp,
    /// questions asked so far; never counted back within an attempt
    pub count: u32,
    /// whose turn it is
    pub turn: PollTurn,
}

/// Whose turn it is in polling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PollTurn {
    /// the next question waits for its time
    Resting,
    /// a question is under way
    Asked,
    /// the next question was due, but the run is paused
    Held,
}

/// Why a step was passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// a step it depends on did not succeed
    Dependency,
    /// a person said so; what comes after it goes on
    Operator,
    /// its own condition did not hold; what comes after it goes on
    Condition,
    /// it is an item, and another item of its step failed
    OtherItem,
    /// a newer version of the runbook has replaced its phase, or the phase is passed over; what comes
    /// after it goes on
    Superseded,
}

/// Why an attempt or a step did not succeed. Short, and free of personal data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepError {
    /// a stable word
    pub code: String,
    /// a sentence
    pub message: String,
}

/// What a worker says of an attempt.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// done
    Succeeded {
        /// what it returned
        result: Value,
    },
    /// accepted, but not finished: ask again
    Incomplete,
    /// not done
    Failed {
        /// why
        error: StepError,
        /// another attempt may help
        retryable: bool,
        /// the worker asks for at least this rest before another attempt
        retry_after: Option<Interval>,
    },
}

impl Step {
    /// A step that nothing has happened to yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            status: StepStatus::Waiting,
            attempt: 0,
            tries: 0,
            lease: None,
            params: None,
            kind: None,
            poll: None,
            wake_at: None,
            not_before: None,
            result: None,
            error: None,
            skip: None,
            compensation: None,
            dispatched_at: None,
            ended_at: None,
        }
    }

    /// The message that is with the bus or a worker, if one is.
    #[must_use]
    pub fn directive(&self, step: StepIndex) -> Option<Directive> {
        let lease = self.lease?;
        let poll = self.poll.map_or(0, |poll| poll.count);
        Some(Directive { step, attempt: lease.attempt, poll, lease: lease.id })
    }

    /// An attempt, or a question of a poll, is with the bus or a worker.
    #[must_use]
    pub fn is_in_flight(&self) -> bool {
        self.lease.is_some()
    }

    /// It waits for the next attempt of the whole run, not for a time of its own.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.status == StepStatus::RetryWait && self.wake_at.is_none()
    }
}

impl SkipReason {
    /// The step was passed over on purpose, so what comes after it goes on.
    #[must_use]
    pub fn lets_pass(self) -> bool {
        match self {
            Self::Operator | Self::Condition | Self::Superseded => true,
            Self::Dependency | Self::OtherItem => false,
        }
    }
}

impl Default for Step {
    fn default() -> Self {
        Self::new()
    }
}

impl StepError {
    /// An error by code and sentence.
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self { code: code.to_owned(), message: message.into() }
    }
}
