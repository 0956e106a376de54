//! Room on the disk: when it is full nothing is half done; what is deleted leaves room that is used again,
//! and too much of it is given back.

use std::sync::Arc;

use stepwell_store::conformance::Subject;
use stepwell_store::conformance::world::{
    World, all, at, decided, failure, header, item, run_id, started, success,
};
use stepwell_store::sqlite::{Options, SqliteStore};
use stepwell_store::{Create, Filter, Group, Item, Store, StoreError, StoredRun};

fn ended(number: u64) -> (Create, Item) {
    let create = started(header(number));
    let mut end = decided(&create.run, &failure(&create.run));
    end.expires_at = Some(at(1));
    (create, Item::Advance(Box::new(end)))
}

#[tokio::test]
async fn a_full_disk_changes_nothing_and_heals_by_itself() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("stepwell.db");
    let options = Options { bytes_max: Some(512 * 1024), ..Options::default() };
    let store = Arc::new(SqliteStore::open(&path, options).unwrap());
    let world = World::of(&Subject { store: store.clone(), reopen: None }).await;
    let open = world.begins(header(1)).await;

    let mut stored = 1;
    let refused = loop {
        let numbers = stored + 1..stored + 11;
        let (creates, ends): (Vec<_>, Vec<_>) = numbers.map(ended).unzip();
        let items = creates.into_iter().map(item).chain(ends).collect();
        match store.commit(Group::of(world.epoch, items)).await {
            Ok(_) => stored += 10,
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, StoreError::Unavailable { .. }), "{refused:?}");
    assert!(refused.to_string().contains("the disk is full; free some space"), "{refused}");
    let all_runs = world.lists(Filter::default(), all()).await;
    assert_eq!(all_runs.len() as u64, stored, "no run of the group that found no room");
    assert_eq!(world.stored(run_id(1)).await, Some(StoredRun::of(&open)));

    while store.sweep(at(5), 20).await.unwrap() > 0 {}
    let moved = world.moves(&open, &success(&open)).await;
    assert_eq!(world.stored(run_id(1)).await, Some(StoredRun::of(&moved)));
}

/// Stores ended runs that are a little heavier than most, from this number on.
async fn stores_heavy(world: &World, numbers: std::ops::Range<u64>) {
    for number in numbers {
        let (mut create, end) = ended(number);
        let header = stepwell_core::run::Header {
            input: serde_json::Map::from_iter([("text".to_owned(), "x".repeat(100_000).into())]),
            ..(*create.run.header).clone()
        };
        let run = stepwell_core::run::Run { header: Arc::new(header), ..(*create.run).clone() };
        create.run = Arc::new(run);
        world.stores(item(create)).await;
        world.stores(end).await;
    }
}

// C-005: what is deleted makes room for what comes, so the file does not grow under constant load.
#[tokio::test]
async fn the_room_of_what_was_deleted_is_used_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("stepwell.db");
    let store = Arc::new(SqliteStore::open(&path, Options::default()).unwrap());
    let world = World::of(&Subject { store: store.clone(), reopen: None }).await;
    let pages = || {
        let db = rusqlite::Connection::open(&path).unwrap();
        db.pragma_query_value(None, "page_count", |row| row.get::<_, i64>(0)).unwrap()
    };
    let mut sizes = Vec::new();
    for round in 0..4 {
        stores_heavy(&world, round * 100..(round + 1) * 100).await;
        sizes.push(pages());
        while store.sweep(at(5), 20).await.unwrap() > 0 {}
    }
    let (first, last) = (sizes[0], sizes[3]);
    assert!(last * 100 < first * 105, "{sizes:?}");
}

// a store that has become small gives the disk its room back, a little at a time.
#[tokio::test]
async fn too_much_room_is_given_back() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("stepwell.db");
    let store = Arc::new(SqliteStore::open(&path, Options::default()).unwrap());
    let world = World::of(&Subject { store: store.clone(), reopen: None }).await;
    stores_heavy(&world, 1..201).await;
    assert!(!store.compact().await.unwrap(), "there is nothing to give back");
    while store.sweep(at(5), 20).await.unwrap() > 0 {}
    let mut steps = 1;
    while store.compact().await.unwrap() {
        steps += 1;
    }
    assert!(steps > 5, "not all at once");
    store.close().await.unwrap();
    let bytes = std::fs::metadata(&path).unwrap().len();
    let spare = 2_048 * 4_096;
    assert!(bytes < spare * 3 / 2, "{bytes} bytes, although some are left to new rows");
}
