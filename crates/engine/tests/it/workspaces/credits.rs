//! The account of a workspace, moved with every decision.

use std::time::Duration;

use stepwell_core::command::{Act, Command};
use stepwell_core::credit::{Credits, MovementKind, Restore};
use stepwell_core::id::RunId;
use stepwell_core::run::RunStatus;
use stepwell_engine::EngineError;
use stepwell_store::{Account, Grant};

use super::{acme, create, done, priced, stores, take, try_create, world_on};
use crate::world::{World, failure};

pub(super) async fn grant(world: &World, amount: i64) {
    let grant = Grant {
        tenant: acme(),
        amount: Credits::whole(amount),
        actor: "admin".to_owned(),
        reason: "monthly".to_owned(),
        key: None,
        at: world.engine.now(),
    };
    world.store.grant(grant).await.expect("granted");
}

/// The account, after it was compared with the sum of its ledger.
pub(super) async fn account(world: &World) -> (i64, i64, i64) {
    let account = world.store.account(acme()).await.expect("the store answers");
    let lines = world.store.ledger(acme(), None, None, 1_000).await.expect("the store answers");
    let sum = lines.iter().fold(Account::default(), |sum, line| Account {
        balance: sum.balance + line.movement.balance,
        reserved: sum.reserved + line.movement.reserved,
        spent: sum.spent + line.movement.spent,
    });
    assert_eq!(account, sum, "the account is the sum of its movements");
    let whole = |amount: Credits| amount.0 / 1_000_000;
    (whole(account.balance), whole(account.reserved), whole(account.spent))
}

async fn cancel(world: &World, job: RunId) {
    let by = Act::new("user", "");
    world.engine.command(job, Command::Cancel { mode: None, by }).await.expect("cancels");
}

// X-127, C-011: the account equals its ledger after every step of a job's life.
#[tokio::test]
async fn credits_are_set_aside_spent_and_given_back() {
    let place = tempfile::tempdir().expect("a place");
    for store in stores(&place) {
        let world = world_on(store).await;
        grant(&world, 100).await;
        let job = create(&world, priced(10, Restore::Never)).await;
        assert_eq!(account(&world).await, (90, 10, 0));
        let work = take(&world).await;
        assert_eq!(account(&world).await, (90, 10, 0));
        let (_, next) = done(&world, work, 4).await;
        assert_eq!(account(&world).await, (90, 6, 4));
        // More than was set aside: the rest comes from the balance.
        let (_, next) = done(&world, next.expect("render"), 9).await;
        assert_eq!(account(&world).await, (87, 0, 13));
        let (run, _) = done(&world, next.expect("send"), 0).await;
        assert_eq!(run.status, RunStatus::Succeeded);
        assert_eq!(account(&world).await, (87, 0, 13));
        assert_eq!(world.run(job).await.credits, run.credits);
    }
}

// what a job that failed has spent comes back if that was agreed; what it set aside always does.
#[tokio::test]
async fn a_job_that_fails_or_is_cancelled_gives_back_what_was_agreed() {
    let place = tempfile::tempdir().expect("a place");
    for store in stores(&place) {
        let world = world_on(store).await;
        grant(&world, 100).await;
        let job = create(&world, priced(10, Restore::Failed)).await;
        let work = take(&world).await;
        let failed = world.engine.command(job, work.report(failure(true), 3)).await;
        assert_eq!(failed.expect("counts").status, RunStatus::RetryWait);
        assert_eq!(account(&world).await, (90, 7, 3), "the job is not over");
        world.after(30, job, |run| run.status == RunStatus::Ready).await;
        let work = take(&world).await;
        world.engine.command(job, work.report(failure(false), 2)).await.expect("counts");
        assert_eq!(account(&world).await, (100, 0, 0));
        let cancelled = create(&world, priced(10, Restore::Failed)).await;
        let work = take(&world).await;
        done(&world, work, 4).await;
        cancel(&world, cancelled).await;
        assert_eq!(account(&world).await, (96, 0, 4), "a cancel is no failure");
    }
}

// an account that does not cover the estimate makes no job, and is not moved.
#[tokio::test]
async fn a_job_that_the_account_does_not_cover_is_not_made() {
    let place = tempfile::tempdir().expect("a place");
    for store in stores(&place) {
        let world = world_on(store).await;
        grant(&world, 15).await;
        create(&world, priced(10, Restore::Never)).await;
        let short = try_create(&world, priced(10, Restore::Never)).await;
        let Err(EngineError::CreditsShort { balance }) = short else { panic!("{short:?}") };
        assert_eq!(balance, Credits::whole(5));
        assert_eq!(account(&world).await, (5, 10, 0));
        assert_eq!(world.take_now().await.len(), 1, "only the first has a message");
    }
}

// C-011: what is only counted moves no account.
#[tokio::test]
async fn a_job_that_is_not_charged_counts_what_it_spends() {
    let place = tempfile::tempdir().expect("a place");
    for store in stores(&place) {
        let world = world_on(store).await;
        let mut free = priced(10, Restore::Never);
        free.credits.as_mut().expect("terms").charged = false;
        create(&world, free).await;
        let work = take(&world).await;
        let (run, _) = done(&world, work, 4).await;
        assert_eq!(run.credits.map(|it| it.spent), Some(Credits::whole(4)));
        assert_eq!(account(&world).await, (0, 0, 0));
    }
}

// after ninety days the lines of jobs are one a day; grants and sums stay.
#[tokio::test]
async fn old_lines_of_jobs_are_carried_in_one() {
    let place = tempfile::tempdir().expect("a place");
    for store in stores(&place) {
        let world = world_on(store).await;
        grant(&world, 100).await;
        create(&world, priced(10, Restore::Never)).await;
        let work = take(&world).await;
        let (_, next) = done(&world, work, 4).await;
        let (_, next) = done(&world, next.expect("render"), 1).await;
        done(&world, next.expect("send"), 0).await;
        assert_eq!(account(&world).await, (95, 0, 5));
        let kinds = async || -> Vec<MovementKind> {
            let lines = world.store.ledger(acme(), None, None, 1_000).await.expect("a ledger");
            lines.iter().map(|line| line.movement.kind).collect()
        };
        use MovementKind::{Carried, Granted, Released, Reserved, Spent};
        assert_eq!(kinds().await, [Released, Spent, Spent, Reserved, Granted]);
        world.clock.advance(Duration::from_secs(91 * 24 * 3_600));
        while kinds().await.len() > 2 {
            tokio::task::yield_now().await;
        }
        assert_eq!(kinds().await, [Carried, Granted]);
        assert_eq!(account(&world).await, (95, 0, 5));
        world.engine.stop().await;
    }
}
