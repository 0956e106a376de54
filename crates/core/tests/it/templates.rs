//! Placeholders are filled in at a step's first dispatch, once.

use expect_test::expect;
use serde_json::{Value, json};
use stepwell_core::definition::{FailureMode, StepSpec, Workflow};
use stepwell_core::step::StepStatus;

use crate::world::{
    World, after, behind, graph, open_gate, pause, polled, resume, sequence, start, step, success,
    undone,
};

fn with_params(params: Value, step: StepSpec) -> StepSpec {
    StepSpec { params: Some(params), ..step }
}

fn giving(variable: &str, path: &str, step: StepSpec) -> StepSpec {
    StepSpec { outputs: [(variable.to_owned(), path.to_owned())].into(), ..step }
}

// X-034: resolved when the step is dispatched, so that it sees what the steps before it have set.
#[test]
fn a_step_sees_the_outputs_of_the_steps_before_it() {
    let first = giving("ticket", "id", step("a"));
    let second = with_params(json!({ "ticket": "{{ticket}}", "for": "{{name}}" }), step("b"));
    let mut world = World::started(sequence([first, second]));
    world.check(
        world.reported("a", success(json!({ "id": 7 }))),
        expect![[r#"
            step_succeeded a result={"id":7}
            step_dispatched b attempt=1 expires_at=+15m lease=2 params={"for":"ada","ticket":7}
            -> withdraw a attempt=1 lease=1
            -> publish b attempt=1 lease=2"#]],
    );
}

// X-034: frozen; polls and later attempts get the same, whatever was set since.
#[test]
fn params_are_frozen_at_the_first_dispatch() {
    let first = with_params(json!({ "ticket": "{{name}}" }), polled("a"));
    let second = giving("name", "name", step("b"));
    let mut world = World::started(graph(vec![first, second]));
    world.does(world.reported("b", success(json!({ "name": "eve" }))));
    assert_eq!(world.run.outputs["name"], json!("eve"));
    world.does(world.unfinished("a"));
    world.wakes();
    world.does(world.failed("a"));
    world.wakes();
    assert_eq!(world.step("a").attempt, 2);
    assert_eq!(world.step("a").params.as_deref(), Some(&json!({ "ticket": "ada" })));
}

// X-035: final, because another attempt would find the same variables missing; and undone.
#[test]
fn a_name_that_nothing_has_fails_the_step_without_an_attempt() {
    let lost = undone(with_params(json!({ "to": "{{mail}}" }), step("a")));
    let mut workflow = sequence([lost, step("b")]);
    workflow.compensations.insert("undo".to_owned(), vec![step("revert")]);
    let mut world = World::of(workflow);
    world.check(
        start(),
        expect![[r#"
            run_started
            step_failed a error=template_unresolved
            compensation_started a run=1
            step_skipped b reason=dependency
            run_failed a error=template_unresolved
            -> start_run undo run=1
            -> ended failed"#]],
    );
    let error = world.step("a").error.as_deref().unwrap();
    assert_eq!(error.code, "template_unresolved");
    assert!(error.message.contains("mail"), "{}", error.message);
}

// X-035: also when the step was not the first, and everything else is then cancelled.
#[test]
fn a_name_that_a_result_did_not_bring_fails_the_step_that_needs_it() {
    let first = giving("ticket", "id", step("a"));
    let second = with_params(json!("{{ticket}}"), step("b"));
    let workflow = graph(vec![first, after(&[0], second), step("c")]);
    let mut world = World::started(Workflow { failure: FailureMode::CancelRest, ..workflow });
    world.check(
        world.reported("a", success(json!({ "number": 7 }))),
        expect![[r#"
            step_succeeded a result={"number":7} unset=["ticket"]
            step_failed b error=template_unresolved
            step_cancelled c
            run_failed b error=template_unresolved
            -> withdraw a attempt=1 lease=1
            -> withdraw c attempt=1 lease=2
            -> ended failed"#]],
    );
}

#[test]
fn a_kind_may_hold_placeholders_too() {
    let mut world = World::of(sequence([StepSpec { kind: "greet-{{name}}".into(), ..step("a") }]));
    world.check(
        start(),
        expect![[r#"
            run_started
            step_dispatched a attempt=1 expires_at=+15m kind=greet-ada lease=1
            -> publish a attempt=1 lease=1"#]],
    );
}

#[test]
fn a_step_that_fails_at_its_dispatch_lets_go_on_what_may() {
    let lost = with_params(json!("{{mail}}"), step("a"));
    let lenient = StepSpec { continue_on_failure: true, ..lost };
    let mut world = World::of(sequence([behind("go", lenient), step("b")]));
    world.does(start());
    world.check(
        open_gate("go"),
        expect![[r#"
            gate_opened gate=go
            step_failed a error=template_unresolved
            step_dispatched b attempt=1 expires_at=+15m lease=1
            -> publish b attempt=1 lease=1"#]],
    );
}

#[test]
fn a_step_that_was_ready_during_a_pause_is_resolved_at_the_resume() {
    let lost = with_params(json!("{{mail}}"), step("a"));
    let mut world = World::of(sequence([lost]));
    world.does(pause());
    world.does(start());
    assert_eq!(world.step("a").status, StepStatus::Ready);
    world.check(
        resume(),
        expect![[r#"
            run_resumed
            step_failed a error=template_unresolved
            run_failed a error=template_unresolved
            -> ended failed"#]],
    );
}
