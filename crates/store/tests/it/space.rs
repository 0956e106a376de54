//! A full disk: nothing is half done, and work goes on when there is room again.

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
