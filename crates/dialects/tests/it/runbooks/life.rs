//! The lives of members, decided by the kernel from what a runbook was compiled to.

use std::sync::Arc;

use expect_test::{Expect, expect};
use serde_json::{Map, Value, json};
use stepwell_core::command::Command;
use stepwell_core::definition::{Part, Workflow};
use stepwell_core::effect::Effect;
use stepwell_core::id::Tenant;
use stepwell_core::run::{Dialect, Header, RunStatus};
use stepwell_core::step::{Outcome, StepError};
use stepwell_dialects::runbooks::{SPECIALS, compile};

use super::{MAILBOXES, runbook};
use crate::world::{World, run_id, start};

/// A run of a workflow, with the data of a member.
fn begin(workflow: Workflow, member: &Value) -> World {
    let special = [json!(42), json!("2025-03-15T00:00:00.0000000Z")];
    let special = SPECIALS.iter().map(|name| (*name).to_owned()).zip(special);
    World::start(Header {
        id: run_id(1),
        tenant: Tenant::default_tenant(),
        dialect: Dialect::Runbooks,
        workflow: Arc::new(workflow),
        part: Part::Main,
        parent: None,
        resumes: None,
        input: member.as_object().unwrap().clone(),
        special: special.collect::<Map<_, _>>(),
        context: Map::new(),
        routing: None,
        priority: 0,
        correlation_id: None,
        traceparent: None,
        actor: "scheduler".to_owned(),
        created_at: start(),
        membership: None,
        terms: None,
    })
}

fn member() -> World {
    let data = json!({
        "UserPrincipalName": "ada@contoso.com", "FirstName": "Ada", "LastName": "Lovelace",
        "ObjectType": "EntraUser",
    });
    begin(compile(&runbook(MAILBOXES), 1).member, &data)
}

impl World {
    fn open(&mut self, gate: &str) {
        self.tell(&Command::OpenGate { gate: gate.to_owned() });
    }

    fn succeed(&mut self, step: &str, result: Value) {
        self.report(step, Outcome::Succeeded { result });
    }

    fn fail(&mut self, step: &str) {
        let error = StepError::new("failure", "no");
        self.report(step, Outcome::Failed { error, retryable: true, retry_after: None });
    }

    /// The run that undoes a step, if one was started.
    fn undone(&self) -> Option<Arc<Header>> {
        self.effects.iter().find_map(|effect| match effect {
            Effect::StartRun(header) => Some(Arc::clone(header)),
            _ => None,
        })
    }

    #[track_caller]
    fn check(&self, expected: Expect) {
        let steps = self.run.header.specs().iter().zip(self.run.steps.iter());
        let lines = steps.map(|(spec, step)| format!("{}: {}\n", spec.id, step.status.word()));
        expected.assert_eq(&format!("{}{}\n", lines.collect::<String>(), self.run.status.word()));
    }
}

