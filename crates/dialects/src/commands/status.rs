//! The words for where a job or a step stands, and the kernel's words behind them (D-054, D-055).
//!
//! The wire has fewer words than the kernel has statuses, so a word leads back to a set of them.

use stepwell_core::run::RunStatus;
use stepwell_core::step::StepStatus;

use crate::wording::meant;

/// Every word for a job, in the order of its life.
pub const JOB_WORDS: [&str; 6] =
    ["QUEUED", "IN_PROGRESS", "CANCELLING", "SUCCEEDED", "FAILED_FINAL", "CANCELLED"];

/// Every word for a step, in the order of its life.
pub const STEP_WORDS: [&str; 6] =
    ["PENDING", "INITIATED", "PROCESSING", "SUCCEEDED", "FAILED_FINAL", "CANCELLED"];

/// An attempt that failed while others follow; a step is never shown so.
pub const ATTEMPT_FAILED: &str = "FAILED_RETRYABLE";

/// The word for where a job stands.
#[must_use]
pub fn job(status: RunStatus) -> &'static str {
    match status {
        // A job is in progress from its first recorded attempt on.
        RunStatus::Created | RunStatus::Ready => "QUEUED",
        RunStatus::Running | RunStatus::RetryWait => "IN_PROGRESS",
        RunStatus::Cancelling => "CANCELLING",
        RunStatus::Succeeded => "SUCCEEDED",
        RunStatus::Failed => "FAILED_FINAL",
        RunStatus::Cancelled => "CANCELLED",
    }
}

/// The word for where a step stands.
#[must_use]
pub fn step(status: StepStatus) -> &'static str {
    match status {
        StepStatus::Waiting | StepStatus::Ready => "PENDING",
        // Between two attempts the step has been initiated, and will be again.
        StepStatus::Dispatched | StepStatus::RetryWait => "INITIATED",
        // A step with items is worked on as long as one of them is.
        StepStatus::Acked | StepStatus::Polling | StepStatus::Expanded => "PROCESSING",
        StepStatus::Succeeded => "SUCCEEDED",
        StepStatus::Failed | StepStatus::TimedOut => "FAILED_FINAL",
        // The wire has no word for a step that was passed over; what counts is that it never ran.
        StepStatus::Cancelled | StepStatus::Skipped => "CANCELLED",
    }
}

/// What a word for a job stands for; `None` if there is no such word.
#[must_use]
pub fn run_statuses(word: &str) -> Option<Vec<RunStatus>> {
    meant(RunStatus::ALL, word, job)
}

/// What a word for a step stands for; `None` if there is no such word.
#[must_use]
pub fn step_statuses(word: &str) -> Option<Vec<StepStatus>> {
    meant(StepStatus::ALL, word, step)
}
