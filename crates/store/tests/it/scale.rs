//! A batch of many members: how long it takes to store it, to move it and to look at it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use stepwell_core::id::{BatchId, MemberId};
use stepwell_store::conformance::Subject;
use stepwell_store::conformance::batch_world::{batch_header, batch_item, detected, opened};
use stepwell_store::conformance::world::World;
use stepwell_store::sqlite::{Options, SqliteStore};
use stepwell_store::{BatchFilter, Item, MemberFilter, MemberStatus, Slice, Verdict};

const MEMBERS: i64 = 20_000;

/// The slowest of some pages.
async fn slowest<F: Future<Output = usize>>(page: impl Fn(usize) -> F) -> Duration {
    let mut slowest = Duration::ZERO;
    for offset in (0..19_900).step_by(1_990) {
        let begun = Instant::now();
        assert!(page(offset).await > 0);
        slowest = slowest.max(begun.elapsed());
    }
    slowest
}

/// Prints figures; what it asserts is loose, because a busy machine is not a fault.
#[tokio::test]
#[ignore = "a measurement: run it alone, with --release and --nocapture"]
async fn twenty_thousand_members_in_one_decision() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("stepwell.db");
    let store = Arc::new(SqliteStore::open(&path, Options::default()).unwrap());
    let world = World::of(&Subject { store, reopen: None }).await;
    let members: Vec<i64> = (1..=MEMBERS).collect();
    let write = detected(batch_header(1), &members);
    let runs: Vec<_> = write.joined.iter().map(|member| Arc::clone(&member.run.run)).collect();
    let begun = Instant::now();
    world.stores(batch_item(write)).await;
    let joined = begun.elapsed();
    println!("joined in {joined:?}");

    let mut moved = Duration::ZERO;
    for chunk in runs.chunks(500) {
        let items: Vec<Item> = chunk.iter().map(|run| opened(run, "prepare")).collect();
        let begun = Instant::now();
        let verdicts = world.commits(items).await;
        moved += begun.elapsed();
        assert!(verdicts.iter().all(|verdict| *verdict == Verdict::Done));
    }
    println!("first steps dispatched in {moved:?}");

    let filter = || MemberFilter::of(BatchId(1));
    let world = &world;
    let page = |filter: MemberFilter, offset| async move {
        let slice = Slice { offset, limit: 100 };
        world.some_members(filter, slice).await.items.len()
    };
    let by_place = slowest(|offset| page(filter(), offset)).await;
    let active = || MemberFilter { statuses: vec![MemberStatus::Active], ..filter() };
    let by_status = slowest(|offset| page(active(), offset)).await;
    let after = slowest(|offset| {
        let after = Some(MemberId(i64::try_from(offset).unwrap()));
        page(MemberFilter { after, ..active() }, 0)
    })
    .await;
    println!("page by place {by_place:?}, by status {by_status:?}, after a member {after:?}");
    let listing = slowest(|_| async {
        world.batches(BatchFilter::default(), Slice { offset: 0, limit: 50 }).await.0.len()
    })
    .await;
    println!("list of batches {listing:?}");
    assert!(joined < Duration::from_secs(15) && by_place < Duration::from_millis(500));
}
