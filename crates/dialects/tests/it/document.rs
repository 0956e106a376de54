//! What a sound workflow document becomes.

use expect_test::{Expect, expect};
use stepwell_core::definition::{CancelMode, FailureMode, TimeoutMode, Workflow};
use stepwell_core::duration::Interval;
use stepwell_core::retry::{Delay, RetryPolicy};

use crate::world::workflow;

/// Each step with what it comes after.
fn edges(workflow: &Workflow) -> String {
    let id = |position: usize| workflow.steps[position].id.as_str();
    let line = |position: usize| {
        let after = &workflow.steps[position].after;
        let before: Vec<&str> = after.iter().map(|step| id(step.position())).collect();
        format!("{}: [{}]", id(position), before.join(", "))
    };
    (0..workflow.steps.len()).map(line).collect::<Vec<_>>().join("; ")
}

#[track_caller]
fn check_edges(steps: &str, expected: Expect) {
    let text = format!("name: a\nsteps: [{steps}]");
    expected.assert_eq(&edges(&workflow(&text)));
}

fn secs(secs: u64) -> Interval {
    Interval::from_secs(secs)
}

#[test]
fn a_short_document_has_sensible_defaults() {
    // D-048, X-144: three attempts and 15 minutes for each, unless the document says otherwise.
    let workflow = workflow("name: a\nsteps: [{id: one, type: T, pool: p}]");
    assert_eq!(workflow.version, 0, "whoever stores it counts");
    assert_eq!(workflow.cancel, CancelMode::Drain);
    assert_eq!(workflow.failure, FailureMode::SkipDescendants);
    assert_eq!((workflow.run_retry.as_ref(), workflow.request_type.as_ref()), (None, None));
    let step = &workflow.steps[0];
    assert_eq!((step.kind.as_str(), step.pool.as_str()), ("T", "p"));
    assert_eq!(step.retry, RetryPolicy::fixed(3, Interval::ZERO));
    assert_eq!((step.timeout, step.kept_max()), (secs(15 * 60), None), "nobody has set it");
    assert_eq!(step.on_timeout, TimeoutMode::Republish);
    assert_eq!((step.params.as_ref(), step.gate.as_ref(), step.poll), (None, None, None));
    assert!(!step.continue_on_failure);
}

#[test]
fn timeout_and_retry_are_set_for_a_document_and_replaced_by_a_step() {
    // D-047, D-049: policies are configuration, of the document and of each step.
    let workflow = workflow(
        "
name: a
timeout: 1h
retry: {max_attempts: 7, interval: 5s, jitter: 50%}
steps:
  - {id: one, type: T, pool: p}
  - {id: two, type: T, pool: p, timeout: 90s, on_timeout: fail, retry: {interval: 1m}}
",
    );
    let [one, two] = workflow.steps.as_slice() else { panic!("two steps") };
    assert_eq!((one.timeout, one.on_timeout), (secs(3600), TimeoutMode::Republish));
    let delay = Delay::Fixed(secs(5));
    assert_eq!(one.retry, RetryPolicy { attempts_max: 7, delay, jitter_percent: 50 });
    assert_eq!((two.timeout, two.on_timeout), (secs(90), TimeoutMode::Fail));
    assert_eq!((one.kept_max(), two.kept_max()), (Some(secs(3600)), Some(secs(90))));
    assert_eq!(two.retry, RetryPolicy::fixed(3, secs(60)), "the step's own policy, whole");
}

#[test]
fn one_policy_object_says_fixed_listed_and_growing_delays() {
    // X-154: max_attempts, delays or interval, cap and jitter, for a step and for a whole run.
    let workflow = workflow(
        "
name: a
run_retry: {max_attempts: 5, delays: [30s, 2m, 10m, 30m], jitter: 10%}
steps:
  - {id: one, type: T, pool: p, retry: {max_attempts: 9, exponential: {first: 1s, factor: 3, cap: 5m}}}
  - {id: two, type: T, pool: p, retry: {exponential: {first: 2h}}}
",
    );
    let listed = Delay::List(vec![secs(30), secs(120), secs(600), secs(1800)]);
    let run_retry = RetryPolicy { attempts_max: 5, delay: listed, jitter_percent: 10 };
    assert_eq!(workflow.run_retry, Some(run_retry));
    let growing = Delay::Exponential { first: secs(1), factor: 3, cap: secs(300) };
    assert_eq!(workflow.steps[0].retry.delay, growing);
    assert_eq!(workflow.steps[0].retry.attempts_max, 9);
    let growing = Delay::Exponential { first: secs(7200), factor: 2, cap: secs(7200) };
    assert_eq!(workflow.steps[1].retry.delay, growing, "no cap lies below the first delay");
}

