//! Facts of a run's history. They are stored, versioned and never edited; the run's state is their fold.
//!
//! A field may be added if it has a default; nothing may be renamed or removed, because histories
//! written by earlier releases must fold to the same state for ever.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::command::{Act, Adopted};
use crate::credit::Movement;
use crate::definition::CancelMode;
use crate::id::{LeaseId, RunId, StepIndex};
use crate::step::{SkipReason, StepError};
use crate::time::Timestamp;

/// One fact.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
#[allow(missing_docs)] // The fields carry the glossary's words; each variant says what happened.
pub enum Entry {
    /// the run may go
    RunStarted,
    /// an earlier run had set these variables
    OutputsCarried { outputs: Arc<Map<String, Value>> },
    /// what it was given has changed
    InputRefreshed {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<Arc<Map<String, Value>>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        special: Option<Arc<Map<String, Value>>>,
    },
    /// it follows a longer workflow from here on, which begins with the steps so far
    WorkflowAdopted { workflow: Adopted },
    /// an earlier run had finished this step
    StepCarried { step: StepIndex, result: Arc<Value> },
    /// it could be dispatched, but the run is paused
    StepReadied { step: StepIndex },
    /// it is done once for each item of this list; the items stand behind the run's steps so far
    StepExpanded { step: StepIndex, items: Arc<Value> },
    /// an attempt was recorded, and goes to the bus with this commit
    StepDispatched {
        step: StepIndex,
        attempt: u32,
        lease: LeaseId,
        expires_at: Timestamp,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        params: Option<Arc<Value>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        kind: Option<Arc<str>>,
    },
    /// an outside bus confirmed it
    AttemptPublished { step: StepIndex },
    /// a worker took it
    StepAcked { step: StepIndex },
    /// whoever has it gave a sign of life, and may keep it until then
    LeaseExtended { step: StepIndex, expires_at: Timestamp },
    /// the answer was "not finished yet"
    StepPolling { step: StepIndex, next_at: Timestamp },
    /// the question was asked again
    PollDispatched {
        step: StepIndex,
        lease: LeaseId,
        expires_at: Timestamp,
        /// when this question counts as lost, or polling as a whole as timed out
        wake_at: Timestamp,
    },
    /// the question waits because the run is paused
    PollHeld { step: StepIndex, wake_at: Timestamp },
    /// an attempt ended without success; the next one comes at `retry_at`
    AttemptFailed { step: StepIndex, error: StepError, retry_at: Timestamp, counted: bool },
    /// an attempt ended without success; the next one comes with the next attempt of the whole run
    StepHeld {
        step: StepIndex,
        error: StepError,
        /// the worker has asked for a rest until then
        #[serde(default, skip_serializing_if = "Option::is_none")]
        not_before: Option<Timestamp>,
    },
    /// it ended well; `unset` names the outputs that the result did not hold
    StepSucceeded {
        step: StepIndex,
        result: Arc<Value>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unset: Vec<String>,
    },
    /// all its items ended well; its result is the list of theirs
    StepGathered {
        step: StepIndex,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        unset: Vec<String>,
    },
    /// it failed for good
    StepFailed { step: StepIndex, error: StepError },
    /// it took too long, for good
    StepTimedOut { step: StepIndex, error: StepError },
    /// the run was stopped before it ended
    StepCancelled { step: StepIndex },
    /// it was passed over
    StepSkipped { step: StepIndex, reason: SkipReason },
    /// a run that undoes the step was created with this commit
    CompensationStarted { step: StepIndex, run: RunId },
    /// a door opened
    GateOpened { gate: String },
    /// nothing new is dispatched from here on
    RunPaused { by: Act },
    /// it goes on
    RunResumed { by: Act },
    /// somebody asked to stop it
    CancelRequested { mode: CancelMode, by: Act },
    /// a person overrode a step; what came of it follows
    StepOperated { step: StepIndex, operation: OperationKind, by: Act },
    /// credits were set aside, spent or given back
    CreditsMoved { movement: Movement },
    /// an attempt of the whole run failed
    RunRetryScheduled { retry_at: Timestamp, error: StepError },
    /// the next attempt of the whole run began
    RunRetried { attempt: u32 },
    /// every step ended well
    RunSucceeded,
    /// a step failed for good
    RunFailed { step: StepIndex, error: StepError },
    /// it was stopped
    RunCancelled,
}

