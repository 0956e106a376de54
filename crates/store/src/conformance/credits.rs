//! What runs cost: the account of a tenant is at every instant the sum of its ledger.

use std::sync::Arc;

use stepwell_core::credit::{CreditState, CreditTerms, Credits, Movement, MovementKind, Restore};
use stepwell_core::duration::Interval;
use stepwell_core::entry::Record;
use stepwell_core::id::{RunId, Tenant};
use stepwell_core::retry::{Delay, RetryPolicy};
use stepwell_core::run::{Header, Run, RunStatus};
use stepwell_core::terms::{Keeping, Terms};
use stepwell_core::time::Timestamp;
use tokio::task::JoinSet;

use super::Subject;
use super::world::{World, all, at, header, item, key, run_id, started};
use crate::model::{
    Account, Advance, Create, Filter, Grant, Granted, Group, Item, KeyHolder, LedgerLine,
    StoredRun, Verdict,
};

/// More lines than any case writes.
const ALL: usize = 10_000;

pub(super) fn acme() -> Tenant {
    Tenant::new("acme")
}

pub(super) fn whole(count: i64) -> Credits {
    Credits::whole(count)
}

pub(super) fn account(balance: i64, reserved: i64, spent: i64) -> Account {
    Account { balance: whole(balance), reserved: whole(reserved), spent: whole(spent) }
}

pub(super) fn grant(tenant: &Tenant, amount: i64, key: Option<&str>) -> Grant {
    Grant {
        tenant: tenant.clone(),
        amount: whole(amount),
        actor: "ada".to_owned(),
        reason: "spring".to_owned(),
        key: key.map(str::to_owned),
        at: at(0),
    }
}

/// A run that begins and sets so much aside.
fn reserving(header: Header, amount: i64) -> Create {
    let movement = CreditState::reserve(whole(amount));
    let mut create = started(header);
    Arc::make_mut(&mut create.run).credits = Some(CreditState::default().after(&movement));
    Create { credits: vec![movement], ..create }
}

fn reserves(number: u64, amount: i64) -> Item {
    item(reserving(header(number), amount))
}

/// A decision that moves credits and nothing else.
pub(super) fn moves(run: &Arc<Run>, movements: &[Movement]) -> Advance {
    let mut after = Run::clone(run);
    after.version += 1;
    after.updated_at = run.updated_at.after(Interval::from_secs(1));
    let state = after.credits.unwrap_or_default();
    after.credits = Some(movements.iter().fold(state, |state, movement| state.after(movement)));
    let record = Record { version: after.version, at: after.updated_at, entries: Vec::new() };
    Advance {
        run: Arc::new(after),
        from_version: run.version,
        changed: Vec::new(),
        records: vec![record],
        children: Vec::new(),
        outbox: Vec::new(),
        dead_letter: None,
        expires_at: None,
        tally: None,
        credits: movements.to_vec(),
        events: Vec::new(),
        header_changed: false,
    }
}

impl World {
    pub(super) async fn account(&self, tenant: &Tenant) -> Account {
        self.store.account(tenant.clone()).await.expect("an account")
    }

    pub(super) async fn grants(&self, grant: Grant) -> Granted {
        self.store.grant(grant).await.expect("a grant")
    }

    pub(super) async fn ledger(
        &self,
        run: Option<RunId>,
        before: Option<i64>,
        limit: usize,
    ) -> Vec<LedgerLine> {
        self.store.ledger(acme(), run, before, limit).await.expect("a ledger")
    }

    /// The account, after it was seen that each line leads from the one before to what it says, and the
    /// last one to the account.
    pub(super) async fn audited(&self, tenant: &Tenant) -> Account {
        let lines = self.store.ledger(tenant.clone(), None, None, ALL).await.expect("a ledger");
        let mut sum = Account::default();
        for line in lines.iter().rev() {
            sum = sum.after(&line.movement);
            assert_eq!(line.after, sum, "line {}", line.id);
        }
        assert!(lines.windows(2).all(|pair| pair[0].id > pair[1].id), "newest first");
        assert_eq!(self.account(tenant).await, sum, "the account is the sum of its ledger");
        sum
    }
}

