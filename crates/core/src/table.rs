//! The arrows of the two machines, as data.
//!
//! A test drives [`crate::decide`] through random lives and compares every change with this table:
//! an arrow that is missing here, or never taken there, fails it. The picture in
//! `docs/state-machine.md` is drawn from here too.

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

const fn step(from: StepStatus, entry: &'static str, to: StepStatus) -> Arrow<StepStatus> {
    Arrow { from, entry, to }
}

const fn run(from: RunStatus, entry: &'static str, to: RunStatus) -> Arrow<RunStatus> {
    Arrow { from, entry, to }
}

/// Every arrow of a step.
pub const STEP_ARROWS: &[Arrow<StepStatus>] = {
    use StepStatus::{
        Acked, Cancelled, Dispatched, Expanded, Failed, Polling, Ready, RetryWait, Skipped,
        Succeeded, TimedOut, Waiting,
    };
    &[
        step(Waiting, "step_carried", Succeeded),
        step(Waiting, "step_readied", Ready),
        step(Waiting, "step_expanded", Expanded),
        step(Waiting, "step_dispatched", Dispatched),
        step(Waiting, "step_failed", Failed),
        step(Waiting, "step_skipped", Skipped),
        step(Waiting, "step_cancelled", Cancelled),
        step(Waiting, "step_succeeded", Succeeded),
        step(Ready, "step_expanded", Expanded),
        step(Ready, "step_dispatched", Dispatched),
        step(Ready, "step_failed", Failed),
        step(Ready, "step_operated", RetryWait),
        step(Ready, "step_skipped", Skipped),
        step(Ready, "step_cancelled", Cancelled),
        step(Ready, "step_succeeded", Succeeded),
        step(Expanded, "step_gathered", Succeeded),
        step(Expanded, "step_succeeded", Succeeded),
        step(Expanded, "step_failed", Failed),
        step(Expanded, "step_cancelled", Cancelled),
        step(Expanded, "step_skipped", Skipped),
        step(Dispatched, "step_acked", Acked),
        step(Dispatched, "step_polling", Polling),
        step(Dispatched, "attempt_failed", RetryWait),
        step(Dispatched, "step_held", RetryWait),
        step(Dispatched, "step_operated", RetryWait),
        step(Dispatched, "step_succeeded", Succeeded),
        step(Dispatched, "step_failed", Failed),
        step(Dispatched, "step_timed_out", TimedOut),
        step(Dispatched, "step_cancelled", Cancelled),
        step(Dispatched, "step_skipped", Skipped),
        step(Acked, "step_polling", Polling),
        step(Acked, "attempt_failed", RetryWait),
        step(Acked, "step_held", RetryWait),
        step(Acked, "step_operated", RetryWait),
        step(Acked, "step_succeeded", Succeeded),
        step(Acked, "step_failed", Failed),
        step(Acked, "step_timed_out", TimedOut),
        step(Acked, "step_cancelled", Cancelled),
        step(Acked, "step_skipped", Skipped),
        step(Polling, "attempt_failed", RetryWait),
        step(Polling, "step_held", RetryWait),
        step(Polling, "step_operated", RetryWait),
        step(Polling, "step_succeeded", Succeeded),
        step(Polling, "step_failed", Failed),
        step(Polling, "step_timed_out", TimedOut),
        step(Polling, "step_cancelled", Cancelled),
        step(Polling, "step_skipped", Skipped),
        step(RetryWait, "step_dispatched", Dispatched),
        step(RetryWait, "step_readied", Ready),
        step(RetryWait, "step_cancelled", Cancelled),
        step(RetryWait, "step_skipped", Skipped),
        step(RetryWait, "step_succeeded", Succeeded),
    ]
};

/// Every arrow of a run.
pub const RUN_ARROWS: &[Arrow<RunStatus>] = {
    use RunStatus::{Cancelled, Cancelling, Created, Failed, Ready, RetryWait, Running, Succeeded};
    &[
        run(Created, "run_started", Ready),
        run(Created, "cancel_requested", Cancelling),
        run(Ready, "step_dispatched", Running),
        run(Ready, "cancel_requested", Cancelling),
        run(Ready, "run_succeeded", Succeeded),
        run(Ready, "run_failed", Failed),
        run(Running, "run_retry_scheduled", RetryWait),
        run(Running, "cancel_requested", Cancelling),
        run(Running, "run_succeeded", Succeeded),
        run(Running, "run_failed", Failed),
        run(RetryWait, "run_retried", Running),
        run(RetryWait, "step_dispatched", Running),
        run(RetryWait, "cancel_requested", Cancelling),
        run(RetryWait, "run_succeeded", Succeeded),
        run(RetryWait, "run_failed", Failed),
        run(Cancelling, "run_cancelled", Cancelled),
    ]
};