// X-063, A-066: a member's later phases wait for its earlier ones, however open their gates are.
#[test]
fn a_phase_waits_for_its_gate_and_for_the_phases_before_it() {
    let mut ada = member();
    ada.check(expect![[r#"
        pre-notification@1/notify: waiting
        prepare@1/create-object: waiting
        cutover@1/start-mailbox-move: waiting
        ready
    "#]]);
    ada.open("pre-notification@1");
    ada.open("prepare@1");
    ada.check(expect![[r#"
        pre-notification@1/notify: dispatched
        prepare@1/create-object: waiting
        cutover@1/start-mailbox-move: waiting
        running
    "#]]);
    ada.succeed("pre-notification@1/notify", json!(true));
    ada.check(expect![[r#"
        pre-notification@1/notify: succeeded
        prepare@1/create-object: dispatched
        cutover@1/start-mailbox-move: waiting
        running
    "#]]);
    ada.succeed("prepare@1/create-object", json!({"data": {"UserId": "u-1"}}));
    ada.check(expect![[r#"
        pre-notification@1/notify: succeeded
        prepare@1/create-object: succeeded
        cutover@1/start-mailbox-move: waiting
        running
    "#]]);
}

// X-064: whoever comes late finds several gates open, and takes them in the order of the timeline.
#[test]
fn a_late_joiner_ends_where_an_early_one_does() {
    let mut late = member();
    for gate in ["cutover@1", "prepare@1", "pre-notification@1"] {
        late.open(gate);
    }
    late.succeed("pre-notification@1/notify", json!(true));
    late.succeed("prepare@1/create-object", json!({"complete": true, "data": {"UserId": "u-1"}}));
    late.succeed("cutover@1/start-mailbox-move", json!({"complete": true}));
    late.check(expect![[r#"
        pre-notification@1/notify: succeeded
        prepare@1/create-object: succeeded
        cutover@1/start-mailbox-move: succeeded
        succeeded
    "#]]);
}

// A-073, A-076, X-034: each step is filled in when its turn has come.
#[test]
fn a_step_is_given_the_member_and_what_earlier_steps_set() {
    let mut ada = member();
    for gate in ["pre-notification@1", "prepare@1", "cutover@1"] {
        ada.open(gate);
    }
    ada.succeed("pre-notification@1/notify", json!(true));
    ada.succeed("prepare@1/create-object", json!({"complete": true, "data": {"UserId": "u-1"}}));
    let given: Vec<String> = (0..3)
        .map(|position| {
            let step = &ada.run.steps[position];
            let spec = &ada.run.header.specs()[position];
            let kind = step.kind.as_deref().unwrap_or(&spec.kind);
            format!("{kind} {}\n", step.params.as_deref().unwrap())
        })
        .collect();
    expect![[r#"
        Send-Mail {"Email":"ada@contoso.com","Name":"Ada Lovelace"}
        New-EntraUser {"DisplayName":"Ada"}
        Start-MailboxMove {"Batch":42,"UserId":"u-1"}
    "#]]
    .assert_eq(&given.concat());
}

// A-068, A-106, A-110: only the last retry fails the member, and then all that was to come.
#[test]
fn a_step_that_fails_for_good_ends_the_way_of_its_member() {
    let mut ada = member();
    ada.open("pre-notification@1");
    for attempt in 1..=4 {
        assert_eq!(ada.run.status, RunStatus::Running, "attempt {attempt} of 4");
        ada.fail("pre-notification@1/notify");
        ada.wait_secs(30);
        if attempt < 4 {
            ada.tell(&Command::Wake);
        }
    }
    ada.check(expect![[r#"
        pre-notification@1/notify: failed
        prepare@1/create-object: cancelled
        cutover@1/start-mailbox-move: cancelled
        failed
    "#]]);
    // A-111: it names no rollback.
    assert!(ada.undone().is_none());
}

// A-097, A-107, A-108, X-002: a poll that takes too long is undone and never tried again.
#[test]
fn a_rollback_runs_in_order_with_the_data_of_the_member() {
    let mut ada = member();
    for gate in ["pre-notification@1", "prepare@1", "cutover@1"] {
        ada.open(gate);
    }
    ada.succeed("pre-notification@1/notify", json!(true));
    ada.succeed("prepare@1/create-object", json!({"data": {"UserId": "u-1"}}));
    ada.report("cutover@1/start-mailbox-move", Outcome::Incomplete);
    ada.wait_secs(24 * 60 * 60 + 1);
    ada.tell(&Command::Wake);
    ada.check(expect![[r#"
        pre-notification@1/notify: succeeded
        prepare@1/create-object: succeeded
        cutover@1/start-mailbox-move: timed_out
        failed
    "#]]);
    let mut undo = World::start(Header::clone(&ada.undone().unwrap()));
    undo.check(expect![[r#"
        revert-mailbox: dispatched
        notify-admin: waiting
        running
    "#]]);
    undo.succeed("revert-mailbox", json!(true));
    let params = undo.run.steps[1].params.as_deref().unwrap();
    assert_eq!(params, &json!({"Subject": "Rollback triggered for ada@contoso.com in 42"}));
}

// X-035: a variable that nobody has fails the member, and no worker hears of it.
#[test]
fn a_column_that_is_missing_fails_the_member_and_is_not_tried_again() {
    let mut ada = begin(compile(&runbook(MAILBOXES), 1).member, &json!({"FirstName": "Ada"}));
    ada.open("pre-notification@1");
    ada.check(expect![[r#"
        pre-notification@1/notify: failed
        prepare@1/create-object: cancelled
        cutover@1/start-mailbox-move: cancelled
        failed
    "#]]);
    let error = ada.run.steps[0].error.as_deref().unwrap();
    assert_eq!(error.code, "template_unresolved");
    assert_eq!(ada.run.steps[0].attempt, 0);
}

// A-054, A-057, A-058, X-071: one at a time, with special variables; a failure cancels the rest.
#[test]
fn init_runs_once_for_a_batch_and_stops_at_its_first_failure() {
    let text = MAILBOXES.replace(
        "phases:\n",
        "  - {name: second, worker_id: w, function: F}\n  - {name: third, worker_id: w, function: F}\nphases:\n",
    );
    let mut init = begin(compile(&runbook(&text), 1).init.unwrap(), &json!({}));
    let params = init.run.steps[0].params.as_deref().unwrap();
    assert_eq!(params, &json!({"BatchId": 42, "StartTime": "2025-03-15T00:00:00.0000000Z"}));
    init.check(expect![[r#"
        create-batch-group: dispatched
        second: waiting
        third: waiting
        running
    "#]]);
    init.succeed("create-batch-group", json!(true));
    for _ in 0..3 {
        init.fail("second");
        init.wait_secs(60);
        if !init.run.status.is_terminal() {
            init.tell(&Command::Wake);
        }
    }
    init.check(expect![[r#"
        create-batch-group: succeeded
        second: failed
        third: cancelled
        failed
    "#]]);
}
