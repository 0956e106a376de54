//! Folding of the ledger, on every store.

use std::sync::Arc;

use rusqlite::Connection;
use stepwell_core::credit::{CreditState, Credits, MovementKind};
use stepwell_core::id::Tenant;
use stepwell_core::run::Header;
use stepwell_store::conformance::{self, world};
use stepwell_store::postgres::PostgresStore;
use stepwell_store::sqlite::{Options, SqliteStore};
use stepwell_store::{Account, Create, Group, Item, Store, Verdict};
use tokio::task::JoinSet;

use crate::conformance::on_each_store;
use crate::postgres::Place;

// who put credits in stays; what runs moved becomes a line a day.
#[tokio::test]
async fn a_day_becomes_a_line_and_grants_stay() {
    on_each_store(conformance::a_day_becomes_a_line_and_grants_stay).await;
}

#[tokio::test]
async fn pages_of_a_day_become_one_line() {
    on_each_store(conformance::pages_of_a_day_become_one_line).await;
}

#[tokio::test]
async fn a_folded_ledger_is_read_in_pages() {
    on_each_store(conformance::a_folded_ledger_is_read_in_pages).await;
}

// at every instant the account is the sum of its ledger.
#[tokio::test]
async fn a_folded_ledger_tells_the_same_sums() {
    on_each_store(conformance::a_folded_ledger_tells_the_same_sums).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn several_fold_at_once() {
    on_each_store(conformance::several_fold_at_once).await;
}

/// Runs of two tenants that set two credits aside, all at the same moment.
fn reserving(first: u64) -> Vec<Item> {
    let create = |number: u64| {
        let tenant = Tenant::new(["acme", "globex"][number as usize % 2]);
        let movement = CreditState::reserve(Credits::whole(2));
        let begun = world::started(Header { tenant, ..world::header(number) });
        let mut create = Create { credits: vec![movement], ..begun };
        // Whatever the account holds: not the first movement is compared with it.
        create.credits.insert(0, CreditState::default().spend(Credits::ZERO));
        world::item(create)
    };
    (first..first + 20).map(create).collect()
}

// two instances write to the same ledgers and fold them, and each line is folded once.
#[tokio::test(flavor = "multi_thread")]
async fn instances_fold_the_same_ledgers() {
    let Some(place) = Place::fresh() else { return };
    let stores: [Arc<PostgresStore>; 2] =
        [Arc::new(place.open().await), Arc::new(place.open().await)];
    let mut callers = JoinSet::new();
    for (number, store) in (0_u64..).zip(&stores) {
        let epoch = store.open_epoch(&format!("instance {number}")).await.unwrap();
        for part in 0..2 {
            let store = Arc::clone(store);
            callers.spawn(async move {
                for group in 0..10 {
                    let items = reserving(1 + 20 * (group + 10 * (part + 2 * number)));
                    let verdicts = store.commit(Group::of(epoch, items)).await.unwrap();
                    assert!(verdicts.iter().all(|verdict| *verdict == Verdict::Done));
                    store.fold_ledger(world::at(10), 33).await.unwrap();
                }
            });
        }
    }
    callers.join_all().await;
    while stores[0].fold_ledger(world::at(10), 33).await.unwrap() > 0 {}
    for tenant in ["acme", "globex"].map(Tenant::new) {
        let account = stores[1].account(tenant.clone()).await.unwrap();
        let reserved = Credits::whole(2 * 400);
        assert_eq!(account, Account { balance: -reserved, reserved, ..Account::default() });
        let lines = stores[1].ledger(tenant, None, None, 99).await.unwrap();
        let [line] = lines.as_slice() else { panic!("one line: {lines:?}") };
        assert_eq!((line.after, Account::default().after(&line.movement)), (account, account));
    }
}

/// The schema of a file before lines could be folded.
const BEFORE: [&str; 7] = [
    include_str!("../../migrations/sqlite/0001_runs_and_history.sql"),
    include_str!("../../migrations/sqlite/0002_submissions.sql"),
    include_str!("../../migrations/sqlite/0003_expanded_steps.sql"),
    include_str!("../../migrations/sqlite/0004_batches.sql"),
    include_str!("../../migrations/sqlite/0005_runbook_views.sql"),
    include_str!("../../migrations/sqlite/0006_credits_and_events.sql"),
    include_str!("../../migrations/sqlite/0007_triggers_and_policies.sql"),
];

#[tokio::test]
async fn a_ledger_of_an_earlier_release_is_folded_too() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("stepwell.db");
    let earlier = Connection::open(&path).unwrap();
    earlier.execute_batch(&BEFORE.join("\n")).unwrap();
    earlier
        .execute_batch(
            "INSERT INTO credit_account VALUES ('acme', 6000000, 0, 3000000);
             INSERT INTO credit_movement
             VALUES (4, 'acme', NULL, 'granted', 9000000, 0, 0, 9000000, 0, 0, 'ada', 'spring', 'k', 1),
                    (5, 'acme', zeroblob(16), 'spent', -1000000, 0, 1000000, 8000000, 0, 1000000, '', '',
                     NULL, 2),
                    (6, 'acme', zeroblob(16), 'spent', -2000000, 0, 2000000, 6000000, 0, 3000000, '', '',
                     NULL, 3);
             PRAGMA user_version = 7; PRAGMA application_id = 1398228300;",
        )
        .unwrap();
    drop(earlier);

    let store = SqliteStore::open(&path, Options::default()).unwrap();
    assert_eq!(store.fold_ledger(world::at(0), 9).await.unwrap(), 2);
    let lines = store.ledger(Tenant::new("acme"), None, None, 9).await.unwrap();
    let told: Vec<_> = lines.iter().map(|line| (line.id, line.movement.kind)).collect();
    assert_eq!(told, [(6, MovementKind::Carried), (4, MovementKind::Granted)]);
    assert_eq!(lines[0].movement.spent, Credits::whole(3));
    assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
}

