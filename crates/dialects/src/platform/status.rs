//! The words for where a job or a node stands, and the kernel's words behind them.
//!
//! The wire has fewer words than the kernel has statuses, so a word leads back to a set of them.

use stepwell_core::run::RunStatus;
use stepwell_core::step::StepStatus;

use crate::wording::meant;

/// Every word for a job, in the order of its life.
pub const JOB_WORDS: [&str; 5] = ["pending", "running", "completed", "failed", "cancelled"];

/// The words for a job that somebody must still own (B-025).
pub const ACTIVE_WORDS: [&str; 2] = ["pending", "running"];

/// Every word for a node, in the order of its life.
pub const NODE_WORDS: [&str; 8] =
    ["pending", "ready", "dispatched", "running", "completed", "failed", "skipped", "cancelled"];

/// The word for where a job stands.
#[must_use]
pub fn job(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Created | RunStatus::Ready => "pending",
        // A job that is being stopped is still under way: nobody may take it for ended.
        RunStatus::Running | RunStatus::RetryWait | RunStatus::Cancelling => "running",
        RunStatus::Succeeded => "completed",
        RunStatus::Failed => "failed",
        RunStatus::Cancelled => "cancelled",
    }
}

/// The word for where a node stands.
#[must_use]
pub fn node(status: StepStatus) -> &'static str {
    match status {
        StepStatus::Waiting => "pending",
        // Between two attempts everything before the node has still ended well.
        StepStatus::Ready | StepStatus::RetryWait => "ready",
        StepStatus::Dispatched => "dispatched",
        // A node with items is worked on as long as one of them is.
        StepStatus::Acked | StepStatus::Polling | StepStatus::Expanded => "running",
        StepStatus::Succeeded => "completed",
        StepStatus::Failed | StepStatus::TimedOut => "failed",
        StepStatus::Cancelled => "cancelled",
        StepStatus::Skipped => "skipped",
    }
}

/// What a word for a job stands for; `None` if there is no such word.
#[must_use]
pub fn run_statuses(word: &str) -> Option<Vec<RunStatus>> {
    meant(RunStatus::ALL, word, job)
}

/// What a word for a node stands for; `None` if there is no such word.
#[must_use]
pub fn step_statuses(word: &str) -> Option<Vec<StepStatus>> {
    meant(StepStatus::ALL, word, node)
}
