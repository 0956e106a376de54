//! The words of the wire and the statuses of the kernel.

use std::collections::BTreeSet;

use expect_test::expect;
use stepwell_core::batch::{BatchStatus, PhaseStatus, SweepKind};
use stepwell_core::run::RunStatus;
use stepwell_core::step::StepStatus;
use stepwell_core::table::STEP_ARROWS;
use stepwell_dialects::runbooks::status;

/// The rows of a table of the requirements, without marks.
fn table(heading: &str) -> Vec<Vec<String>> {
    let text = include_str!("../../../../../docs/requirements.md");
    let (_, rest) = text.split_once(heading).unwrap();
    let lines = rest.lines().skip_while(|line| !line.starts_with('|'));
    let rows = lines.take_while(|line| line.starts_with('|')).skip(2);
    rows.map(|row| row.trim_matches('|').split('|').map(|it| it.trim().to_owned()).collect())
        .collect()
}

#[test]
fn a_step_has_the_word_that_the_requirements_give_it() {
    // A-089, X-155: every row of the mapping, and the one status that the wire has no word for.
    let rows = table("### Step status mapping");
    assert_eq!(rows.len(), StepStatus::ALL.len() - 1, "items are nothing that a runbook has");
    for row in rows {
        let kernel = StepStatus::of_word(&row[0]).unwrap();
        let word = row[1].split([',', ' ']).next().unwrap();
        let expected = if word == "-" { "cancelled" } else { word };
        assert_eq!(status::step(kernel), expected, "{row:?}");
    }
}

#[test]
fn a_batch_has_the_word_that_the_requirements_give_it() {
    // A-050, X-016
    let words: BTreeSet<&str> = BatchStatus::ALL.iter().map(|status| status.word()).collect();
    let rows = table("### Run status mapping");
    let wanted: BTreeSet<&str> = rows
        .iter()
        .filter_map(|row| row[1].split(' ').next())
        .filter(|word| *word != "-")
        .collect();
    assert_eq!(words, wanted);
}

#[test]
fn a_phase_has_the_six_words_of_its_table() {
    // A-061
    let words: Vec<&str> = PhaseStatus::ALL.iter().map(|status| status.word()).collect();
    assert_eq!(words, ["pending", "dispatched", "completed", "failed", "skipped", "superseded"]);
}

#[test]
fn every_status_of_a_step_has_a_word_and_every_word_leads_back() {
    // A-089, X-155: round trip.
    for step in StepStatus::ALL {
        assert!(status::step_statuses(status::step(step)).unwrap().contains(&step));
    }
    for word in status::STEP_WORDS {
        let behind = status::step_statuses(word).unwrap();
        assert!(behind.iter().all(|step| status::step(*step) == word));
    }
    assert_eq!(status::step_statuses("Succeeded"), None, "the wire's spelling is exact");
}

#[test]
fn what_has_ended_for_the_kernel_has_ended_for_the_wire() {
    // A-121
    let ended = ["succeeded", "failed", "poll_timeout", "cancelled"];
    for step in StepStatus::ALL {
        assert_eq!(ended.contains(&status::step(step)), step.is_terminal(), "{step:?}");
    }
}

#[test]
fn a_step_moves_only_as_the_contract_says() {
    // A-090: the declared moves, and what a person may do: take a step as done before it was sent.
    let arrows = STEP_ARROWS.iter().map(|arrow| (status::step(arrow.from), status::step(arrow.to)));
    let moves: BTreeSet<String> = arrows
        .filter(|(from, to)| from != to)
        .map(|(from, to)| format!("{from} -> {to}\n"))
        .collect();
    expect![[r#"
        dispatched -> cancelled
        dispatched -> failed
        dispatched -> pending
        dispatched -> poll_timeout
        dispatched -> polling
        dispatched -> succeeded
        pending -> cancelled
        pending -> dispatched
        pending -> failed
        pending -> succeeded
        polling -> cancelled
        polling -> failed
        polling -> pending
        polling -> poll_timeout
        polling -> succeeded
    "#]]
    .assert_eq(&moves.into_iter().collect::<String>());
}

#[test]
fn an_undoing_is_sent_until_it_has_ended() {
    // X-001
    for run in RunStatus::ALL {
        let expected = match run {
            RunStatus::Succeeded => "succeeded",
            RunStatus::Failed | RunStatus::Cancelled => "failed",
            _ => "sent",
        };
        assert_eq!(status::compensation(Some(run)), expected, "{run:?}");
    }
    assert_eq!(status::compensation(None), "sent");
}

#[test]
fn what_is_done_to_every_member_has_a_word() {
    let open = SweepKind::Open { gate: "cutover@1".to_owned() };
    let words = [&open, &SweepKind::Refresh, &SweepKind::Pause, &SweepKind::Cancel];
    assert_eq!(
        words.map(status::sweep),
        ["opening_phase", "moving_start", "pausing", "cancelling"]
    );
}