/// How a person overrode a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperationKind {
    /// a new attempt
    Retry,
    /// passed over
    Skip,
    /// taken as done
    MarkSucceeded,
}

/// What one decision wrote: its entries, in order, at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// the run's version after it
    pub version: u64,
    /// when it was decided
    pub at: Timestamp,
    /// what happened
    pub entries: Vec<Entry>,
}

impl Entry {
    /// The step it is about, if any.
    #[must_use]
    pub fn step(&self) -> Option<StepIndex> {
        match self {
            Self::StepCarried { step, .. }
            | Self::StepReadied { step }
            | Self::StepExpanded { step, .. }
            | Self::StepDispatched { step, .. }
            | Self::AttemptPublished { step }
            | Self::StepAcked { step }
            | Self::LeaseExtended { step, .. }
            | Self::StepPolling { step, .. }
            | Self::PollDispatched { step, .. }
            | Self::PollHeld { step, .. }
            | Self::AttemptFailed { step, .. }
            | Self::StepHeld { step, .. }
            | Self::StepSucceeded { step, .. }
            | Self::StepGathered { step, .. }
            | Self::StepFailed { step, .. }
            | Self::StepTimedOut { step, .. }
            | Self::StepCancelled { step }
            | Self::StepSkipped { step, .. }
            | Self::CompensationStarted { step, .. }
            | Self::StepOperated { step, .. } => Some(*step),
            Self::RunStarted
            | Self::OutputsCarried { .. }
            | Self::InputRefreshed { .. }
            | Self::WorkflowAdopted { .. }
            | Self::GateOpened { .. }
            | Self::RunPaused { .. }
            | Self::RunResumed { .. }
            | Self::CancelRequested { .. }
            | Self::CreditsMoved { .. }
            | Self::RunRetryScheduled { .. }
            | Self::RunRetried { .. }
            | Self::RunSucceeded
            | Self::RunFailed { .. }
            | Self::RunCancelled => None,
        }
    }

    /// The word it is stored and shown under.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::RunStarted => "run_started",
            Self::OutputsCarried { .. } => "outputs_carried",
            Self::InputRefreshed { .. } => "input_refreshed",
            Self::WorkflowAdopted { .. } => "workflow_adopted",
            Self::StepCarried { .. } => "step_carried",
            Self::StepReadied { .. } => "step_readied",
            Self::StepExpanded { .. } => "step_expanded",
            Self::StepDispatched { .. } => "step_dispatched",
            Self::AttemptPublished { .. } => "attempt_published",
            Self::StepAcked { .. } => "step_acked",
            Self::LeaseExtended { .. } => "lease_extended",
            Self::StepPolling { .. } => "step_polling",
            Self::PollDispatched { .. } => "poll_dispatched",
            Self::PollHeld { .. } => "poll_held",
            Self::AttemptFailed { .. } => "attempt_failed",
            Self::StepHeld { .. } => "step_held",
            Self::StepSucceeded { .. } => "step_succeeded",
            Self::StepGathered { .. } => "step_gathered",
            Self::StepFailed { .. } => "step_failed",
            Self::StepTimedOut { .. } => "step_timed_out",
            Self::StepCancelled { .. } => "step_cancelled",
            Self::StepSkipped { .. } => "step_skipped",
            Self::CompensationStarted { .. } => "compensation_started",
            Self::GateOpened { .. } => "gate_opened",
            Self::RunPaused { .. } => "run_paused",
            Self::RunResumed { .. } => "run_resumed",
            Self::CancelRequested { .. } => "cancel_requested",
            Self::StepOperated { .. } => "step_operated",
            Self::CreditsMoved { .. } => "credits_moved",
            Self::RunRetryScheduled { .. } => "run_retry_scheduled",
            Self::RunRetried { .. } => "run_retried",
            Self::RunSucceeded => "run_succeeded",
            Self::RunFailed { .. } => "run_failed",
            Self::RunCancelled => "run_cancelled",
        }
    }
}
