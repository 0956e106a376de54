//! Worlds that once broke a rule, and must not again. Each says what was wrong.

use std::collections::BTreeSet;

use stepwell_sim::faults::Kind;
use stepwell_sim::plan::Options;
use stepwell_sim::world::run;

// The engine asked a bus that was away for its dead letters again and again, without a rest.
#[test]
fn a_bus_that_is_away_is_not_asked_without_a_rest() {
    let kinds = BTreeSet::from([Kind::BusAway, Kind::InstancePause]);
    for options in [
        Options { jobs: Some(1), kinds: Some(kinds), instances: Some(1), ..Options::of(5) },
        Options { instances: Some(1), ..Options::of(5) },
    ] {
        let outcome = run(&options);
        assert!(outcome.faults.contains_key(&Kind::BusAway), "the bus is away in this world");
        assert_eq!(outcome.violation, None);
    }
}

// A command that changed nothing was answered from a state that its group was about to write; the write
// was stale, because the run had been handed over and the answer to that had been lost.
#[test]
fn an_answer_without_a_write_rests_on_writes_that_stood() {
    let outcome = run(&Options::of(17_948_074_171_952));
    assert_eq!(outcome.violation, None);
}

// A sweep took what was only stored for a run's owner for done. Phases of a newer version were passed
// over before their members had been told of them, and the members waited for ever.
#[test]
fn a_phase_is_not_passed_over_while_its_members_have_not_been_told_of_it() {
    for seed in [258, 273] {
        let outcome = run(&Options { batches: Some(2), ..Options::of(seed) });
        assert_eq!(outcome.violation, None, "seed {seed}");
    }
}

// An instance that waited for the end of a trigger's run, and was no longer the one that looks after
// triggers when it came, asked for that again and again, without a rest.
#[test]
fn the_end_of_a_run_is_nothing_to_hurry_for_when_another_looks_after_its_trigger() {
    let outcome = run(&Options::of(17_948_277_501_129));
    assert_eq!(outcome.violation, None);
}

// Every instance died while workflows were being published, before anybody was there to start another.
#[test]
fn whoever_dies_before_a_world_has_begun_is_replaced() {
    let kinds = BTreeSet::from([Kind::CrashAfterCommit, Kind::ReadFailed]);
    let outcome = run(&Options { batches: Some(0), kinds: Some(kinds), ..Options::of(1_583) });
    assert_eq!(outcome.violation, None);
}
