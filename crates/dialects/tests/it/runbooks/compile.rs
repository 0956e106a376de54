//! What the kernel runs for a runbook.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use stepwell_core::definition::{CancelMode, FailureMode, StepSpec, TimeoutMode, Workflow};
use stepwell_core::duration::Interval;
use stepwell_core::id::StepIndex;
use stepwell_core::retry::RetryPolicy;
use stepwell_dialects::runbooks::compile::{Origin, Sequence, TIMEOUT_DEFAULT};
use stepwell_dialects::runbooks::{Compiled, compile};

use super::{HEAD, MAILBOXES, reading, runbook, with_steps};

fn compiled(text: &str) -> Compiled {
    compile(&reading(text).runbook, 3)
}

/// A step as one line: its id, its gate, who does what, and what it comes after.
fn shown(step: &StepSpec) -> String {
    let gate = step.gate.as_ref().map_or_else(String::new, |gate| format!(" behind {gate}"));
    let after: Vec<String> = step.after.iter().map(|before| before.0.to_string()).collect();
    let undo = step.on_failure.as_ref().map_or_else(String::new, |name| format!(" or {name}"));
    format!(
        "{}{gate}: {} by {}, tries {}, after [{}]{undo}",
        step.id,
        step.kind,
        step.pool,
        step.retry.attempts_max,
        after.join(", ")
    )
}

#[track_caller]
fn check(workflow: &Workflow, expected: Expect) {
    let mut text = format!("{} v{}\n", workflow.name, workflow.version);
    for step in &workflow.steps {
        writeln!(text, "  {}", shown(step)).unwrap();
    }
    for (name, steps) in &workflow.compensations {
        writeln!(text, "undo {name}").unwrap();
        for step in steps {
            writeln!(text, "  {}", shown(step)).unwrap();
        }
    }
    expected.assert_eq(&text);
}

