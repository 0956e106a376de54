//! What happens in each branch: the same every time, so that the summary can be held to it.

use std::time::Duration;

use serde_json::{Value, json};
use stepwell_dialects::runbooks::job_id::JobId;

/// Joins the list when the others are half-way through.
pub(super) const LATE: &str = "Zagreb";
/// Leaves the list before its cutover.
pub(super) const LEAVING: &str = "Oslo";
/// Cannot be switched, and is rolled back.
const FAILING: &str = "Lisbon";
/// Need a second attempt to install.
const FLAKY: [&str; 3] = ["Bergen", "Krakow", "Turin"];

/// What a worker says of a job.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Verdict {
    Done(Value),
    NotYet,
    Failed(&'static str),
}

/// What the worker of a function says for a branch.
pub(super) fn verdict(function: &str, branch: &str, job: &JobId) -> Verdict {
    match function {
        "till.reserve" => {
            Verdict::Done(json!({ "till": format!("till-{}", branch.to_lowercase()) }))
        }
        "till.install" if FLAKY.contains(&branch) && job.attempt == 1 => {
            Verdict::Failed("the installer hung")
        }
        "prices.copy" if job.poll < rounds(branch) => Verdict::NotYet,
        "till.switch" if branch == FAILING => Verdict::Failed("the till does not start"),
        _ => Verdict::Done(json!({ "complete": true })),
    }
}

/// How often a copy is not yet done when it is asked for.
fn rounds(branch: &str) -> u32 {
    1 + mixed(branch) % 3
}

/// How long a job takes by the clock of the demo: one to five minutes.
pub(super) fn length(function: &str, branch: &str) -> Duration {
    Duration::from_secs(60 + u64::from(mixed(branch) + mixed(function)) % 240)
}

/// Some number that differs between texts and never between runs.
fn mixed(text: &str) -> u32 {
    text.bytes().fold(7, |sum, byte| (sum * 31 + u32::from(byte)) % 9_973)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(function: &str, branch: &str, job: &str) -> Verdict {
        verdict(function, branch, &job.parse().expect("it is a JobId"))
    }

    #[test]
    fn one_branch_cannot_be_switched_and_three_install_twice() {
        let failed = |verdict| matches!(verdict, Verdict::Failed(_));
        assert!(failed(told("till.switch", FAILING, "step-1-retry-1")));
        assert!(!failed(told("till.switch", LATE, "step-1-attempt-1")));
        for branch in FLAKY {
            assert!(failed(told("till.install", branch, "step-1-attempt-1")));
            assert!(!failed(told("till.install", branch, "step-1-retry-1")));
        }
    }

    #[test]
    fn every_copy_ends_within_three_questions() {
        for branch in ["Aarhus", "Berlin", LATE] {
            assert_eq!(told("prices.copy", branch, "step-1-attempt-1"), Verdict::NotYet);
            let last = told("prices.copy", branch, "step-1-attempt-1-poll-3");
            assert_ne!(last, Verdict::NotYet);
        }
    }
}