/// What a run was granted, and what it has set aside and spent, come back in every way it is read.
pub async fn terms_and_credits_come_back(subject: Subject) {
    let world = World::of(&subject).await;
    let (run_retry, delays) = (5, [30, 120, 600, 1_800].map(Interval::from_secs));
    let terms = Terms {
        run_retry: Some(RetryPolicy {
            attempts_max: run_retry,
            delay: Delay::List(delays.to_vec()),
            jitter_percent: 10,
        }),
        keeping: Some(Keeping {
            lease: Interval::from_secs(60),
            unclaimed: Interval::from_secs(86_400),
        }),
        credits: Some(CreditTerms {
            estimate: Credits(1_500_000),
            restore: Restore::Failed,
            charged: true,
        }),
    };
    let granted = Header { terms: Some(Arc::new(terms)), ..header(1) };
    let mut create = started(granted);
    let state = CreditState { reserved: Credits(1_500_000), spent: Credits::ZERO };
    Arc::make_mut(&mut create.run).credits = Some(state);
    let run = Arc::clone(&create.run);
    world.stores(item(create)).await;
    world.begins(header(2)).await;
    comes_back(&world, &run).await;

    // In place, and with the moment at which it ends.
    let mut run = world.takes(moves(&run, &[state.spend(Credits(250_001))])).await;
    comes_back(&world, &run).await;
    let spent = run.credits.expect("it costs something").spend(Credits(3_000_000));
    let mut ending = moves(&run, &[spent]);
    end(&mut ending, at(99));
    run = world.takes(ending).await;
    comes_back(&world, &run).await;

    let free = world.stored(run_id(2)).await.expect("the run is stored");
    assert_eq!((free.header.terms, free.credits), (None, None));
}

async fn comes_back(world: &World, run: &Run) {
    let wanted = StoredRun::of(run);
    assert_eq!(world.stored(run.id()).await.as_ref(), Some(&wanted));
    let mut open = world.store.load_open(vec![run.id()]).await.expect("runs can be loaded");
    open.iter_mut().for_each(|run| run.owner = None);
    assert_eq!((&open[0].header, open[0].credits), (&wanted.header, wanted.credits));
    let listed = world.summaries(Filter::default(), all()).await;
    let listed = listed.iter().find(|listed| listed.id == run.id()).expect("it is listed");
    assert_eq!(listed.credits, run.credits);
}

/// Every movement lands with the decision that makes it, and the ledger tells all of them.
pub async fn an_account_is_the_sum_of_its_ledger(subject: Subject) {
    let world = World::of(&subject).await;
    assert_eq!(world.account(&acme()).await, Account::default());
    assert_eq!(world.grants(grant(&acme(), 100, None)).await, Granted::Done(account(100, 0, 0)));
    world.stores(reserves(1, 30)).await;
    assert_eq!(world.audited(&acme()).await, account(70, 30, 0));

    let run = world.run(1).await;
    let state = run.credits.expect("it costs something");
    let first = state.spend(whole(10));
    let second = state.after(&first).spend(whole(25));
    let run = world.takes(moves(&run, &[first, second])).await;
    assert_eq!(world.audited(&acme()).await, account(65, 0, 35));
    world.stores(reserves(2, 20)).await;
    let restored = run.credits.and_then(CreditState::restore).expect("some were spent");
    world.takes(moves(&run, &[restored])).await;
    assert_eq!(world.audited(&acme()).await, account(80, 20, 0));

    let told = |lines: Vec<LedgerLine>| -> Vec<(MovementKind, Option<RunId>)> {
        lines.iter().map(|line| (line.movement.kind, line.run)).collect()
    };
    use MovementKind::{Granted as Grants, Reserved, Restored, Spent};
    let (one, two) = (Some(run_id(1)), Some(run_id(2)));
    let lines = world.ledger(None, None, ALL).await;
    let page = world.ledger(None, Some(lines[1].id), 2).await;
    assert_eq!(told(page), [(Spent, one), (Spent, one)]);
    assert_eq!(
        told(lines),
        [
            (Restored, one),
            (Reserved, two),
            (Spent, one),
            (Spent, one),
            (Reserved, one),
            (Grants, None)
        ]
    );
    let of_run = world.ledger(one, None, ALL).await;
    assert_eq!((of_run[0].at, of_run[0].actor.as_str()), (at(2), ""));
    assert_eq!(told(world.ledger(one, Some(of_run[1].id), 1).await), [(Spent, one)]);
    assert_eq!(told(world.ledger(two, None, ALL).await), [(Reserved, two)]);
    let first = world.ledger(None, None, ALL).await.pop().expect("the grant");
    assert_eq!((first.actor.as_str(), first.reason.as_str()), ("ada", "spring"));
}

