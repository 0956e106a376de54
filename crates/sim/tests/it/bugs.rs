//! Every planted bug is found, soon, and by a rule that names it.

use stepwell_sim::bugs::Bug;
use stepwell_sim::oracle::Violation;
use stepwell_sim::plan::Options;
use stepwell_sim::world::run;

/// Worlds in which a bug must show.
const WORLDS_MAX: u64 = 200;

/// Which rules a bug breaks first; several where it depends on the world.
const FOUND_BY: &[(Bug, &[&str])] = &[
    (Bug::SkipLeaseCheck, &["I19"]),
    (Bug::PublishBeforeCommit, &["I06"]),
    (Bug::ForgetTimers, &["L1"]),
    (Bug::CountStaleResult, &["I17", "I18", "I19"]),
    (Bug::IgnoreEpoch, &["I09"]),
    (Bug::HastyClock, &["I32"]),
    (Bug::DropOutbox, &["L1", "L2"]),
    (Bug::LoseKey, &["I02"]),
    (Bug::CancelRevives, &["I18", "I21"]),
    (Bug::OverwriteEnd, &["I18", "I21"]),
    (Bug::CounterNotMoved, &["I30"]),
    (Bug::IgnoreCap, &["I30"]),
    (Bug::HistoryMissing, &["I03"]),
    (Bug::HalfGroup, &["I03", "I18"]),
    (Bug::AnswerBeforeCommit, &["I01", "I06"]),
    (Bug::RepeatIds, &["I14b"]),
    (Bug::TenantFilterMissing, &["I40"]),
    (Bug::LoseCompensation, &["I03"]),
    (Bug::StepNotWritten, &["I16", "I38"]),
    (Bug::MoveVersion, &["I39"]),
];

fn first_found(bug: Bug) -> Option<(u64, Violation)> {
    (1..=WORLDS_MAX).find_map(|seed| {
        let violation = run(&Options { bug: Some(bug), ..Options::of(seed) }).violation?;
        Some((seed, violation))
    })
}

#[test]
fn every_planted_bug_is_found_by_a_rule_that_names_it() {
    for (bug, rules) in FOUND_BY {
        let word = bug.word();
        let found = first_found(*bug);
        let (seed, violation) =
            found.unwrap_or_else(|| panic!("{word} was not found in {WORLDS_MAX} worlds"));
        println!("{word}: seed {seed} breaks {violation}");
        assert!(rules.contains(&violation.rule.id), "{word}, seed {seed}: {violation}");
        let without = run(&Options::of(seed)).violation;
        assert_eq!(without, None, "{word}: seed {seed} is sound without it");
    }
}

#[test]
fn no_bug_is_planted_that_nobody_looks_for() {
    let looked_for: Vec<Bug> = FOUND_BY.iter().map(|(bug, _)| *bug).collect();
    assert_eq!(looked_for, Bug::ALL);
}
