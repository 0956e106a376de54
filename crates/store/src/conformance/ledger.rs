//! Folding of the ledger: it gets shorter, and still tells where every credit went.

use std::sync::Arc;

use stepwell_core::credit::{CreditState, Credits, MovementKind};
use stepwell_core::id::{RunId, Tenant};
use stepwell_core::run::{Header, Run};
use stepwell_core::time::Timestamp;
use tokio::task::JoinSet;

use super::Subject;
use super::credits::{account, acme, grant, moves, whole};
use super::oracle::Dice;
use super::world::{World, at, header, run_id};
use crate::Store;
use crate::model::{Advance, Grant, Granted, LedgerLine};

/// Seconds of a day.
const DAY: u64 = 24 * 3_600;

/// More lines than any case writes.
const ALL: usize = 10_000;

/// What runs spend, at a moment.
fn spends(run: &Arc<Run>, amount: i64, moment: Timestamp) -> Advance {
    let mut advance = moves(run, &[CreditState::default().spend(whole(amount))]);
    Arc::make_mut(&mut advance.run).updated_at = moment;
    advance
}

/// The same lines as they are once those of runs from before a moment are folded.
fn folded(lines: &[LedgerLine], before: Timestamp) -> Vec<LedgerLine> {
    let mut folded: Vec<LedgerLine> = Vec::new();
    for line in lines {
        let mut line = line.clone();
        if line.run.is_some() && line.at < before {
            (line.run, line.movement.kind) = (None, MovementKind::Carried);
        }
        let is_carried = |line: &LedgerLine| line.movement.kind == MovementKind::Carried;
        if let Some(last) =
            folded.pop_if(|last| is_carried(last) && is_carried(&line) && last.day() == line.day())
        {
            line.movement = last.movement.carried_with(&line.movement);
        }
        folded.push(line);
    }
    folded
}

/// What is told of lines, oldest first: their kind, whose, and what they add to what was spent.
fn told(lines: &[LedgerLine]) -> Vec<(MovementKind, Option<RunId>, Credits)> {
    let tell = |line: &LedgerLine| (line.movement.kind, line.run, line.movement.spent);
    lines.iter().map(tell).collect()
}

impl World {
    /// A run of a tenant, whose account begins with this.
    async fn spender(&self, number: u64, tenant: &Tenant) -> Arc<Run> {
        self.begins(Header { tenant: tenant.clone(), ..header(number) }).await
    }

    async fn spends(&self, run: &mut Arc<Run>, amount: i64, moment: Timestamp) {
        *run = self.takes(spends(run, amount, moment)).await;
    }

    /// All lines of a tenant, oldest first.
    async fn lines(&self, tenant: &Tenant) -> Vec<LedgerLine> {
        let lines = self.store.ledger(tenant.clone(), None, None, ALL).await.expect("a ledger");
        lines.into_iter().rev().collect()
    }

    async fn folds(&self, before: Timestamp, limit: usize) -> usize {
        self.store.fold_ledger(before, limit).await.expect("a fold")
    }
}

/// Days become a line each; a grant stays, with its key, and parts what is before it from what follows.
pub async fn a_day_becomes_a_line_and_grants_stay(subject: Subject) {
    let world = World::of(&subject).await;
    let mut run = world.spender(1, &acme()).await;
    let first = Grant { at: at(5), ..grant(&acme(), 100, Some("k")) };
    world.grants(first.clone()).await;
    for moment in [10, 20, 30, DAY + 10, DAY + 20] {
        world.spends(&mut run, 1, at(moment)).await;
    }
    world.grants(Grant { at: at(DAY + 30), ..grant(&acme(), 7, None) }).await;
    for moment in [DAY + 40, DAY + 50, 3 * DAY] {
        world.spends(&mut run, 2, at(moment)).await;
    }
    let before = world.lines(&acme()).await;
    assert_eq!(world.folds(at(10), ALL).await, 0, "none is older");
    assert_eq!(world.lines(&acme()).await, before);
    assert_eq!(world.folds(at(3 * DAY), ALL).await, 7);

    let lines = world.lines(&acme()).await;
    use MovementKind::{Carried, Granted as Grants, Spent};
    let line = |kind, spent| (kind, None, whole(spent));
    let young = (Spent, Some(run_id(1)), whole(2));
    let expected = [
        line(Grants, 0),
        line(Carried, 3),
        line(Carried, 2),
        line(Grants, 0),
        line(Carried, 4),
        young,
    ];
    assert_eq!(told(&lines), expected);
    let (carried, newest) = (&lines[1], &before[3]);
    assert_eq!((carried.id, carried.at, carried.after), (newest.id, at(30), newest.after));
    assert_eq!((carried.actor.as_str(), carried.reason.as_str()), ("", ""));
    assert_eq!([&lines[0], &lines[3], &lines[5]], [&before[0], &before[6], &before[9]]);
    assert_eq!(world.folds(at(3 * DAY), ALL).await, 0, "what is folded is not folded again");
    assert_eq!(world.grants(first).await, Granted::Repeated(account(96, 0, 11)));
    assert_eq!(world.grants(grant(&acme(), 9, Some("k"))).await, Granted::KeyTaken);
    assert_eq!(world.audited(&acme()).await, account(96, 0, 11));
}

