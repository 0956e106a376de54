//! Signs of life of whoever has an attempt, and what a person is told meanwhile.

use expect_test::expect;
use stepwell_core::command::Command;
use stepwell_core::explain::explain;
use stepwell_core::run::RunStatus;

use super::{LEASE_SECS, alive, job, job_with, terms};
use crate::world::{World, minutes, polled, seconds, sequence};

// X-121: while signs of life come, an attempt may take as long as it takes.
#[test]
fn signs_of_life_keep_an_attempt_for_as_long_as_they_come() {
    let mut world = job(1);
    world.does(world.acked("a"));
    for _ in 0..100 {
        world.pass(seconds(LEASE_SECS / 2));
        world.check(alive(&world, "a"), expect!["lease_extended a expires_at=+1m"]);
        assert!(world.does(Command::Wake).entries.is_empty());
    }
    world.wakes();
    assert_eq!(world.run.status, RunStatus::Failed, "then they stopped");
}

// X-121: a sign that says nothing new is not written down.
#[test]
fn signs_of_life_that_come_fast_are_not_all_written() {
    let mut world = job(5);
    world.does(world.acked("a"));
    world.pass(seconds(10));
    world.check(alive(&world, "a"), expect!["nothing"]);
    world.pass(seconds(10));
    world.check(alive(&world, "a"), expect!["lease_extended a expires_at=+1m"]);
}

// C-018: a sign of life of a worker that never said it took the message says so.
#[test]
fn the_first_sign_of_life_takes_the_message() {
    let mut world = job(5);
    world.check(
        alive(&world, "a"),
        expect![[r#"
            step_acked a
            lease_extended a expires_at=+1m
            -> withdraw a attempt=1 lease=1"#]],
    );
    assert_eq!(world.run.status, RunStatus::Running);
}

#[test]
fn a_question_of_a_poll_has_times_of_its_own() {
    let mut world = job_with(sequence([polled("a")]), terms(5));
    world.does(world.unfinished("a"));
    world.wakes();
    let until = world.step("a").wake_at;
    world.check(alive(&world, "a"), expect!["nothing"]);
    assert_eq!(world.step("a").wake_at, until);
}

// C-018, X-121: where a job is, since when, and what happens next.
#[test]
fn a_job_says_what_it_waits_for() {
    let told = |world: &World| {
        let told = explain(&world.run, world.now);
        let wait = told.waits.iter().find(|wait| wait.waiting_for != "steps").expect("a wait");
        let until = wait.until.as_deref().unwrap_or("nobody knows");
        format!("{}\n{}: {}\nuntil {until}", told.summary, wait.step, wait.reason)
    };
    let mut world = job(5);
    world.pass(minutes(5));
    expect![[r#"
        attempt 1 of 5 waits for a worker since 2025-03-15T00:00:00.000Z (5m ago); 0 of 3 steps have ended
        a: the message of attempt 1 waits for a worker of pool "default" since 2025-03-15T00:00:00.000Z (5m ago)
        until in 55m (2025-03-15T01:00:00.000Z)"#]].assert_eq(&told(&world));
    world.does(world.acked("a"));
    expect![[r#"
        the run is under way; 0 of 3 steps have ended
        a: the worker of pool "default" that has attempt 1 of the run is at it; every sign of life extends its lease
        until in 1m (2025-03-15T00:06:00.000Z)"#]].assert_eq(&told(&world));
    world.does(world.failed("a"));
    expect![[r#"
        attempt 1 of the whole run failed; the next begins in 30s (2025-03-15T00:05:30.000Z)
        a: waits for the next attempt of the whole run
        until in 30s (2025-03-15T00:05:30.000Z)"#]]
    .assert_eq(&told(&world));
}
