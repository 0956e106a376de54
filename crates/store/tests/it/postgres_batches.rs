//! Several instances and their batches on one PostgreSQL: what only real rows, locks and clocks can show.

use std::sync::Arc;

use stepwell_core::batch::{Batch, BatchCommand};
use stepwell_core::duration::Interval;
use stepwell_core::id::BatchId;
use stepwell_core::run::Run;
use stepwell_store::conformance::Subject;
use stepwell_store::conformance::batch_world::{
    ada, batch_header, batch_item, decided_batch, detected, join, joining, opened,
};
use stepwell_store::conformance::world::{World, at, decided, header, run_id, success};
use stepwell_store::{BatchWrite, Group, Item, Store, StoreError, Verdict};
use stepwell_testing::postgres;

use crate::postgres::{Place, with_schema};

/// An instance with connections of its own, as a process has.
async fn instance(place: &Place, name: &str) -> World {
    let subject = Subject { store: Arc::new(place.open().await), reopen: None };
    World::named(&subject, name).await
}

/// A place in a database of its own, so that what is counted there is counted for this test alone.
fn alone(name: &str) -> Option<Place> {
    let server = postgres::server().ok()?;
    let schema = name.to_owned();
    Some(Place { server, url: with_schema(&server.database(name), name), schema })
}

/// The next decision on each of some runs of members, as items of one group.
async fn next(world: &World, members: impl Iterator<Item = i64>) -> Vec<Item> {
    let mut items = Vec::new();
    for member in members {
        let run: Arc<Run> = world.member_run(member.unsigned_abs()).await;
        items.push(if run.gates_open.is_empty() {
            opened(&run, "prepare")
        } else {
            Item::Advance(Box::new(decided(&run, &success(&run))))
        });
    }
    items
}

/// A decision on a batch, about which others decide too.
async fn decision(world: &World, batch: i64) -> Item {
    let batch = world.batch(batch).await;
    let by = ada();
    let command =
        if batch.paused { BatchCommand::Resume { by } } else { BatchCommand::Pause { by } };
    batch_item(decided_batch(&batch, &command))
}

/// The members that an instance has in each of the two batches.
type Own = [std::ops::Range<i64>; 2];

/// Takes the members of an instance through their first phase, in groups that have members of both
/// batches and a decision on one of them.
async fn works(world: &World, own: &Own, batches: [i64; 2]) {
    for _ in 0..3 {
        let mut items = next(world, own.iter().cloned().flatten()).await;
        if batches[0] > batches[1] {
            items.reverse();
        }
        for part in 0..8 {
            let mut group: Vec<Item> = items.iter().skip(part).step_by(8).cloned().collect();
            group.push(decision(world, batches[part % 2]).await);
            let verdicts = world.commits(group).await;
            let (_, of_members) = verdicts.split_last().unwrap();
            assert!(of_members.iter().all(|verdict| *verdict == Verdict::Done));
        }
    }
}

// counters move in the transaction of the step, whoever else counts in the same batch.
#[tokio::test]
async fn instances_that_count_in_the_same_batches_never_stop_each_other() {
    let Some(place) = alone("counting") else { return };
    let (one, two) = (instance(&place, "one").await, instance(&place, "two").await);
    let (of_one, of_two): (Own, Own) = ([1..21, 61..81], [21..41, 41..61]);
    one.detects(1, &Vec::from_iter(of_one[0].clone())).await;
    two.detects(2, &Vec::from_iter(of_two[1].clone())).await;
    for (world, batch, members) in [(&two, 1, of_two[0].clone()), (&one, 2, of_one[1].clone())] {
        let joins = decided_batch(&world.batch(batch).await, &join(members.clone().count()));
        let joined = members.map(|member| joining(BatchId(batch), member)).collect();
        world.decides(BatchWrite { joined, ..joins }).await;
    }
    tokio::join!(works(&one, &of_one, [1, 2]), works(&two, &of_two, [2, 1]));

    for batch in [1, 2] {
        let Batch { tally, phases, .. } = one.batch(batch).await;
        assert_eq!(tally.open, 40, "nobody has ended");
        assert_eq!((phases[0].tally.succeeded, phases[0].tally.steps_ended), (40, 80));
        assert_eq!(phases[1].tally.open, 40);
    }
    // A session tells what happened to it when it ends.
    one.store.close().await.unwrap();
    two.store.close().await.unwrap();
    let others = "SELECT count(*) FROM pg_stat_activity
                   WHERE datname = current_database() AND pid <> pg_backend_pid()";
    while place.query(others) != ["0"] {
        tokio::task::yield_now().await;
    }
    let stopped = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()";
    assert_eq!(place.query(stopped), ["0"]);
}