/// A page that ends in the middle of a day is one with the page that follows it, and with one that was
/// before it: the clocks of those who write lines differ.
pub async fn pages_of_a_day_become_one_line(subject: Subject) {
    let world = World::of(&subject).await;
    let mut run = world.spender(1, &acme()).await;
    let mut other = world.spender(2, &Tenant::new("globex")).await;
    for moment in [10, 40, 20, 50, 30, 60] {
        world.spends(&mut run, 1, at(moment)).await;
        world.spends(&mut other, 3, at(moment)).await;
    }
    while world.folds(at(55), 1).await > 0 {
        world.audited(&acme()).await;
    }
    for (tenant, number, amount) in [(acme(), 1, 1), (Tenant::new("globex"), 2, 3)] {
        let carried = (MovementKind::Carried, None, whole(5 * amount));
        let young = (MovementKind::Spent, Some(run_id(number)), whole(amount));
        assert_eq!(told(&world.lines(&tenant).await), [carried, young], "{tenant}");
        world.audited(&tenant).await;
    }
    // The next sweep of the same day goes on with the same line.
    assert_eq!(world.folds(at(70), ALL).await, 2);
    let carried = (MovementKind::Carried, None, whole(6));
    assert_eq!(told(&world.lines(&acme()).await), [carried]);
}

/// A ledger is read page by page over lines that are carried; a run finds only what is not.
pub async fn a_folded_ledger_is_read_in_pages(subject: Subject) {
    let world = World::of(&subject).await;
    let mut run = world.spender(1, &acme()).await;
    for day in 0..6 {
        world.spends(&mut run, 1, at(day * DAY)).await;
        world.spends(&mut run, 1, at(day * DAY + 1)).await;
    }
    assert_eq!(world.folds(at(4 * DAY), ALL).await, 8);
    let whole_ledger = world.ledger(None, None, ALL).await;
    assert_eq!(whole_ledger.len(), 4 + 4);
    let mut pages = Vec::new();
    loop {
        let before = pages.last().map(|line: &LedgerLine| line.id);
        let page = world.ledger(None, before, 3).await;
        if page.is_empty() {
            break;
        }
        pages.extend(page);
    }
    assert_eq!(pages, whole_ledger);
    assert_eq!(world.ledger(Some(run_id(1)), None, ALL).await, whole_ledger[..4]);
}

/// Whatever was moved when, however it is folded: the sum and the chain hold after every page, and in the
/// end nobody can tell how the pages were cut.
pub async fn a_folded_ledger_tells_the_same_sums(subject: Subject) {
    let world = World::of(&subject).await;
    let mut dice = Dice(11);
    let tenants = ["acme", "globex", "initech"].map(Tenant::new);
    let mut runs = Vec::new();
    for (number, tenant) in (1..).zip(&tenants) {
        runs.push(world.spender(number, tenant).await);
    }
    let mut now = 100;
    for _ in 0..120 {
        now += dice.roll(DAY / 6);
        let chosen = usize::try_from(dice.roll(3)).expect("few tenants");
        // Nobody's clock is right.
        let moment = at(now - dice.roll(90));
        if dice.roll(8) == 0 {
            world.grants(Grant { at: moment, ..grant(&tenants[chosen], 5, None) }).await;
            continue;
        }
        let amount = i64::try_from(dice.roll(9)).expect("a small amount");
        world.spends(&mut runs[chosen], amount, moment).await;
    }
    let mut written = Vec::new();
    for tenant in &tenants {
        written.push(world.lines(tenant).await);
    }
    for part in 1..=4 {
        let before = at(now * part / 4);
        let page = usize::try_from(1 + dice.roll(13)).expect("a small page");
        while world.folds(before, page).await > 0 {
            world.audited(&tenants[part as usize % 3]).await;
        }
        for (tenant, written) in tenants.iter().zip(&written) {
            assert_eq!(world.lines(tenant).await, folded(written, before), "{tenant}");
            world.audited(tenant).await;
        }
    }
}

/// Several fold at once while others write: nothing is folded twice, and nobody waits.
pub async fn several_fold_at_once(subject: Subject) {
    let world = World::of(&subject).await;
    let mut run = world.spender(1, &acme()).await;
    for moment in 0..60 {
        world.spends(&mut run, 1, at(moment)).await;
    }
    let written = world.lines(&acme()).await;
    let mut callers = JoinSet::new();
    for _ in 0..4 {
        callers.spawn(fold_all(Arc::clone(&world.store), at(100)));
    }
    for moment in 100..130 {
        world.grants(Grant { at: at(moment), ..grant(&acme(), 1, None) }).await;
    }
    callers.join_all().await;
    fold_all(Arc::clone(&world.store), at(100)).await;
    let lines = world.lines(&acme()).await;
    assert_eq!(lines[..1], folded(&written, at(100)));
    assert_eq!(lines.len(), 1 + 30);
    assert_eq!(world.audited(&acme()).await, account(30 - 60, 0, 60));
}

/// Folds a few lines at a time until there are none, or somebody else is at it.
async fn fold_all(store: Arc<dyn Store>, before: Timestamp) {
    while store.fold_ledger(before, 7).await.expect("a fold") > 0 {}
}