#[test]
fn steps_follow_one_another_until_one_of_them_says_after() {
    // D-019, D-020: an ordered list, unless the document explicitly runs steps in parallel.
    let step = |id: &str, more: &str| format!("{{id: {id}, type: T, pool: p{more}}}");
    let three = [step("a", ""), step("b", ""), step("c", "")].join(", ");
    check_edges(&three, expect!["a: []; b: [a]; c: [b]"]);
    let fan = [step("a", ""), step("b", ""), step("c", ", after: [a, b]")].join(", ");
    check_edges(&fan, expect!["a: []; b: []; c: [a, b]"]);
    let at_once = [step("a", ", after: []"), step("b", ""), step("c", "")].join(", ");
    check_edges(&at_once, expect!["a: []; b: []; c: []"]);
    let backward = [step("a", ", after: [b]"), step("b", "")].join(", ");
    check_edges(&backward, expect!["a: [b]; b: []"]);
}

#[test]
fn everything_a_document_can_say_is_kept() {
    let workflow = workflow(
        "
name: move
description: Moves a mailbox.
request_type: mailbox/move:v2
cancel: immediate
on_step_failure: cancel_rest
steps:
  - id: copy
    type: 'mailbox.{{flavor}}'
    service: exchange
    params: {to: '{{target}}', depth: 3, deep: [null, true]}
    outputs: {items: copied.items, first: 0}
    gate: approval
    poll: {interval: 30s, timeout: 2h}
    on_failure: undo
    continue_on_failure: true
compensations:
  undo:
    - {id: back, type: U, pool: exchange, outputs: {ticket: id}}
    - {id: tell, type: V, pool: mail, params: {ticket: '{{ticket}}'}, poll: {interval: 1s, timeout: 1s}}
",
    );
    assert_eq!(workflow.request_type.as_deref(), Some("mailbox/move:v2"));
    assert_eq!(workflow.description, "Moves a mailbox.");
    assert_eq!(workflow.cancel, CancelMode::Immediate);
    assert_eq!(workflow.failure, FailureMode::CancelRest);
    let step = &workflow.steps[0];
    assert_eq!(step.kind, "mailbox.{{flavor}}");
    assert_eq!(step.pool, "exchange", "service is another name for pool");
    expect![[r#"{"deep":[null,true],"depth":3,"to":"{{target}}"}"#]]
        .assert_eq(&step.params.as_ref().unwrap().to_string());
    expect![[r#"{"first": "0", "items": "copied.items"}"#]]
        .assert_eq(&format!("{:?}", step.outputs));
    assert_eq!(step.gate.as_deref(), Some("approval"));
    let poll = step.poll.unwrap();
    assert_eq!((poll.interval, poll.timeout), (secs(30), secs(7200)));
    assert_eq!(step.on_failure.as_deref(), Some("undo"));
    assert!(step.continue_on_failure);
    let undo = &workflow.compensations["undo"];
    assert_eq!(undo[1].after.len(), 1, "a compensation is a sequence");
    assert_eq!(undo[1].id, "tell");
}

#[test]
fn a_placeholder_may_use_whatever_is_known_before_its_step() {
    workflow(
        "
name: a
input_schema: {properties: {name: {type: string}}}
steps:
  - {id: one, type: T, pool: p, params: '{{name}} {{NAME}} {{name.first}} {{_job_id}}', outputs: {x: x}}
  - {id: two, type: 'T{{x}}', pool: p, params: ['{{x.y.0}}'], outputs: {y: y}}
  - {id: three, type: T, pool: p, params: {a: '{{x}}', b: '{{y}}'}, on_failure: undo}
compensations:
  undo: [{id: one, type: T, pool: p, params: '{{name}} {{x}} {{y}} {{_tenant_id}}'}]
",
    );
    let open = "name: a\nsteps: [{id: one, type: T, pool: p, params: '{{anything}}'}]";
    workflow(open);
    let composed = "
name: a
input_schema: {properties: {a: {}}, allOf: [{properties: {b: {}}}]}
steps: [{id: one, type: T, pool: p, params: '{{b}}'}]
";
    workflow(composed);
}

#[test]
fn a_thousand_steps_are_read() {
    let steps: Vec<String> =
        (0..1_000).map(|n| format!("  - {{id: s{n}, type: T, pool: p}}\n")).collect();
    let workflow = workflow(&format!("name: a\nsteps:\n{}", steps.concat()));
    assert_eq!(workflow.steps.len(), 1_000);
    assert_eq!(workflow.steps[999].after.len(), 1);
}
