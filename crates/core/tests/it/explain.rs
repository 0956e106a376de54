//! Why a run is where it is: there is always an answer.

use expect_test::{Expect, expect};
use serde_json::json;
use stepwell_core::definition::{CancelMode, Workflow};
use stepwell_core::explain::explain;
use stepwell_core::retry::RetryPolicy;

use crate::world::{
    World, after, at_once, behind, cancel, for_each, graph, minutes, once, open_gate, pause,
    polled, sequence, step,
};

#[track_caller]
fn check(world: &World, expected: Expect) {
    let explanation = explain(&world.run, world.now);
    let mut text = explanation.summary + "\n";
    for wait in explanation.waits {
        let until = wait.until.map(|until| format!("; until {until}")).unwrap_or_default();
        let advice = wait.advice.map(|advice| format!("; {advice}")).unwrap_or_default();
        text += &format!("{} [{}] {}{until}{advice}\n", wait.step, wait.waiting_for, wait.reason);
    }
    expected.assert_eq(&text);
}

#[test]
fn a_run_that_was_not_started_waits_for_its_start() {
    let mut world = World::of(sequence([behind("go", step("a")), step("b")]));
    check(
        &world,
        expect![[r#"
            the run was created and has not been started yet
            a [start] waits for the start of the run
            b [start] waits for the start of the run
        "#]],
    );
    world.does(open_gate("go"));
    check(
        &world,
        expect![[r#"
            the run was created and has not been started yet
            a [start] waits for the start of the run
            b [start] waits for the start of the run
        "#]],
    );
}

#[test]
fn a_step_with_a_worker_says_whether_the_worker_has_taken_it() {
    let mut world = World::started(sequence([step("a"), step("b")]));
    check(
        &world,
        expect![[r#"
            the run is under way; 0 of 2 steps have ended
            a [worker] attempt 1 is in pool "default"; no worker has acknowledged it yet; until in 15m (2025-03-15T00:15:00.000Z); see that a worker of this pool is running
            b [steps] waits for "a"
        "#]],
    );
    world.does(world.acked("a"));
    check(
        &world,
        expect![[r#"
            the run is under way; 0 of 2 steps have ended
            a [worker] attempt 1 is with a worker of pool "default"; until in 15m (2025-03-15T00:15:00.000Z)
            b [steps] waits for "a"
        "#]],
    );
}

#[test]
fn a_step_that_rests_says_why_and_until_when() {
    let mut world = World::started(sequence([step("a")]));
    world.does(world.failed("a"));
    check(
        &world,
        expect![[r#"
            the run is under way; 0 of 1 steps have ended
            a [retry] attempt 1 failed: the worker broke (broken); until in 30s (2025-03-15T00:00:30.000Z); retry the step to try again at once
        "#]],
    );
    world.pass(minutes(1));
    check(
        &world,
        expect![[r#"
            the run is under way; 0 of 1 steps have ended
            a [retry] attempt 1 failed: the worker broke (broken); until now (due since 2025-03-15T00:00:30.000Z); retry the step to try again at once
        "#]],
    );
}

#[test]
fn a_step_behind_a_gate_names_it() {
    let steps = vec![step("a"), behind("go", step("b")), after(&[0], behind("go", step("c")))];
    check(
        &World::started(graph(steps)),
        expect![[r#"
            the run is under way; 0 of 3 steps have ended
            a [worker] attempt 1 is in pool "default"; no worker has acknowledged it yet; until in 15m (2025-03-15T00:15:00.000Z); see that a worker of this pool is running
            b [gate] stands behind gate "go", which is closed; open the gate
            c [steps] waits for "a"
        "#]],
    );
}

#[test]
fn a_polling_step_says_whose_turn_it_is() {
    let mut world = World::started(sequence([polled("a")]));
    world.does(world.unfinished("a"));
    check(
        &world,
        expect![[r#"
            the run is under way; 0 of 1 steps have ended
            a [poll] the worker's last answer was: not finished yet; until in 1m (2025-03-15T00:01:00.000Z)
        "#]],
    );
    world.wakes();
    check(
        &world,
        expect![[r#"
            the run is under way; 0 of 1 steps have ended
            a [poll_answer] the worker was asked again whether it is finished; until in 3m (2025-03-15T00:04:00.000Z)
        "#]],
    );
    world.does(pause());
    world.wakes();
    check(
        &world,
        expect![[r#"
            the run is paused; 0 of 1 steps have ended; resume it to go on
            a [resume] could go on, but the run is paused; until in 6m (2025-03-15T00:10:00.000Z); resume the run
        "#]],
    );
}

// X-121: every wait has an answer, also that of one item among many.
#[test]
fn a_step_with_items_says_how_far_they_are_and_shows_those_that_look_stuck() {
    let a = at_once(4, for_each((0..20).collect(), step("a")));
    let mut world = World::started(sequence([a, step("b")]));
    world.does(world.succeeded("a[0]"));
    world.does(world.acked("a[2]"));
    world.does(world.failed("a[3]"));
    check(
        &world,
        expect![[r#"
        the run is under way; 0 of 2 steps have ended
        a [items] 1 of 20 items have ended, 4 are under way, 15 wait for their turn; until in 30s (2025-03-15T00:00:30.000Z)
        a[3] [retry] attempt 1 failed: the worker broke (broken); until in 30s (2025-03-15T00:00:30.000Z); retry the step to try again at once
        a[1] [worker] attempt 1 is in pool "default"; no worker has acknowledged it yet; until in 15m (2025-03-15T00:15:00.000Z); see that a worker of this pool is running
        a[2] [worker] attempt 1 is with a worker of pool "default"; until in 15m (2025-03-15T00:15:00.000Z)
        a[4] [worker] attempt 1 is in pool "default"; no worker has acknowledged it yet; until in 15m (2025-03-15T00:15:00.000Z); see that a worker of this pool is running
        b [steps] waits for "a"
    "#]],
    );
}

// X-121: a few items are shown, however many there are.
#[test]
fn of_very_many_items_a_few_are_shown() {
    let mut world = World::started(sequence([for_each((0..500).collect(), step("a"))]));
    world.does(world.failed("a[400]"));
    let waits = explain(&world.run, world.now).waits;
    let shown: Vec<&str> = waits.iter().map(|wait| wait.step.as_str()).collect();
    assert_eq!(shown[..3], ["a", "a[400]", "a[0]"]);
    assert_eq!(shown.len(), 11);
}

#[test]
fn an_item_that_waits_says_for_what() {
    let mut world = World::started(sequence([at_once(1, for_each(json!([1, 2]), step("a")))]));
    let second = world.index("a[1]");
    assert_eq!(world.run.waiting_for(second), Some("turn"));
    world.does(pause());
    assert_eq!(world.run.waiting_for(second), Some("resume"));
}

#[test]
fn a_run_between_two_attempts_says_when_the_next_begins() {
    let run_retry = Some(RetryPolicy::fixed(2, minutes(5)));
    let mut world = World::started(Workflow { run_retry, ..sequence([once("a")]) });
    world.does(world.failed("a"));
    check(
        &world,
        expect![[r#"
            attempt 1 of the whole run failed; the next begins in 5m (2025-03-15T00:05:00.000Z)
            a [run_retry] waits for the next attempt of the whole run; until in 5m (2025-03-15T00:05:00.000Z)
        "#]],
    );
    world.does(pause());
    check(
        &world,
        expect![[r#"
            the run is paused; attempt 1 of the whole run failed; resume it to go on
            a [run_retry] waits for the next attempt of the whole run; until in 5m (2025-03-15T00:05:00.000Z)
        "#]],
    );
}

#[test]
fn a_paused_run_and_a_stopping_run_say_so() {
    let mut world = World::started(sequence([step("a"), step("b")]));
    world.does(pause());
    world.does(world.succeeded("a"));
    check(
        &world,
        expect![[r#"
            the run is paused; 1 of 2 steps have ended; resume it to go on
            b [resume] could go on, but the run is paused; resume the run
        "#]],
    );
    let mut stopping = World::started(sequence([step("a"), step("b")]));
    stopping.does(cancel(CancelMode::Drain));
    check(
        &stopping,
        expect![[r#"
            the run is being cancelled and waits for what is under way; 1 of 2 steps have ended
            a [worker] attempt 1 is in pool "default"; no worker has acknowledged it yet; until in 15m (2025-03-15T00:15:00.000Z); see that a worker of this pool is running
        "#]],
    );
}

#[test]
fn a_run_that_has_ended_waits_for_nothing() {
    let mut succeeded = World::started(sequence([step("a")]));
    succeeded.does(succeeded.succeeded("a"));
    check(
        &succeeded,
        expect![[r#"
            the run succeeded; 1 of 1 steps have ended
        "#]],
    );
    let mut failed = World::started(sequence([step("a")]));
    failed.does(failed.failed_for_good("a"));
    check(
        &failed,
        expect![[r#"
            the run failed: the worker broke (broken)
        "#]],
    );
    let mut cancelled = World::started(sequence([step("a")]));
    cancelled.does(cancel(CancelMode::Immediate));
    check(
        &cancelled,
        expect![[r#"
            the run was cancelled; 1 of 1 steps have ended
        "#]],
    );
}