// A-104: worker_id is the pool, function the kind, and n retries are n + 1 attempts.
#[test]
fn a_member_goes_through_all_steps_of_all_phases_behind_their_gates() {
    check(
        &compiled(MAILBOXES).member,
        expect![[r#"
            runbook-member:contoso-mailbox-migration v3
              pre-notification@3/notify behind pre-notification@3: Send-Mail by worker-01, tries 4, after []
              prepare@3/create-object behind prepare@3: New-{{ObjectType}} by worker-01, tries 1, after [0]
              cutover@3/start-mailbox-move behind cutover@3: Start-MailboxMove by worker-02, tries 3, after [1] or undo-mailbox-move@3
            undo undo-mailbox-move@3
              revert-mailbox: Undo-MailboxMove by worker-01, tries 3, after []
              notify-admin: Send-AdminAlert by worker-01, tries 3, after [0]
        "#]],
    );
}

// A-054: strictly one at a time; and what undoes it comes along.
#[test]
fn init_is_a_workflow_of_its_own() {
    let text = format!(
        "{}init:
  - {{name: group, worker_id: w, function: New-Group, on_failure: undo-init}}
  - {{name: tell, worker_id: w, function: Send-Mail}}
rollbacks:
  undo-init: [{{name: u, worker_id: w, function: Remove-Group}}]
  undo-step: [{{name: u, worker_id: w, function: Undo}}]\n",
        with_steps("{name: s, worker_id: w, function: F, on_failure: undo-step}")
    );
    let compiled = compiled(&text);
    check(
        compiled.init.as_ref().unwrap(),
        expect![[r#"
            runbook-init:a v3
              group: New-Group by w, tries 1, after [] or undo-init@3
              tell: Send-Mail by w, tries 1, after [0]
            undo undo-init@3
              u: Remove-Group by w, tries 1, after []
        "#]],
    );
    assert_eq!(compiled.removal, None);
    assert_eq!(compiled.member.compensations.len(), 2, "an operator may call for any of them");
}

// X-068: one after another.
#[test]
fn what_follows_a_removal_is_a_workflow_of_its_own() {
    let text = format!(
        "{}on_member_removed:
  - {{name: block, worker_id: w, function: Block}}
  - {{name: tell, worker_id: w, function: Tell}}\n",
        with_steps("{name: s, worker_id: w, function: F}")
    );
    let compiled = compiled(&text);
    check(
        compiled.removal.as_ref().unwrap(),
        expect![[r#"
            runbook-removal:a v3
              block: Block by w, tries 1, after []
              tell: Tell by w, tries 1, after [0]
        "#]],
    );
    assert_eq!(compiled.init, None, "there is nothing to prepare");
}

// X-078
#[test]
fn every_phase_knows_its_part_of_the_way() {
    let phases = compiled(
        &format!("{HEAD}phases:
- {{name: after, offset: T+1d, steps: [{{name: s, worker_id: w, function: F}}]}}
- {{name: before, offset: T-1d, steps: [{{name: s, worker_id: w, function: F}}, {{name: t, worker_id: w, function: F}}]}}
"),
    )
    .phases;
    let shown: Vec<String> = phases
        .iter()
        .map(|phase| {
            format!(
                "{} {} gate {} from {} for {}",
                phase.name, phase.offset, phase.gate, phase.first_step.0, phase.steps
            )
        })
        .collect();
    assert_eq!(
        shown,
        ["before T-1d gate before@3 from 0 for 2", "after T+1d gate after@3 from 2 for 1"]
    );
    let [before, after] = phases.as_slice() else { panic!("two phases") };
    assert_eq!(before.index_of(StepIndex(1)), Some(1));
    assert_eq!(after.index_of(StepIndex(2)), Some(0));
    assert!(!before.has(StepIndex(2)) && !after.has(StepIndex(1)) && !after.has(StepIndex(3)));
}

// X-025, X-152
#[test]
fn the_policies_of_a_runbook_are_those_of_its_runs() {
    let compiled = compile(&runbook(MAILBOXES), 3);
    let member = &compiled.member;
    assert_eq!(member.cancel, CancelMode::Immediate);
    assert_eq!(member.failure, FailureMode::CancelRest);
    assert_eq!((member.run_retry.as_ref(), member.request_type.as_ref()), (None, None));
    let [notify, create, move_step] = member.steps.as_slice() else { panic!("three steps") };
    assert_eq!(notify.retry, RetryPolicy::fixed(4, Interval::from_secs(30)));
    assert_eq!(create.retry.attempts_max, 1, "max_retries: 0 means once");
    assert_eq!(create.outputs["NewUserId"], "UserId");
    let poll = move_step.poll.unwrap();
    assert_eq!((poll.interval.as_secs(), poll.timeout.as_secs()), (900, 86_400));
    assert_eq!(move_step.timeout, TIMEOUT_DEFAULT);
    assert_eq!(move_step.on_timeout, TimeoutMode::Republish);
    let own = with_steps("{name: s, worker_id: w, function: F, timeout: 5m}");
    let step = &self::compiled(&own).member.steps[0];
    assert_eq!(step.timeout, Interval::from_secs(300));
    assert_eq!(step.params, Some(serde_json::json!({})), "never the whole row of the member");
}

#[test]
fn steps_of_the_same_name_have_ids_of_their_own() {
    let step = "{name: 'copy [EU]', worker_id: w, function: F}";
    let compiled = compiled(&format!(
        "{HEAD}phases:
- {{name: a, offset: T-0, steps: [{step}, {step}]}}
- {{name: 'a/b', offset: T-0, steps: [{{name: c, worker_id: w, function: F}}]}}
- {{name: b, offset: T-0, steps: [{step}]}}
"
    ));
    let ids: Vec<&str> = compiled.member.steps.iter().map(|step| step.id.as_str()).collect();
    assert_eq!(ids, ["a@3/copy (EU)", "a@3/copy (EU)#2", "a/b@3/c", "b@3/copy (EU)"]);
}

#[test]
fn the_workflow_of_a_run_says_which_runbook_it_belongs_to() {
    for sequence in [Sequence::Member, Sequence::Init, Sequence::Removal] {
        let name = sequence.workflow_name("wave: 1");
        let origin = Origin { sequence, runbook: "wave: 1", earlier: Vec::new() };
        assert_eq!(Sequence::of_workflow_name(&name), Some(origin));
    }
    assert_eq!(Sequence::of_workflow_name("document-intake"), None);
}