/// The account is asked in the order of the items, each seeing those before; what it does not cover
/// leaves nothing behind.
pub async fn a_run_that_cannot_be_paid_is_not_stored(subject: Subject) {
    let world = World::of(&subject).await;
    world.grants(grant(&acme(), 10, None)).await;
    let short = |balance: i64| Verdict::CreditsShort { balance: whole(balance) };
    let keyed = Create { key: Some(key(b'k', b'r')), ..reserving(header(3), 3) };
    let theirs = Header { tenant: Tenant::new("globex"), ..header(5) };
    let verdicts = world
        .commits(vec![
            reserves(1, 4),
            reserves(2, 5),
            item(keyed),
            reserves(4, 1),
            item(reserving(theirs, 1)),
            reserves(6, 1),
        ])
        .await;
    let done = || Verdict::Done;
    assert_eq!(verdicts, [done(), done(), short(1), done(), short(0), short(0)]);
    assert_eq!(world.lists(Filter::default(), all()).await, [4, 2, 1].map(run_id));
    assert_eq!(world.store.by_key(acme(), [b'k'; 32]).await.expect("no key"), None);
    assert_eq!(world.store.figures().await.expect("figures").runs_open, 3);
    assert_eq!(world.ledger(Some(run_id(3)), None, ALL).await, []);
    assert_eq!(world.audited(&acme()).await, account(0, 10, 0));
    assert_eq!(world.audited(&Tenant::new("globex")).await, Account::default());

    // What a run gives back in the same group is there for those after it, not for those before.
    let run = world.run(2).await;
    let released = run.credits.and_then(CreditState::release).expect("5 are set aside");
    let release = Item::Advance(Box::new(moves(&run, &[released])));
    let verdicts = world.commits(vec![reserves(7, 5), release, reserves(8, 5)]).await;
    assert_eq!(verdicts, [short(0), done(), done()]);
    assert_eq!(world.audited(&acme()).await, account(0, 10, 0));
}

/// A repeated request gets its answer even when the account is empty.
pub async fn a_repetition_is_recognized_before_the_credits(subject: Subject) {
    let world = World::of(&subject).await;
    world.grants(grant(&acme(), 5, None)).await;
    let keyed = |number| Create { key: Some(key(b'k', b'r')), ..reserving(header(number), 5) };
    world.stores(item(keyed(1))).await;
    let holder = KeyHolder { run: run_id(1), request_hash: [b'r'; 32], created_at: at(0) };
    world.stores(reserves(3, 0)).await;
    let verdicts = world.commits(vec![item(keyed(2)), reserves(3, 5), reserves(4, 5)]).await;
    let short = Verdict::CreditsShort { balance: Credits::ZERO };
    assert_eq!(verdicts, [Verdict::Duplicate(holder), Verdict::Stale, short]);
    assert_eq!(world.audited(&acme()).await, account(0, 5, 0));
}

/// A decision that is stale moves nothing.
pub async fn a_stale_decision_moves_no_credits(subject: Subject) {
    let world = World::of(&subject).await;
    world.grants(grant(&acme(), 9, None)).await;
    world.stores(reserves(1, 4)).await;
    let run = world.run(1).await;
    let spent = run.credits.expect("it costs something").spend(whole(3));
    let stale = Advance { from_version: 7, ..moves(&run, &[spent]) };
    let verdicts = world.commits(vec![Item::Advance(Box::new(stale)), reserves(2, 5)]).await;
    assert_eq!(verdicts, [Verdict::Stale, Verdict::Done]);
    assert_eq!(world.audited(&acme()).await, account(0, 9, 0));
}

/// Under one key a grant is booked once, and another one not at all.
pub async fn a_grant_is_booked_once(subject: Subject) {
    let world = World::of(&subject).await;
    let (first, second) = (grant(&acme(), 10, Some("k")), grant(&acme(), 10, Some("l")));
    assert_eq!(world.grants(first.clone()).await, Granted::Done(account(10, 0, 0)));
    assert_eq!(world.grants(second).await, Granted::Done(account(20, 0, 0)));
    assert_eq!(world.grants(first.clone()).await, Granted::Repeated(account(20, 0, 0)));
    assert_eq!(world.grants(grant(&acme(), 11, Some("k"))).await, Granted::KeyTaken);
    let other_words = Grant { reason: "autumn".to_owned(), ..first };
    assert_eq!(world.grants(other_words).await, Granted::KeyTaken);
    let theirs = grant(&Tenant::new("globex"), 10, Some("k"));
    assert_eq!(world.grants(theirs).await, Granted::Done(account(10, 0, 0)));
    for balance in [21, 22] {
        let granted = world.grants(grant(&acme(), 1, None)).await;
        assert_eq!(granted, Granted::Done(account(balance, 0, 0)));
    }
    assert_eq!(world.audited(&acme()).await, account(22, 0, 0));
}

