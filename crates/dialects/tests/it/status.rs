//! The words of the wire and the statuses of the kernel.

use std::collections::BTreeSet;

use expect_test::expect;
use stepwell_core::run::RunStatus;
use stepwell_core::step::StepStatus;
use stepwell_core::table::{RUN_ARROWS, STEP_ARROWS};
use stepwell_dialects::commands::status;

#[test]
fn every_status_of_a_run_has_a_word_and_every_word_leads_back() {
    // D-054, X-155: round trip.
    for run in RunStatus::ALL {
        assert!(status::run_statuses(status::job(run)).unwrap().contains(&run));
    }
    for word in status::JOB_WORDS {
        assert!(status::run_statuses(word).unwrap().iter().all(|run| status::job(*run) == word));
    }
    assert_eq!(status::run_statuses("queued"), None, "the wire's spelling is exact");
}

#[test]
fn every_status_of_a_step_has_a_word_and_every_word_leads_back() {
    // D-055, X-155: round trip.
    for step in StepStatus::ALL {
        assert!(status::step_statuses(status::step(step)).unwrap().contains(&step));
    }
    for word in status::STEP_WORDS {
        assert!(
            status::step_statuses(word).unwrap().iter().all(|step| status::step(*step) == word)
        );
    }
    assert_eq!(status::step_statuses("DONE"), None);
}

#[test]
fn what_has_ended_for_the_kernel_has_ended_for_the_wire() {
    let ended = ["SUCCEEDED", "FAILED_FINAL", "CANCELLED"];
    for run in RunStatus::ALL {
        assert_eq!(ended.contains(&status::job(run)), run.is_terminal(), "{run:?}");
    }
    for step in StepStatus::ALL {
        assert_eq!(ended.contains(&status::step(step)), step.is_terminal(), "{step:?}");
    }
}

/// The changes that a reader of the wire can see, one a line.
fn visible<S: Copy>(arrows: impl Iterator<Item = (S, S)>, word: fn(S) -> &'static str) -> String {
    let changes: BTreeSet<String> = arrows
        .map(|(from, to)| (word(from), word(to)))
        .filter(|(from, to)| from != to)
        .map(|(from, to)| format!("{from} -> {to}\n"))
        .collect();
    changes.into_iter().collect()
}

#[test]
fn a_job_moves_only_as_the_contract_says() {
    // D-054, X-136: with the ways that the contract forgot, and none that leads back.
    // Only jobs of workspaces wait for a worker again between two attempts.
    let arrows = RUN_ARROWS.iter().map(|arrow| (arrow.from, arrow.to));
    let arrows = arrows.filter(|arrow| *arrow != (RunStatus::RetryWait, RunStatus::Ready));
    expect![[r#"
        CANCELLING -> CANCELLED
        IN_PROGRESS -> CANCELLING
        IN_PROGRESS -> FAILED_FINAL
        IN_PROGRESS -> SUCCEEDED
        QUEUED -> CANCELLING
        QUEUED -> FAILED_FINAL
        QUEUED -> IN_PROGRESS
        QUEUED -> SUCCEEDED
    "#]]
    .assert_eq(&visible(arrows, status::job));
}

#[test]
fn a_step_moves_only_as_the_contract_says() {
    // D-055, X-136: a result without an ack, a failure after one, and no way back from an end.
    let arrows = STEP_ARROWS.iter().map(|arrow| (arrow.from, arrow.to));
    expect![[r#"
        INITIATED -> CANCELLED
        INITIATED -> FAILED_FINAL
        INITIATED -> PENDING
        INITIATED -> PROCESSING
        INITIATED -> SUCCEEDED
        PENDING -> CANCELLED
        PENDING -> FAILED_FINAL
        PENDING -> INITIATED
        PENDING -> PROCESSING
        PENDING -> SUCCEEDED
        PROCESSING -> CANCELLED
        PROCESSING -> FAILED_FINAL
        PROCESSING -> INITIATED
        PROCESSING -> SUCCEEDED
    "#]]
    .assert_eq(&visible(arrows, status::step));
}
