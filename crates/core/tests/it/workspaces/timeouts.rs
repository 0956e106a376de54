//! A step with a timeout that somebody has set: signs of life keep it, but not beyond.

use expect_test::expect;
use stepwell_core::command::Command;
use stepwell_core::definition::{StepSpec, TimeoutMode};
use stepwell_core::explain::explain;
use stepwell_core::run::RunStatus;

use super::{LEASE_SECS, alive, job_with, terms};
use crate::world::{World, minutes, polled, seconds, sequence, step};

/// A step that may take so many seconds.
fn limited(id: &str, secs: u64) -> StepSpec {
    StepSpec { timeout: seconds(secs), timeout_given: true, ..step(id) }
}

/// A job of three steps, each of which may take two and a half minutes: two leases and a half.
fn limited_job(attempts_max: u32) -> World {
    let steps = ["a", "b", "c"].map(|id| limited(id, 5 * LEASE_SECS / 2));
    job_with(sequence(steps), terms(attempts_max))
}

/// Gives a sign of life every half lease until the run wakes by itself, and says how long that took.
fn keeps_on(world: &mut World, id: &str) -> u64 {
    let began = world.now;
    loop {
        let due = world.run.wake_at().expect("the lease ends");
        let next = world.now.after(seconds(LEASE_SECS / 2));
        if due <= next {
            world.wakes();
            return world.now.since(began).as_secs();
        }
        world.now = next;
        world.does(alive(world, id));
    }
}

fn code(world: &World) -> Option<&str> {
    world.run.error.as_ref().map(|error| error.code.as_str())
}

// X-121: the lease holds to the end of the step's time, the worker is told so, and then the attempt has failed.
#[test]
fn a_lease_holds_no_longer_than_its_step_may_take() {
    let mut world = limited_job(5);
    world.does(world.acked("a"));
    world.pass(seconds(30));
    world.check(alive(&world, "a"), expect!["lease_extended a expires_at=+1m"]);
    world.pass(seconds(45));
    world.check(alive(&world, "a"), expect!["lease_extended a expires_at=+1m"]);
    world.pass(seconds(30));
    world.check(alive(&world, "a"), expect!["lease_extended a expires_at=+45s"]);
    world.pass(seconds(40));
    world.check(alive(&world, "a"), expect!["nothing"]);
    assert_eq!(world.run.wake_at().map(|at| at.since(world.now).as_secs()), Some(5));
    world.pass(seconds(5));
    world.check(
        Command::Wake,
        expect![[r#"
            step_held a error=attempt_timed_out
            run_retry_scheduled error=attempt_timed_out retry_at=+30s"#]],
    );
    let message = world.run.error.as_ref().map(|error| error.message.as_str());
    assert_eq!(message, Some("no result within 150s of the moment a worker took it"));
}

// X-121: what goes on with the answer to a report has all of its own time, from that moment on.
#[test]
fn every_step_and_every_attempt_has_its_own_time() {
    let mut world = limited_job(5);
    world.does(world.acked("a"));
    world.pass(seconds(50));
    world.does(world.succeeded("a"));
    assert_eq!(keeps_on(&mut world, "b"), 150);
    assert_eq!((world.run.status, code(&world)), (RunStatus::RetryWait, Some("attempt_timed_out")));
    world.wakes();
    world.does(world.acked("b"));
    assert_eq!(keeps_on(&mut world, "b"), 150, "the next attempt begins anew");
}

// X-121: a limit shorter than a lease is a limit all the same, for whoever takes the message and for whoever
// goes on.
#[test]
fn a_step_may_take_less_than_a_lease() {
    let steps = sequence([limited("a", 20), limited("b", 20)]);
    let mut world = job_with(steps, terms(5));
    world.check(
        world.acked("a"),
        expect![[r#"
            step_acked a
            lease_extended a expires_at=+20s
            -> withdraw a attempt=1 lease=1"#]],
    );
    world.check(
        world.succeeded("a"),
        expect![[r#"
            step_succeeded a result={}
            step_dispatched b attempt=1 expires_at=+20s lease=next
            step_acked b"#]],
    );
    world.wakes();
    assert_eq!(code(&world), Some("attempt_timed_out"));
}

// X-121: what a message waits for a worker is nobody's fault, and is not counted.
#[test]
fn the_wait_for_a_worker_does_not_count() {
    let mut world = limited_job(5);
    world.pass(minutes(50));
    world.does(world.acked("a"));
    assert_eq!(keeps_on(&mut world, "a"), 150);
}

// X-121: a worker that was silent before is told so, also if somebody looks only after the end of its time.
#[test]
fn silence_is_silence_however_late_somebody_looks() {
    let mut world = limited_job(5);
    world.does(world.acked("a"));
    world.pass(minutes(10));
    world.does(Command::Wake);
    assert_eq!(code(&world), Some("lease_expired"));
}

// X-144: nobody has set these fifteen minutes; a worker that gives signs of life may take longer.
#[test]
fn a_timeout_that_nobody_has_set_does_not_bind_who_gives_signs_of_life() {
    let mut world = job_with(sequence([step("a")]), terms(1));
    world.does(world.acked("a"));
    for _ in 0..60 {
        world.pass(seconds(LEASE_SECS / 2));
        world.does(alive(&world, "a"));
    }
    assert!(world.now.since(world.run.started_at.expect("it began")) > step("a").timeout);
    assert_eq!(world.run.status, RunStatus::Running);
}

// D-044, C-021: a step that may not be tried again after it took too long makes its job dead.
#[test]
fn a_step_that_may_not_take_longer_for_good_ends_its_job() {
    let strict = StepSpec { on_timeout: TimeoutMode::Fail, ..limited("a", 20) };
    let mut world = job_with(sequence([strict, step("b")]), terms(5));
    world.does(world.acked("a"));
    world.pass(seconds(20));
    world.check(
        Command::Wake,
        expect![[r#"
            step_timed_out a error=attempt_timed_out
            step_cancelled b
            run_failed a error=attempt_timed_out
            -> ended failed"#]],
    );
}

// X-030: polling has times of its own, which begin when the worker says that it is not finished.
#[test]
fn polling_is_not_cut_short() {
    let asked = StepSpec { timeout: seconds(90), timeout_given: true, ..polled("a") };
    let mut world = job_with(sequence([asked]), terms(1));
    world.does(world.unfinished("a"));
    world.wakes();
    world.pass(seconds(100));
    world.does(world.succeeded("a"));
    assert_eq!(world.run.status, RunStatus::Succeeded);
}

// X-121: whoever asks is told until when the lease holds, and when signs of life no longer help.
#[test]
fn a_job_says_when_the_time_of_its_step_ends() {
    let mut world = limited_job(5);
    world.does(world.acked("a"));
    world.pass(seconds(30));
    let told = explain(&world.run, world.now);
    expect![[r#"
        the worker of pool "default" that has attempt 1 of the run is at it;
        every sign of life extends its lease, but the 150s that the step may take end in 2m (2025-03-15T00:02:30.000Z)"#]]
    .assert_eq(&told.waits[0].reason.replace("; ", ";\n"));
    assert_eq!(told.waits[0].until.as_deref(), Some("in 30s (2025-03-15T00:01:00.000Z)"));
}
