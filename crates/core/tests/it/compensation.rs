//! What undoes a step that failed for good: a run of its own.

use expect_test::expect;
use serde_json::json;
use stepwell_core::command::Command;
use stepwell_core::definition::{Part, StepSpec, Workflow};
use stepwell_core::effect::Effect;
use stepwell_core::id::StepIndex;
use stepwell_core::run::{Header, Parent};
use stepwell_core::step::StepStatus;

use crate::world::{World, chained, minutes, once, polled, sequence, start, step, success, undone};

/// A workflow that undoes its failed steps with `revert`, then `notify`.
fn undoing<const N: usize>(steps: [StepSpec; N]) -> Workflow {
    let mut workflow = sequence(steps);
    let revert = StepSpec { params: Some(json!({ "who": "{{name}}" })), ..once("revert") };
    workflow.compensations.insert("undo".to_owned(), chained(vec![revert, once("notify")]));
    workflow
}

/// The header of the run that undoes the failed step.
#[track_caller]
fn undoing_run(effects: &[Effect]) -> Header {
    let started = effects.iter().find_map(|effect| match effect {
        Effect::StartRun(header) => Some(Header::clone(header)),
        Effect::Publish(_) | Effect::Withdraw(_) | Effect::Ended { .. } => None,
    });
    started.expect("a compensation was started")
}

// X-001, X-002, A-107, A-110: the undo is a run of its own, started with the failure; the step stays
// failed, says by which run it is undone, and neither it nor its run waits for that.
#[test]
fn a_step_that_failed_for_good_starts_the_run_that_undoes_it_and_stays_failed() {
    let mut world = World::started(undoing([undone(once("a")), step("b")]));
    world.check(
        world.failed("a"),
        expect![[r#"
            step_failed a error=broken
            compensation_started a run=2
            step_skipped b reason=dependency
            run_failed a error=broken
            -> withdraw a attempt=1 lease=1
            -> start_run undo run=2
            -> ended failed"#]],
    );
    assert_eq!(world.step("a").status, StepStatus::Failed);
    assert_eq!(world.step("a").compensation.map(|run| run.as_u128()), Some(2));
}

// A-109, X-002: strictly in the listed order, one after another.
#[test]
fn the_steps_of_a_compensation_follow_one_another() {
    let mut world = World::started(undoing([undone(once("a"))]));
    let decision = world.does(world.failed("a"));
    let header = undoing_run(&decision.effects);
    assert_eq!(header.part, Part::Compensation("undo".to_owned()));
    assert_eq!(header.parent, Some(Parent { run: world.run.id(), step: StepIndex(0) }));
    let mut undo = World::of_header(header);
    undo.check(
        start(),
        expect![[r#"
            run_started
            step_dispatched revert attempt=1 expires_at=+15m lease=1 params={"who":"ada"}
            -> publish revert attempt=1 lease=1"#]],
    );
    undo.check(
        undo.succeeded("revert"),
        expect![[r#"
            step_succeeded revert result={}
            step_dispatched notify attempt=1 expires_at=+15m lease=2
            -> withdraw revert attempt=1 lease=1
            -> publish notify attempt=1 lease=2"#]],
    );
    undo.check(
        undo.succeeded("notify"),
        expect![[r#"
            step_succeeded notify result={}
            run_succeeded
            -> withdraw notify attempt=1 lease=2
            -> ended succeeded"#]],
    );
}

// X-002: how the undo ends is its own affair.
#[test]
fn a_compensation_that_fails_changes_nothing_of_the_run_it_undoes() {
    let mut world = World::started(undoing([undone(once("a"))]));
    let decision = world.does(world.failed("a"));
    let ended = world.run.clone();
    let mut undo = World::of_header(undoing_run(&decision.effects));
    undo.does(start());
    undo.check(
        undo.failed("revert"),
        expect![[r#"
            step_failed revert error=broken
            step_skipped notify reason=dependency
            run_failed revert error=broken
            -> withdraw revert attempt=1 lease=1
            -> ended failed"#]],
    );
    assert_eq!(world.run, ended);
}

// A-106: only the last failure is undone.
#[test]
fn nothing_is_undone_while_attempts_remain() {
    let mut world = World::started(undoing([undone(step("a"))]));
    for _ in 0..2 {
        let decision = world.does(world.failed("a"));
        assert_eq!(decision.effects.len(), 1, "the directive is withdrawn, and that is all");
        assert_eq!(world.step("a").compensation, None);
        world.wakes();
    }
    let decision = world.does(world.failed("a"));
    undoing_run(&decision.effects);
}

// A-107, A-110: polling that took too long is undone too, and stays what it is.
#[test]
fn a_step_whose_polling_took_too_long_is_undone() {
    let mut world = World::started(undoing([undone(polled("a"))]));
    world.does(world.unfinished("a"));
    world.pass(minutes(10));
    world.check(
        Command::Wake,
        expect![[r#"
            step_timed_out a error=poll_timed_out
            compensation_started a run=2
            run_failed a error=poll_timed_out
            -> start_run undo run=2
            -> ended failed"#]],
    );
    assert_eq!(world.step("a").status, StepStatus::TimedOut);
}

// A-111: without a compensation nothing follows.
#[test]
fn a_step_that_names_no_compensation_is_not_undone() {
    let mut world = World::started(undoing([once("a")]));
    world.check(
        world.failed("a"),
        expect![[r#"
            step_failed a error=broken
            run_failed a error=broken
            -> withdraw a attempt=1 lease=1
            -> ended failed"#]],
    );
}

// A-112: the other steps of the run, and the runs of others, are not undone with it.
#[test]
fn only_the_failed_step_is_undone() {
    let mut world = World::started(undoing([undone(step("a")), undone(once("b"))]));
    let mut neighbor = World::started(undoing([undone(step("a")), undone(once("b"))]));
    neighbor.does(neighbor.succeeded("a"));
    world.does(world.succeeded("a"));
    let decision = world.does(world.failed("b"));
    assert_eq!(undoing_run(&decision.effects).parent.unwrap().step, StepIndex(1));
    assert_eq!(world.step("a").compensation, None);
    neighbor.check_status(expect!["running; a succeeded #1; b dispatched #1"]);
}

// A-108: what a compensation refers to is what the run was given, and what its steps have set.
#[test]
fn a_compensation_sees_the_input_and_the_outputs_so_far() {
    let outputs = [("name".to_owned(), "renamed".to_owned())].into();
    let first = StepSpec { outputs, ..step("a") };
    let mut world = World::started(undoing([first, undone(once("b"))]));
    world.does(world.reported("a", success(json!({ "renamed": "eve" }))));
    let decision = world.does(world.failed("b"));
    let header = undoing_run(&decision.effects);
    assert_eq!(header.special, world.run.header.special);
    let mut undo = World::of_header(header);
    undo.does(start());
    assert_eq!(undo.step("revert").params.as_deref(), Some(&json!({ "who": "eve" })));
}
