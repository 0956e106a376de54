//! What will happen, before it does.

use expect_test::{Expect, expect, expect_file};
use serde_json::{Map, Value, json};
use stepwell_core::batch::{BatchCommand, BatchMode, Overdue};
use stepwell_core::decide::At;
use stepwell_core::run::RunStatus;
use stepwell_core::time::Timestamp;
use stepwell_dialects::runbooks::plan::{self, UNSTORED};
use stepwell_dialects::runbooks::rows::MemberRow;
use stepwell_dialects::runbooks::{Runbook, compile};

use super::batch::{BatchWorld, at, made_at, pretty, start};
use super::{MAILBOXES, runbook};
use crate::world::lease;

#[test]
fn a_batch_that_does_not_exist_yet_is_planned_to_the_minute() {
    let runbook = runbook(MAILBOXES);
    let plan = plan::new_batch(&runbook, 3, 20_000, Some(start()), made_at());
    expect_file!["golden/plan.json"].assert_eq(&(pretty(&plan) + "\n"));
}

#[test]
fn a_plan_without_t_0_says_no_times() {
    let runbook = runbook(MAILBOXES);
    let plan = plan::new_batch(&runbook, 3, 1, None, made_at());
    assert!(plan.phases.iter().all(|phase| phase.due_at.is_none()));
}

#[test]
fn the_plan_of_a_batch_counts_who_is_left_for_each_phase() {
    let mut world = BatchWorld::new(BatchMode::Scheduled);
    for number in [7, 8] {
        let member = world.member(number);
        world.count(None, &member.run);
    }
    let plan = plan::batch(&world.batch, &world.runbook, made_at());
    let told: Vec<_> = plan.phases.iter().map(|it| (it.name, it.members, it.dispatches)).collect();
    assert_eq!(told, [("pre-notification", 2, 2), ("prepare", 2, 2), ("cutover", 2, 2)]);
    assert_eq!((plan.totals.members, plan.totals.steps, plan.totals.dispatches), (2, 4, 7));
}

/// A batch in whose first phase both members are.
fn under_way() -> BatchWorld {
    let mut world = BatchWorld::new(BatchMode::Scheduled);
    for number in [7, 8] {
        let member = world.member(number);
        world.count(None, &member.run);
    }
    world.tell(made_at(), &BatchCommand::Check { init: Some(RunStatus::Succeeded) });
    world.tell(at("2026-01-10T08:00:00Z"), &BatchCommand::Check { init: None });
    world
}

fn newer() -> Runbook {
    runbook(&MAILBOXES.replace("offset: T-4h", "offset: T-5d"))
}

#[track_caller]
fn check_publication(overdue: Overdue, rerun_init: bool, expected: Expect) {
    let world = under_way();
    let timeline = compile(&newer(), 4).timeline(UNSTORED);
    let mut fresh = || lease(1).0;
    let now: Timestamp = at("2026-01-10T09:00:00Z");
    let mut moment = At { now, fresh: &mut fresh };
    let told = plan::publication(&world.batch, &timeline, overdue, rerun_init, &mut moment);
    let told = told.unwrap();
    let mut text = format!("{} init {}\n", told.status, told.init);
    for phase in told.phases {
        let from = phase.from.unwrap_or("new");
        let due = phase.due_at.map_or_else(String::new, |due| format!(" at {}", due.0));
        text += &format!("{}@{} {from} -> ", phase.name, phase.runbook_version);
        text += &format!("{}{due}\n", phase.becomes);
    }
    expected.assert_eq(&text);
}

#[test]
fn publishing_with_ignore_lets_what_has_begun_finish_under_its_version() {
    // A-127, A-129, X-073
    check_publication(
        Overdue::Ignore,
        false,
        expect![[r#"
        active init kept
        pre-notification@3 dispatched -> finishes_under_version at 2026-01-10T08:00:00.000Z
        prepare@3 pending -> superseded at 2026-01-15T04:00:00.000Z
        cutover@3 pending -> superseded at 2026-01-15T08:00:00.000Z
        pre-notification@4 new -> skipped at 2026-01-10T08:00:00.000Z
        prepare@4 new -> pending at 2026-01-10T08:00:00.000Z
        cutover@4 new -> pending at 2026-01-15T08:00:00.000Z
    "#]],
    );
}

#[test]
fn publishing_with_rerun_does_everything_that_is_past_due_again() {
    // A-126, A-128, X-073, X-076
    check_publication(
        Overdue::Rerun,
        true,
        expect![[r#"
        active init rerun
        pre-notification@3 dispatched -> superseded at 2026-01-10T08:00:00.000Z
        prepare@3 pending -> superseded at 2026-01-15T04:00:00.000Z
        cutover@3 pending -> superseded at 2026-01-15T08:00:00.000Z
        pre-notification@4 new -> rerun at 2026-01-10T08:00:00.000Z
        prepare@4 new -> pending at 2026-01-10T08:00:00.000Z
        cutover@4 new -> pending at 2026-01-15T08:00:00.000Z
    "#]],
    );
}

#[test]
fn a_manual_batch_stays_with_its_version() {
    // X-077
    let world = BatchWorld::new(BatchMode::Manual);
    let timeline = compile(&newer(), 4).timeline(UNSTORED);
    let mut fresh = || lease(1).0;
    let mut moment = At { now: made_at(), fresh: &mut fresh };
    let told = plan::publication(&world.batch, &timeline, Overdue::Rerun, true, &mut moment);
    assert_eq!(told, None);
}

fn row(key: &str, data: &Value) -> MemberRow {
    let data: Map<String, Value> = data.as_object().unwrap().clone();
    MemberRow { key: key.to_owned(), data }
}

#[test]
fn members_whose_data_leave_a_placeholder_open_are_found_before_anything_starts() {
    // A-074, X-034: an output of an earlier step and what the system provides are known later.
    let whole = json!({
        "UserPrincipalName": "ada@contoso.com", "FirstName": "Ada", "LastName": "Lovelace",
        "ObjectType": "EntraUser",
    });
    let without = |name: &str| {
        let mut data = whole.clone();
        data.as_object_mut().unwrap().remove(name);
        data
    };
    let members = [
        row("ada@contoso.com", &whole),
        row("bob@contoso.com", &without("LastName")),
        row("cyd@contoso.com", &without("LastName")),
        row("dee@contoso.com", &without("ObjectType")),
    ];
    let found = plan::check(&runbook(MAILBOXES), members.into_iter());
    expect![[r#"
        [
          {
            "first_member": "bob@contoso.com",
            "members": 2,
            "message": "unresolved: LastName; there is no such column, output or special variable",
            "phase": "pre-notification",
            "step": "notify"
          },
          {
            "first_member": "dee@contoso.com",
            "members": 1,
            "message": "unresolved: ObjectType; there is no such column, output or special variable",
            "phase": "prepare",
            "step": "create-object"
          }
        ]"#]].assert_eq(&pretty(&found));
}
