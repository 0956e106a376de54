//! The arrows of the machines, as data: of steps and runs, of phases and batches.
//!
//! Tests drive [`crate::decide`] and [`crate::batch`] through random lives and compare every change
//! with this table: an arrow that is missing here, or never taken there, fails them. The pictures in
//! `docs/state-machine.md` are drawn from here too.

use crate::batch::{BatchStatus, PhaseStatus};
use crate::run::RunStatus;
use crate::step::StepStatus;

/// One arrow: from where, by which entry, to where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arrow<S> {
    /// before
    pub from: S,
    /// the word of the entry
    pub entry: &'static str,
    /// after
    pub to: S,
}

const fn arrow<S: Copy>(from: S, entry: &'static str, to: S) -> Arrow<S> {
    Arrow { from, entry, to }
}

/// Every arrow of a step.
pub const STEP_ARROWS: &[Arrow<StepStatus>] = {
    use StepStatus::{
        Acked, Cancelled, Dispatched, Expanded, Failed, Polling, Ready, RetryWait, Skipped,
        Succeeded, TimedOut, Waiting,
    };
    &[
        arrow(Waiting, "step_carried", Succeeded),
        arrow(Waiting, "step_readied", Ready),
        arrow(Waiting, "step_expanded", Expanded),
        arrow(Waiting, "step_dispatched", Dispatched),
        arrow(Waiting, "step_failed", Failed),
        arrow(Waiting, "step_skipped", Skipped),
        arrow(Waiting, "step_cancelled", Cancelled),
        arrow(Waiting, "step_succeeded", Succeeded),
        arrow(Ready, "step_expanded", Expanded),
        arrow(Ready, "step_dispatched", Dispatched),
        arrow(Ready, "step_failed", Failed),
        arrow(Ready, "step_operated", RetryWait),
        arrow(Ready, "step_skipped", Skipped),
        arrow(Ready, "step_cancelled", Cancelled),
        arrow(Ready, "step_succeeded", Succeeded),
        arrow(Expanded, "step_gathered", Succeeded),
        arrow(Expanded, "step_succeeded", Succeeded),
        arrow(Expanded, "step_failed", Failed),
        arrow(Expanded, "step_cancelled", Cancelled),
        arrow(Expanded, "step_skipped", Skipped),
        arrow(Dispatched, "step_acked", Acked),
        arrow(Dispatched, "step_polling", Polling),
        arrow(Dispatched, "attempt_failed", RetryWait),
        arrow(Dispatched, "step_held", RetryWait),
        arrow(Dispatched, "step_operated", RetryWait),
        arrow(Dispatched, "step_succeeded", Succeeded),
        arrow(Dispatched, "step_failed", Failed),
        arrow(Dispatched, "step_timed_out", TimedOut),
        arrow(Dispatched, "step_cancelled", Cancelled),
        arrow(Dispatched, "step_skipped", Skipped),
        arrow(Acked, "step_polling", Polling),
        arrow(Acked, "attempt_failed", RetryWait),
        arrow(Acked, "step_held", RetryWait),
        arrow(Acked, "step_operated", RetryWait),
        arrow(Acked, "step_succeeded", Succeeded),
        arrow(Acked, "step_failed", Failed),
        arrow(Acked, "step_timed_out", TimedOut),
        arrow(Acked, "step_cancelled", Cancelled),
        arrow(Acked, "step_skipped", Skipped),
        arrow(Polling, "attempt_failed", RetryWait),
        arrow(Polling, "step_held", RetryWait),
        arrow(Polling, "step_operated", RetryWait),
        arrow(Polling, "step_succeeded", Succeeded),
        arrow(Polling, "step_failed", Failed),
        arrow(Polling, "step_timed_out", TimedOut),
        arrow(Polling, "step_cancelled", Cancelled),
        arrow(Polling, "step_skipped", Skipped),
        arrow(RetryWait, "step_dispatched", Dispatched),
        arrow(RetryWait, "step_readied", Ready),
        arrow(RetryWait, "step_cancelled", Cancelled),
        arrow(RetryWait, "step_skipped", Skipped),
        arrow(RetryWait, "step_succeeded", Succeeded),
    ]
};

/// Every arrow of a run.
pub const RUN_ARROWS: &[Arrow<RunStatus>] = {
    use RunStatus::{Cancelled, Cancelling, Created, Failed, Ready, RetryWait, Running, Succeeded};
    &[
        arrow(Created, "run_started", Ready),
        arrow(Created, "cancel_requested", Cancelling),
        arrow(Ready, "step_dispatched", Running),
        arrow(Ready, "step_acked", Running),
        arrow(Ready, "cancel_requested", Cancelling),
        arrow(Ready, "run_succeeded", Succeeded),
        arrow(Ready, "run_failed", Failed),
        arrow(Running, "run_retry_scheduled", RetryWait),
        arrow(Running, "cancel_requested", Cancelling),
        arrow(Running, "run_succeeded", Succeeded),
        arrow(Running, "run_failed", Failed),
        arrow(RetryWait, "run_retried", Running),
        arrow(RetryWait, "run_retried", Ready),
        arrow(RetryWait, "step_dispatched", Running),
        arrow(RetryWait, "cancel_requested", Cancelling),
        arrow(RetryWait, "run_succeeded", Succeeded),
        arrow(RetryWait, "run_failed", Failed),
        arrow(Cancelling, "run_cancelled", Cancelled),
    ]
};

/// Every arrow of a phase of a batch.
pub const PHASE_ARROWS: &[Arrow<PhaseStatus>] = {
    use PhaseStatus::{Completed, Dispatched, Failed, Pending, Skipped, Superseded};
    &[
        arrow(Pending, "phase_dispatched", Dispatched),
        arrow(Pending, "phase_ended", Skipped),
        arrow(Pending, "phase_ended", Superseded),
        arrow(Dispatched, "phase_ended", Completed),
        arrow(Dispatched, "phase_ended", Failed),
        arrow(Dispatched, "phase_ended", Superseded),
    ]
};

/// Every arrow of a batch.
pub const BATCH_ARROWS: &[Arrow<BatchStatus>] = {
    use BatchStatus::{Active, Cancelled, Completed, Detected, Failed, InitDispatched};
    &[
        arrow(Detected, "init_dispatched", InitDispatched),
        arrow(Detected, "activated", Active),
        arrow(Detected, "ended", Cancelled),
        arrow(InitDispatched, "activated", Active),
        arrow(InitDispatched, "ended", Failed),
        arrow(InitDispatched, "ended", Cancelled),
        arrow(Active, "init_dispatched", InitDispatched),
        arrow(Active, "ended", Completed),
        arrow(Active, "ended", Failed),
        arrow(Active, "ended", Cancelled),
    ]
};
