//! The attempts of each step, folded from the history of a run.

use serde::Serialize;
use stepwell_core::entry::{Entry, Record};
use stepwell_core::id::LeaseId;
use stepwell_core::step::StepError;
use stepwell_core::time::Timestamp;

use super::status::ATTEMPT_FAILED;
use crate::moment::Moment;

/// One try of a step.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AttemptView<'a> {
    /// counted from 1, never counted back
    pub attempt_no: u32,
    /// the right to report on it; of a polling attempt, the newest
    pub lease_id: LeaseId,
    /// how far it came
    pub status: &'static str,
    /// when it was recorded and handed to the bus
    pub dispatched_at: Moment,
    /// when a worker took it
    pub acked_at: Option<Moment>,
    /// when it ended
    pub ended_at: Option<Moment>,
    /// why it did not succeed
    pub error: Option<&'a StepError>,
    /// how often an unfinished result was asked for again
    pub polls: u32,
}

/// The attempts of each of `steps` steps, oldest first.
pub(super) fn fold(steps: usize, history: &[Record]) -> Vec<Vec<AttemptView<'_>>> {
    let mut attempts = vec![Vec::new(); steps];
    for record in history {
        for entry in &record.entries {
            let step = entry.step().and_then(|step| attempts.get_mut(step.position()));
            if let Some(attempts) = step {
                take(attempts, entry, record.at);
            }
        }
    }
    attempts
}

fn take<'a>(attempts: &mut Vec<AttemptView<'a>>, entry: &'a Entry, at: Timestamp) {
    match entry {
        Entry::StepDispatched { attempt, lease, .. } => attempts.push(AttemptView {
            attempt_no: *attempt,
            lease_id: *lease,
            status: "INITIATED",
            dispatched_at: Moment(at),
            acked_at: None,
            ended_at: None,
            error: None,
            polls: 0,
        }),
        Entry::StepAcked { .. } => with_open(attempts, |attempt| {
            attempt.status = "PROCESSING";
            attempt.acked_at = Some(Moment(at));
        }),
        Entry::StepPolling { .. } => with_open(attempts, |attempt| attempt.status = "PROCESSING"),
        Entry::PollDispatched { lease, .. } => with_open(attempts, |attempt| {
            attempt.lease_id = *lease;
            attempt.polls += 1;
        }),
        Entry::AttemptFailed { error, .. } | Entry::StepHeld { error, .. } => {
            end(attempts, ATTEMPT_FAILED, Some(error), at);
        }
        Entry::StepFailed { error, .. } | Entry::StepTimedOut { error, .. } => {
            end(attempts, "FAILED_FINAL", Some(error), at);
        }
        Entry::StepSucceeded { .. } => end(attempts, "SUCCEEDED", None, at),
        // A person who overrides a step takes its attempt away, whatever comes of the step.
        Entry::StepCancelled { .. } | Entry::StepSkipped { .. } | Entry::StepOperated { .. } => {
            end(attempts, "CANCELLED", None, at);
        }
        Entry::StepCarried { .. }
        | Entry::StepReadied { .. }
        | Entry::StepExpanded { .. }
        | Entry::StepGathered { .. }
        | Entry::AttemptPublished { .. }
        | Entry::LeaseExtended { .. }
        | Entry::PollHeld { .. }
        | Entry::CompensationStarted { .. }
        | Entry::RunStarted
        | Entry::OutputsCarried { .. }
        | Entry::InputRefreshed { .. }
        | Entry::WorkflowAdopted { .. }
        | Entry::GateOpened { .. }
        | Entry::RunPaused { .. }
        | Entry::RunResumed { .. }
        | Entry::CancelRequested { .. }
        | Entry::CreditsMoved { .. }
        | Entry::RunRetryScheduled { .. }
        | Entry::RunRetried { .. }
        | Entry::RunSucceeded
        | Entry::RunFailed { .. }
        | Entry::RunCancelled => {}
    }
}

fn end<'a>(
    attempts: &mut [AttemptView<'a>],
    status: &'static str,
    error: Option<&'a StepError>,
    at: Timestamp,
) {
    with_open(attempts, |attempt| {
        attempt.status = status;
        attempt.error = error;
        attempt.ended_at = Some(Moment(at));
    });
}

/// A step can end without an attempt under way: skipped before its first, or failed at its dispatch.
fn with_open<'a>(attempts: &mut [AttemptView<'a>], change: impl FnOnce(&mut AttemptView<'a>)) {
    if let Some(attempt) = attempts.last_mut().filter(|attempt| attempt.ended_at.is_none()) {
        change(attempt);
    }
}
