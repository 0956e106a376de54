//! The words for where a job stands, and the ways between them.

use std::collections::BTreeSet;

use stepwell_core::run::RunStatus;
use stepwell_core::step::StepStatus;
use stepwell_core::table::RUN_ARROWS;
use stepwell_dialects::workspaces::status::{
    self, JOB_WORDS, STEP_WORDS, TERMINAL_WORDS, TRANSITIONS, check_transition,
};

#[test]
fn every_status_has_a_word_and_every_word_leads_back() {
    // C-008, C-019, C-020, C-021, C-022, X-116, X-155: `failed` is not the end, and canceled has one l.
    let words: BTreeSet<&str> =
        ["pending", "queued", "running", "completed", "failed", "dead", "canceled"].into();
    assert_eq!(BTreeSet::from(JOB_WORDS), words);
    for run in RunStatus::ALL {
        let word = status::job(run);
        assert!(status::run_statuses(word).unwrap().contains(&run), "{word}");
        // C-023
        assert_eq!(TERMINAL_WORDS.contains(&word), run.is_terminal(), "{word}");
    }
    for word in JOB_WORDS {
        assert!(status::run_statuses(word).is_some_and(|statuses| !statuses.is_empty()), "{word}");
    }
    assert_eq!(status::run_statuses("failed"), Some(vec![RunStatus::RetryWait]));
    assert_eq!(status::run_statuses("dead"), Some(vec![RunStatus::Failed]));
    assert_eq!(status::run_statuses("cancelled"), None);
    for step in StepStatus::ALL {
        let word = status::step(step);
        assert!(STEP_WORDS.contains(&word) && status::step_statuses(word).unwrap().contains(&step));
    }
}

#[test]
fn a_way_that_is_not_in_the_table_is_refused_and_says_what_is() {
    // C-024, X-122
    let allowed: BTreeSet<(&str, &str)> = [
        ("pending", "queued"),
        ("pending", "canceled"),
        ("queued", "running"),
        ("queued", "canceled"),
        ("running", "completed"),
        ("running", "failed"),
        ("running", "dead"),
        ("running", "canceled"),
        ("failed", "queued"),
        ("failed", "running"),
        ("failed", "dead"),
        ("failed", "canceled"),
    ]
    .into();
    for from in JOB_WORDS {
        for to in JOB_WORDS {
            let expected = from == to || allowed.contains(&(from, to));
            assert_eq!(check_transition(from, to).is_ok(), expected, "{from} -> {to}");
        }
    }
    let refusal = |from, to| check_transition(from, to).unwrap_err().to_string();
    assert_eq!(
        refusal("queued", "completed"),
        "a job cannot go from queued to completed: it can become running, canceled"
    );
    assert_eq!(refusal("dead", "queued"), "a job cannot go from dead to queued: dead is the end");
    assert_eq!(
        refusal("lost", "dead"),
        "a job cannot go from lost to dead: there is no such status"
    );
}

#[test]
fn the_kernel_goes_the_ways_of_the_table_and_three_that_it_leaves_open() {
    // a message that nobody can deliver ends its job before a worker had it; a job that
    // took over every step of another is done at once; a person may pass the step that waits.
    let table: BTreeSet<(&str, &str)> =
        TRANSITIONS.iter().flat_map(|(from, to)| to.iter().map(|to| (*from, *to))).collect();
    // What a cancel passes through is never seen: it is immediate.
    let seen = RUN_ARROWS.iter().filter(|arrow| arrow.from != RunStatus::Cancelling);
    let beyond: BTreeSet<(&str, &str)> = seen
        .filter(|arrow| arrow.to != RunStatus::Cancelling)
        .map(|arrow| (status::job(arrow.from), status::job(arrow.to)))
        .filter(|(from, to)| from != to && !table.contains(&(from, to)))
        .collect();
    let open = [("queued", "dead"), ("queued", "completed"), ("failed", "completed")];
    assert_eq!(beyond, open.into());
}
