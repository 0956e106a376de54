//! The words of the wire and the statuses of the kernel.

use std::collections::BTreeSet;

use expect_test::expect;
use stepwell_core::run::RunStatus;
use stepwell_core::step::StepStatus;
use stepwell_core::table::{RUN_ARROWS, STEP_ARROWS};
use stepwell_dialects::platform::status;

#[test]
fn every_status_of_a_run_has_a_word_and_every_word_leads_back() {
    // X-111, X-155: round trip.
    for run in RunStatus::ALL {
        assert!(status::run_statuses(status::job(run)).unwrap().contains(&run));
    }
    for word in status::JOB_WORDS {
        assert!(status::run_statuses(word).unwrap().iter().all(|run| status::job(*run) == word));
    }
    assert_eq!(status::run_statuses("QUEUED"), None);
}

#[test]
fn every_status_of_a_step_has_a_word_and_every_word_leads_back() {
    // X-111, X-155: round trip.
    for step in StepStatus::ALL {
        assert!(status::step_statuses(status::node(step)).unwrap().contains(&step));
    }
    for word in status::NODE_WORDS {
        assert!(
            status::step_statuses(word).unwrap().iter().all(|step| status::node(*step) == word)
        );
    }
    assert_eq!(status::step_statuses("done"), None);
}

#[test]
fn a_job_is_active_exactly_until_it_has_ended() {
    // B-025
    for run in RunStatus::ALL {
        assert_eq!(status::ACTIVE_WORDS.contains(&status::job(run)), !run.is_terminal(), "{run:?}");
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
fn a_job_moves_only_along_declared_ways() {
    // B-005, X-111: nothing leads out of an end, and nothing back.
    // Only jobs of workspaces wait for a worker again between two attempts.
    let arrows = RUN_ARROWS.iter().map(|arrow| (arrow.from, arrow.to));
    let arrows = arrows.filter(|arrow| *arrow != (RunStatus::RetryWait, RunStatus::Ready));
    expect![[r#"
        pending -> completed
        pending -> failed
        pending -> running
        running -> cancelled
        running -> completed
        running -> failed
    "#]]
    .assert_eq(&visible(arrows, status::job));
}

#[test]
fn a_node_moves_only_along_declared_ways() {
    // B-005, X-111
    let arrows = STEP_ARROWS.iter().map(|arrow| (arrow.from, arrow.to));
    expect![[r#"
        dispatched -> cancelled
        dispatched -> completed
        dispatched -> failed
        dispatched -> ready
        dispatched -> running
        dispatched -> skipped
        pending -> cancelled
        pending -> completed
        pending -> dispatched
        pending -> failed
        pending -> ready
        pending -> running
        pending -> skipped
        ready -> cancelled
        ready -> completed
        ready -> dispatched
        ready -> failed
        ready -> running
        ready -> skipped
        running -> cancelled
        running -> completed
        running -> failed
        running -> ready
        running -> skipped
    "#]]
    .assert_eq(&visible(arrows, status::node));
}
