//! The words for where a step, an undoing or the work on a batch stands, and the kernel's behind them.
//!
//! Batches and phases have the same words here and in the kernel (`BatchStatus::word`,
//! `PhaseStatus::word`), and so have members. For steps the wire has fewer words than the kernel has
//! statuses, so a word leads back to a set of them.

use stepwell_core::batch::SweepKind;
use stepwell_core::run::RunStatus;
use stepwell_core::step::StepStatus;

use crate::wording::meant;

/// Every word for a step, in the order of its life.
pub const STEP_WORDS: [&str; 7] =
    ["pending", "dispatched", "polling", "succeeded", "failed", "poll_timeout", "cancelled"];

/// Every word for a member.
pub const MEMBER_WORDS: [&str; 3] = ["active", "removed", "failed"];

/// The word for where a step stands.
#[must_use]
pub fn step(status: StepStatus) -> &'static str {
    match status {
        // Between two attempts a step is pending again; `retry_after` says until when.
        StepStatus::Waiting | StepStatus::Ready | StepStatus::RetryWait => "pending",
        StepStatus::Dispatched | StepStatus::Acked | StepStatus::Expanded => "dispatched",
        StepStatus::Polling => "polling",
        StepStatus::Succeeded => "succeeded",
        StepStatus::Failed => "failed",
        StepStatus::TimedOut => "poll_timeout",
        // The wire has no word for a step that was passed over; `skip_reason` says that it was.
        StepStatus::Cancelled | StepStatus::Skipped => "cancelled",
    }
}

/// What a word for a step stands for; `None` if there is no such word.
#[must_use]
pub fn step_statuses(word: &str) -> Option<Vec<StepStatus>> {
    meant(StepStatus::ALL, word, step)
}

/// The word for what became of the undoing of a step that has one. `None`: nobody knows any
/// more, because retention has deleted the run.
#[must_use]
pub fn compensation(status: Option<RunStatus>) -> &'static str {
    match status {
        Some(RunStatus::Succeeded) => "succeeded",
        Some(RunStatus::Failed | RunStatus::Cancelled) => "failed",
        Some(
            RunStatus::Created
            | RunStatus::Ready
            | RunStatus::Running
            | RunStatus::RetryWait
            | RunStatus::Cancelling,
        )
        | None => "sent",
    }
}

/// The word for something that is being done to every member of a batch.
#[must_use]
pub fn sweep(kind: &SweepKind) -> &'static str {
    match kind {
        SweepKind::Open { .. } => "opening_phase",
        SweepKind::Refresh => "moving_start",
        SweepKind::Adopt { .. } => "adopting_version",
        SweepKind::Pause => "pausing",
        SweepKind::Resume => "resuming",
        SweepKind::Cancel => "cancelling",
    }
}