/// Nobody takes out what is not there, or what runs have set aside.
pub async fn nobody_takes_out_what_is_not_there(subject: Subject) {
    let world = World::of(&subject).await;
    assert_eq!(world.grants(grant(&acme(), -1, None)).await, Granted::Short(Account::default()));
    world.grants(grant(&acme(), 10, None)).await;
    world.stores(reserves(1, 4)).await;
    let short = Granted::Short(account(6, 4, 0));
    assert_eq!(world.grants(grant(&acme(), -7, Some("k"))).await, short);
    let out = grant(&acme(), -6, Some("k"));
    assert_eq!(world.grants(out).await, Granted::Done(account(0, 4, 0)));
    // Work that is done is paid for, whatever is there; then credits may still come in.
    let run = world.run(1).await;
    let spent = run.credits.expect("it costs something").spend(whole(9));
    world.takes(moves(&run, &[spent])).await;
    assert_eq!(world.grants(grant(&acme(), 2, None)).await, Granted::Done(account(-3, 0, 9)));
    assert_eq!(world.audited(&acme()).await, account(-3, 0, 9));
}

/// A tenant without an account gets one with its first movement, even when that is a cost.
pub async fn an_account_begins_with_its_first_movement(subject: Subject) {
    let world = World::of(&subject).await;
    let run = world.begins(header(1)).await;
    world.takes(moves(&run, &[CreditState::default().spend(whole(2))])).await;
    assert_eq!(world.audited(&acme()).await, account(-2, 0, 2));
}

/// Commits of several runs of several tenants and grants, all at once: no reservation is lost or doubled,
/// and the ledger tells a chain.
pub async fn accounts_agree_with_their_ledgers_at_once(subject: Subject) {
    let world = World::of(&subject).await;
    let tenants = ["acme", "globex", "initech"].map(Tenant::new);
    for tenant in &tenants {
        world.grants(grant(tenant, 40, None)).await;
    }
    let mut callers = JoinSet::new();
    for caller in 0..24_u64 {
        let (store, epoch, tenants) = (Arc::clone(&world.store), world.epoch, tenants.clone());
        callers.spawn(async move {
            // In another order each time.
            let creates = (0..3_usize).map(|place| {
                let tenant = tenants[(caller as usize * 2 + place) % 3].clone();
                let header = Header { tenant, ..header(100 + caller * 3 + place as u64) };
                item(reserving(header, 2))
            });
            let group = Group::of(epoch, creates.collect());
            let verdicts = store.commit(group).await.expect("a commit");
            let key = format!("k{}", caller / 2);
            let granted = grant(&tenants[caller as usize / 2 % 3], 1, Some(&key));
            store.grant(granted).await.expect("a grant");
            verdicts
        });
    }
    let verdicts: Vec<Verdict> = callers.join_all().await.into_iter().flatten().collect();
    let begun = verdicts.iter().filter(|verdict| **verdict == Verdict::Done).count();
    let mut reserved = Credits::ZERO;
    for tenant in &tenants {
        let audited = world.audited(tenant).await;
        assert!(audited.balance >= Credits::ZERO, "{audited:?}");
        assert_eq!(
            audited.balance + audited.reserved,
            whole(44),
            "four grants of two callers each"
        );
        reserved = reserved + audited.reserved;
    }
    assert_eq!(reserved, whole(2 * i64::try_from(begun).expect("few runs")));
}

/// Retention deletes runs, never what they cost.
pub async fn retention_leaves_the_ledger(subject: Subject) {
    let world = World::of(&subject).await;
    world.grants(grant(&acme(), 9, None)).await;
    world.stores(reserves(1, 4)).await;
    let run = world.run(1).await;
    let released = run.credits.and_then(CreditState::release).expect("4 are set aside");
    let mut ending = moves(&run, &[released]);
    end(&mut ending, at(9));
    world.takes(ending).await;
    assert_eq!(world.store.sweep(at(99), 9).await.expect("a sweep"), 1);
    assert_eq!(world.stored(run_id(1)).await, None);
    assert_eq!(world.audited(&acme()).await, account(9, 0, 0));
    assert_eq!(world.ledger(Some(run_id(1)), None, ALL).await.len(), 2);
}

/// Lets a decision end its run, to be deleted at this moment.
fn end(advance: &mut Advance, expires_at: Timestamp) {
    let run = Arc::make_mut(&mut advance.run);
    run.status = RunStatus::Cancelled;
    run.ended_at = Some(run.updated_at);
    advance.expires_at = Some(expires_at);
}