/// A run of a tenant that moves credits three hundred times in an hour.
fn busy(tenant: &str, number: u64, hour: u64) -> Item {
    let header = Header { tenant: Tenant::new(tenant), ..world::header(number) };
    let begun = world::started(Header { created_at: world::at(hour * 3_600), ..header });
    let spent = CreditState::default().spend(Credits::whole(1));
    world::item(Create { credits: vec![spent; 300], ..begun })
}

// C-005, X-161: under a constant load of movements the file does not grow.
#[tokio::test]
async fn a_ledger_that_is_folded_stays_small() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("stepwell.db");
    let store = Arc::new(SqliteStore::open(&path, Options::default()).unwrap());
    let epoch = store.open_epoch("one").await.unwrap();
    let pages = || {
        let db = Connection::open(&path).unwrap();
        db.pragma_query_value(None, "page_count", |row| row.get::<_, i64>(0)).unwrap()
    };
    let tenants = ["acme", "globex", "initech"];
    let mut sizes = Vec::new();
    for hour in 0..40 {
        let busy = (0..).zip(tenants).map(|(place, it)| busy(it, 1 + 3 * hour + place, hour));
        store.commit(Group::of(epoch, busy.collect())).await.unwrap();
        let before = world::at(hour.saturating_sub(2) * 3_600);
        while store.fold_ledger(before, 250).await.unwrap() > 0 {}
        sizes.push(pages());
    }
    let (early, late) = (sizes[7], sizes[39]);
    // The runs are kept; with every line of theirs it would be five times as large.
    assert!(late * 100 < early * 120, "{sizes:?}");
    for tenant in tenants.map(Tenant::new) {
        let lines = store.ledger(tenant, None, None, 9_999).await.unwrap();
        assert_eq!(lines.len(), 2 + 3 * 300, "a line for each day, and those of three hours");
    }
}
