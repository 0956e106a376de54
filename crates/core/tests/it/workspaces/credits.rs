//! What a job sets aside, spends and gives back.

use expect_test::expect;
use stepwell_core::command::Command;
use stepwell_core::credit::{CreditState, CreditTerms, Credits, Restore};
use stepwell_core::run::RunStatus;
use stepwell_core::step::Outcome;
use stepwell_core::terms::Terms;

use super::{charged, job_with, terms};
use crate::world::{World, failure, named, sequence, somebody, step, success};

fn priced(credits: CreditTerms) -> World {
    let granted = Terms { credits: Some(credits), ..terms(2) };
    job_with(sequence([step("a"), step("b")]), granted)
}

/// The worker reports, and says what it spent.
fn spent(world: &World, id: &str, outcome: Outcome, amount: i64) -> Command {
    let (step, fence, spent) = (named(id), world.fence(id), Credits::whole(amount));
    Command::Report { step, fence, outcome, spent }
}

fn state(reserved: i64, spent: i64) -> Option<CreditState> {
    Some(CreditState { reserved: Credits::whole(reserved), spent: Credits::whole(spent) })
}

// X-127, C-011: set aside at the start, spent step by step, the rest comes back at the end.
#[test]
fn the_estimate_is_set_aside_and_what_is_left_of_it_comes_back() {
    let mut world = priced(charged(10, Restore::Never));
    assert_eq!(world.run.credits, state(10, 0));
    world.does(spent(&world, "a", success(serde_json::json!({})), 4));
    assert_eq!(world.run.credits, state(6, 4));
    world.check(
        spent(&world, "b", success(serde_json::json!({})), 3),
        expect![[r#"
            credits_moved movement={"balance":0,"kind":"spent","reserved":-3000000,"spent":3000000}
            step_succeeded b result={}
            credits_moved movement={"balance":3000000,"kind":"released","reserved":-3000000,"spent":0}
            run_succeeded
            -> ended succeeded"#]],
    );
    assert_eq!(world.run.credits, state(0, 7));
}

// X-127: a failed attempt has cost what it has cost; nothing is given back before the end.
#[test]
fn a_failed_attempt_is_paid_for_and_the_next_one_spends_from_what_is_left() {
    let mut world = priced(charged(10, Restore::Failed));
    world.does(spent(&world, "a", failure(true), 4));
    assert_eq!((world.run.status, world.run.credits), (RunStatus::RetryWait, state(6, 4)));
    world.wakes();
    world.does(spent(&world, "a", failure(true), 9));
    assert_eq!(world.run.status, RunStatus::Failed);
    assert_eq!(world.run.credits, state(0, 0), "it failed for good, and that was agreed");
}

// X-127: when spent credits come back is agreed beforehand.
#[test]
fn spent_credits_come_back_as_agreed() {
    for (restore, after_failure, after_cancel) in [
        (Restore::Never, state(0, 4), state(0, 4)),
        (Restore::Failed, state(0, 0), state(0, 4)),
        (Restore::Unfinished, state(0, 0), state(0, 0)),
    ] {
        let mut failed = priced(charged(10, restore));
        failed.does(spent(&failed, "a", failure(false), 4));
        assert_eq!((failed.run.status, failed.run.credits), (RunStatus::Failed, after_failure));
        let mut cancelled = priced(charged(10, restore));
        cancelled.does(spent(&cancelled, "a", success(serde_json::json!({})), 4));
        cancelled.does(Command::Cancel { mode: None, by: somebody() });
        assert_eq!(cancelled.run.credits, after_cancel, "{restore:?}");
    }
}

// C-011: without an account nothing is set aside, and what is spent is counted all the same.
#[test]
fn what_is_not_charged_is_only_counted() {
    let mut world = priced(CreditTerms { charged: false, ..charged(10, Restore::Never) });
    assert_eq!(world.run.credits, state(0, 0));
    world.does(spent(&world, "a", success(serde_json::json!({})), 4));
    assert_eq!(world.run.credits, state(0, 4));
}

// X-127, X-123: what comes too late is recorded elsewhere and costs nothing here.
#[test]
fn a_stale_report_spends_nothing() {
    let mut world = priced(charged(10, Restore::Never));
    let late = spent(&world, "a", success(serde_json::json!({})), 5);
    world.does(world.failed("a"));
    world.asks(&late).expect_err("the attempt has failed");
    assert_eq!(world.run.credits, state(10, 0));
}
