//! An ack or an outcome counts only while its attempt and its lease are the ones in force.

use expect_test::expect;
use serde_json::json;
use stepwell_core::command::{Command, Fence, StepRef};
use stepwell_core::id::{LeaseId, StepIndex};
use stepwell_core::refusal::Refusal;
use stepwell_core::run::RunStatus;
use stepwell_core::step::{Outcome, StepError, StepStatus};

use crate::world::{World, failure, named, report, sequence, step, success};

/// A run at the second attempt of its first step, and the fence of the first attempt.
fn second_attempt() -> (World, Fence) {
    let mut world = World::started(sequence([step("a"), step("b")]));
    let first = world.fence("a");
    world.does(world.failed("a"));
    world.wakes();
    (world, first)
}

// X-021, D-038: whatever the first attempt says, the second one is not settled by it.
#[test]
fn a_late_outcome_does_not_settle_a_later_attempt() {
    let (mut world, first) = second_attempt();
    let before = world.run.clone();
    world.check(
        report("a", first, success(json!({}))),
        expect!["refused: attempt 1 is not in force; the step is at attempt 2"],
    );
    world.check(
        report("a", first, failure(false)),
        expect!["refused: attempt 1 is not in force; the step is at attempt 2"],
    );
    world.check(
        report("a", first, Outcome::Incomplete),
        expect!["refused: attempt 1 is not in force; the step is at attempt 2"],
    );
    world.check(
        Command::Ack { step: named("a"), fence: first },
        expect!["refused: attempt 1 is not in force; the step is at attempt 2"],
    );
    assert_eq!(world.run, before);
}

// D-038: the number alone is not enough, because a number can be guessed or come from a backup.
#[test]
fn an_outcome_needs_the_attempt_and_the_lease() {
    let (mut world, first) = second_attempt();
    let current = world.fence("a");
    let old_lease = Fence { lease: first.lease, ..current };
    let old_attempt = Fence { attempt: first.attempt, ..current };
    world.check(
        report("a", old_lease, success(json!({}))),
        expect!["refused: the lease is not the one of attempt 2"],
    );
    world.check(
        report("a", old_attempt, success(json!({}))),
        expect!["refused: attempt 1 is not in force; the step is at attempt 2"],
    );
    world.does(report("a", current, success(json!({}))));
}

#[test]
fn an_outcome_between_two_attempts_settles_nothing() {
    let mut world = World::started(sequence([step("a")]));
    let first = world.fence("a");
    world.does(world.failed("a"));
    world.check(
        report("a", first, success(json!({}))),
        expect!["refused: no attempt of the step is under way; it is retry_wait"],
    );
}

// A-088, D-038, C-037: a second answer, and an answer to an ended step, change nothing.
#[test]
fn a_second_outcome_changes_nothing() {
    let mut world = World::started(sequence([step("a"), step("b")]));
    let fence = world.fence("a");
    world.does(report("a", fence, success(json!({}))));
    world.check(
        report("a", fence, success(json!({}))),
        expect!["refused: the step has ended as succeeded"],
    );
    world.check(
        report("a", fence, failure(false)),
        expect!["refused: the step has ended as succeeded"],
    );
}

// X-136: an ack after the result never takes the step back.
#[test]
fn an_ack_after_the_result_takes_nothing_back() {
    let mut world = World::started(sequence([step("a"), step("b")]));
    let fence = world.fence("a");
    world.does(world.succeeded("a"));
    world.check(
        Command::Ack { step: named("a"), fence },
        expect!["refused: the step has ended as succeeded"],
    );
    assert_eq!(world.step("a").status, StepStatus::Succeeded);
}

// D-053: nor does anything that comes when the whole run is over.
#[test]
fn an_answer_after_the_end_of_the_run_changes_nothing() {
    let mut world = World::started(sequence([step("a")]));
    let fence = world.fence("a");
    world.does(world.succeeded("a"));
    world.check(
        report("a", fence, failure(false)),
        expect!["refused: the step has ended as succeeded"],
    );
    assert_eq!(world.run.status, RunStatus::Succeeded);
}

#[test]
fn a_second_ack_is_no_news() {
    let mut world = World::started(sequence([step("a")]));
    world.does(world.acked("a"));
    world.check(world.acked("a"), expect!["nothing"]);
}

#[test]
fn the_word_of_our_own_bus_is_fenced_by_the_lease() {
    let (mut world, first) = second_attempt();
    let (step, lease) = (StepIndex(0), first.lease);
    let error = StepError::new("bus_away", "the bus did not answer");
    world.check(
        Command::Published { step, lease },
        expect!["refused: the lease is not the one of attempt 2"],
    );
    world.check(
        Command::PublishFailed { step, lease, error: error.clone() },
        expect!["refused: the lease is not the one of attempt 2"],
    );
    world.check(
        Command::Undelivered { step, lease, error },
        expect!["refused: the lease is not the one of attempt 2"],
    );
    world.check(
        Command::Published { step: StepIndex(9), lease },
        expect![[r#"refused: the run has no step "9""#]],
    );
}

// D-040: no lease is ever minted twice, so none of an earlier attempt can be in force again.
#[test]
fn every_attempt_has_a_lease_of_its_own() {
    let (world, first) = second_attempt();
    assert_ne!(world.fence("a").lease, first.lease);
}

#[test]
fn a_step_that_does_not_exist_is_unknown_and_not_stale() {
    let mut world = World::started(sequence([step("a")]));
    let fence = Fence { attempt: 1, lease: LeaseId(uuid::Uuid::nil()) };
    world.check(
        report("nowhere", fence, success(json!({}))),
        expect![[r#"refused: the run has no step "nowhere""#]],
    );
    let by_place = StepRef::Index(StepIndex(7));
    let refusal = world.asks(&Command::Ack { step: by_place, fence }).unwrap_err();
    assert_eq!(refusal, Refusal::UnknownStep("7".to_owned()));
    assert!(!refusal.is_stale());
}