// B-071, X-104: fenced by the epoch; the runs that begin with a batch belong to whoever decided.
#[tokio::test]
async fn any_living_instance_decides_about_a_batch() {
    let Some(place) = Place::fresh() else { return };
    let (one, two) = (instance(&place, "one").await, instance(&place, "two").await);
    let batch = one.detects(1, &[5]).await;
    let joined = vec![joining(BatchId(1), 6)];
    let batch = two.decides(BatchWrite { joined, ..decided_batch(&batch, &join(1)) }).await;
    let runs = one.store.load(vec![run_id(5), run_id(6)]).await.unwrap();
    let owners: Vec<_> = runs.iter().map(|run| run.owner).collect();
    assert_eq!(owners, [Some(one.epoch), Some(two.epoch)]);

    one.store.retire(one.epoch).await.unwrap();
    let late = decided_batch(&batch, &BatchCommand::Pause { by: ada() });
    let refused = one.store.commit(Group::of(one.epoch, vec![batch_item(late)])).await;
    assert!(matches!(refused, Err(StoreError::Fenced { .. })), "{refused:?}");
    assert_eq!(two.batch(1).await, batch);
}

#[tokio::test]
async fn a_decision_is_given_what_it_asks_for() {
    let Some(place) = Place::fresh() else { return };
    let world = instance(&place, "one").await;
    world.detects(1, &[5]).await;
    let run = world.member_run(5).await;
    world.stores(opened(&run, "prepare")).await;
    let run = world.member_run(5).await;
    world.moves(&run, &success(&run)).await;
    let plain = world.begins(header(6)).await;
    world.moves(&plain, &success(&plain)).await;

    let ids = vec![run_id(5), run_id(6)];
    let whole = world.store.load(ids.clone()).await.unwrap();
    let open = world.store.load_open(ids).await.unwrap();
    assert_eq!(open[1], whole[1], "a run of no batch is whole");
    let (whole, open) = (&whole[0].steps, &open[0].steps);
    assert!(whole[0].params.is_some() && whole[0].result.is_some());
    assert!(open[0].params.is_none() && open[0].result.is_none(), "it has ended");
    assert_eq!(open[0].status, whole[0].status);
    assert_eq!(open[1], whole[1], "it is under way");
}

#[tokio::test]
async fn two_decisions_on_a_batch_at_once_are_one_decision() {
    let Some(place) = Place::fresh() else { return };
    let (one, two) = (instance(&place, "one").await, instance(&place, "two").await);
    let batch = one.detects(1, &[]).await;
    let write = |member: i64| BatchWrite {
        joined: vec![joining(BatchId(1), member)],
        ..decided_batch(&batch, &join(1))
    };
    let (first, second) = tokio::join!(
        one.commits(vec![batch_item(write(5))]),
        two.commits(vec![batch_item(write(6))])
    );
    let mut verdicts = [first, second].concat();
    verdicts.sort_by_key(|verdict| *verdict != Verdict::Done);
    assert_eq!(verdicts, [Verdict::Done, Verdict::Stale]);
    assert_eq!((one.members(1).await.len(), one.batch(1).await.tally.open), (1, 1));
    assert_eq!(place.query("SELECT count(*) FROM run"), ["1"], "nothing of the other is there");

    let (first, second) = tokio::join!(
        one.commits(vec![batch_item(detected(batch_header(2), &[]))]),
        two.commits(vec![batch_item(detected(batch_header(2), &[]))])
    );
    let mut verdicts = [first, second].concat();
    verdicts.sort_by_key(|verdict| *verdict != Verdict::Done);
    assert_eq!(verdicts, [Verdict::Done, Verdict::Stale], "a batch is made once");
}

#[tokio::test]
async fn whoever_reads_on_in_the_history_of_all_batches_misses_nothing() {
    let Some(place) = Place::fresh() else { return };
    let (one, two) = (instance(&place, "one").await, instance(&place, "two").await);
    let reader = place.open().await;
    let writes = async |world: &World, batches: std::ops::Range<i64>| {
        for batch in batches {
            world.detects(batch, &[]).await;
        }
    };
    let reads = async {
        let mut seen: Vec<(i64, BatchId)> = Vec::new();
        while seen.len() < 60 {
            let after = seen.last().map_or(0, |(id, _)| *id);
            let events = reader.batch_events(None, after, 7).await.unwrap();
            seen.extend(events.into_iter().map(|event| (event.id, event.batch)));
        }
        seen
    };
    let ((), (), seen) = tokio::join!(writes(&one, 1..31), writes(&two, 31..61), reads);
    let mut batches: Vec<i64> = seen.iter().map(|(_, batch)| batch.0).collect();
    batches.sort_unstable();
    assert_eq!(batches, (1..61).collect::<Vec<i64>>());
}

// instances need not agree on the time, because they are not asked for it.
#[tokio::test]
async fn a_right_lasts_by_the_clock_of_the_server() {
    let Some(place) = Place::fresh() else { return };
    let store = place.open().await;
    let takes = async |holder: &str, now: u64, seconds: u64| {
        let (now, name) = (at(now), "tick:move".to_owned());
        let until = now.after(Interval::from_secs(seconds));
        store.lease(name, holder.to_owned(), now, until).await.unwrap()
    };
    assert!(takes("one", 0, 60).await);
    assert!(!takes("two", 86_400, 60).await, "though its clock is a day ahead");
    place.query("UPDATE lease SET until = until - 60000");
    assert!(takes("two", 0, 60).await, "a minute later");
    assert!(!takes("one", 86_400, 60).await);
}
