//! The words for where a job stands (C-008), the kernel's words behind them, and the arrows between
//! them.
//!
//! `failed` is not the end here: the latest attempt failed, and another one follows. What the
//! kernel calls failed is `dead`.

use stepwell_core::run::RunStatus;
use stepwell_core::step::StepStatus;

use crate::wording::meant;

/// Every word for a job, in the order of its life.
pub const JOB_WORDS: [&str; 7] =
    ["pending", "queued", "running", "failed", "completed", "dead", "canceled"];

/// The words for a job that has ended (C-023).
pub const TERMINAL_WORDS: [&str; 3] = ["completed", "dead", "canceled"];

/// Every arrow between two words. What is not here is refused (C-024).
pub const TRANSITIONS: [(&str, &[&str]); 7] = [
    ("pending", &["queued", "canceled"]),
    ("queued", &["running", "canceled"]),
    ("running", &["completed", "failed", "dead", "canceled"]),
    ("failed", &["queued", "running", "dead", "canceled"]),
    ("completed", &[]),
    ("dead", &[]),
    ("canceled", &[]),
];

/// Every word for a step of a job, in the order of its life.
pub const STEP_WORDS: [&str; 8] =
    ["pending", "queued", "running", "failed", "completed", "dead", "canceled", "skipped"];

/// A change that a job cannot make. The record is as it was (C-024).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a job cannot go from {from} to {to}: {}", self.allowed())]
pub struct InvalidTransition {
    /// where the job stands
    pub from: String,
    /// where it was to go
    pub to: String,
}

impl InvalidTransition {
    fn allowed(&self) -> String {
        match next(&self.from) {
            None => "there is no such status".to_owned(),
            Some([]) => format!("{} is the end", self.from),
            Some(words) => format!("it can become {}", words.join(", ")),
        }
    }
}

/// Refuses a change from one word to another that is no arrow. Staying where it is is no change.
///
/// # Errors
///
/// When there is no such arrow, or no such word.
pub fn check_transition(from: &str, to: &str) -> Result<(), InvalidTransition> {
    let known = next(from).is_some_and(|words| words.contains(&to) || from == to);
    if known {
        return Ok(());
    }
    Err(InvalidTransition { from: from.to_owned(), to: to.to_owned() })
}

/// The words that a job may go to from this one; `None` if there is no such word.
fn next(from: &str) -> Option<&'static [&'static str]> {
    TRANSITIONS.iter().find(|(word, _)| *word == from).map(|(_, next)| *next)
}

/// The word for where a job stands.
#[must_use]
pub fn job(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Created => "pending",
        RunStatus::Ready => "queued",
        // Jobs are stopped at once, so nobody sees one that is being stopped.
        RunStatus::Running | RunStatus::Cancelling => "running",
        RunStatus::RetryWait => "failed",
        RunStatus::Succeeded => "completed",
        RunStatus::Failed => "dead",
        RunStatus::Cancelled => "canceled",
    }
}

/// The word for where a step of a job stands.
#[must_use]
pub fn step(status: StepStatus) -> &'static str {
    match status {
        StepStatus::Waiting | StepStatus::Ready => "pending",
        StepStatus::Dispatched => "queued",
        // A step with items is worked on as long as one of them is.
        StepStatus::Acked | StepStatus::Polling | StepStatus::Expanded => "running",
        StepStatus::RetryWait => "failed",
        StepStatus::Succeeded => "completed",
        StepStatus::Failed | StepStatus::TimedOut => "dead",
        StepStatus::Cancelled => "canceled",
        StepStatus::Skipped => "skipped",
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
