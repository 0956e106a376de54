//! Counters of batches: they move with the runs, in the same transaction, and with nothing else.

use std::sync::Arc;

use stepwell_core::batch::{MemberTally, PhaseTally};
use stepwell_core::command::Command;
use stepwell_core::definition::CancelMode;
use stepwell_core::id::BatchId;
use stepwell_core::run::Run;

use super::Subject;
use super::batch_world::{ada, decided_batch, join, joining, opened};
use super::world::{World, decided, failure, item, moved, success};
use crate::model::{BatchWrite, Item, Verdict};

fn batch_item_of(write: BatchWrite) -> Item {
    Item::Batch(Box::new(write))
}

/// Opens the first gate of a member's run.
async fn opens(world: &World, number: u64) -> Arc<Run> {
    let run = world.member_run(number).await;
    world.stores(opened(&run, "prepare")).await;
    world.member_run(number).await
}

/// Through a whole life the counters say where every member stands.
pub async fn counters_follow_every_run(subject: Subject) {
    let world = World::of(&subject).await;
    world.detects(1, &[5, 6, 7]).await;
    let mut done = opens(&world, 5).await;
    done = world.moves(&done, &success(&done)).await;
    assert_eq!(world.batch(1).await.phases[0].tally.steps_ended, 1);
    done = world.moves(&done, &success(&done)).await;
    let prepare = PhaseTally { open: 2, succeeded: 1, steps_ended: 2, ..PhaseTally::default() };
    assert_eq!(world.batch(1).await.phases[0].tally, prepare);

    let lost = opens(&world, 6).await;
    world.moves(&lost, &failure(&lost)).await;
    let stopped = world.member_run(7).await;
    let cancel = Command::Cancel { mode: Some(CancelMode::Immediate), by: ada() };
    world.moves(&stopped, &cancel).await;
    world.stores(opened(&done, "cutover")).await;
    let done = world.member_run(5).await;
    world.moves(&done, &success(&done)).await;

    let batch = world.batch(1).await;
    let ended = MemberTally { open: 0, succeeded: 1, failed: 1, cancelled: 1 };
    assert_eq!(batch.tally, ended);
    let prepare =
        PhaseTally { succeeded: 1, failed: 1, cancelled: 1, steps_ended: 6, ..Default::default() };
    let cutover = PhaseTally { succeeded: 1, cancelled: 2, steps_ended: 3, ..Default::default() };
    assert_eq!([batch.phases[0].tally, batch.phases[1].tally], [prepare, cutover]);
}

/// In one group some items are done and some are stale, of two batches: only what was done is counted.
pub async fn what_is_stale_is_not_counted(subject: Subject) {
    let world = World::of(&subject).await;
    let first = world.detects(1, &[5, 6, 7]).await;
    world.detects(2, &[8, 9]).await;
    let [five, six, eight] =
        [opens(&world, 5).await, opens(&world, 6).await, opens(&world, 8).await];
    let mut stale = decided(&six, &failure(&six));
    stale.from_version += 1;
    let late =
        BatchWrite { joined: vec![joining(BatchId(1), 10)], ..decided_batch(&first, &join(1)) };
    let lost = BatchWrite {
        from_version: Some(99),
        joined: vec![joining(BatchId(2), 11)],
        ..decided_batch(&world.batch(2).await, &join(1))
    };
    let again = joining(BatchId(1), 7).run;
    let verdicts = world
        .commits(vec![
            moved(&five, &failure(&five)),
            Item::Advance(Box::new(stale)),
            batch_item_of(late),
            moved(&eight, &failure(&eight)),
            batch_item_of(lost),
            item(again),
        ])
        .await;
    let (done, stale) = (Verdict::Done, Verdict::Stale);
    let expected = [done.clone(), stale.clone(), done.clone(), done, stale.clone(), stale];
    assert_eq!(verdicts, expected);
    let (first, second) = (world.batch(1).await, world.batch(2).await);
    assert_eq!(first.tally, MemberTally { open: 3, failed: 1, ..MemberTally::default() });
    assert_eq!((first.phases[0].tally.open, first.phases[0].tally.failed), (3, 1));
    assert_eq!(second.tally, MemberTally { open: 1, failed: 1, ..MemberTally::default() });
    assert_eq!(second.phases[1].tally.cancelled, 1);
}

/// A run that begins with another counts too; and what no batch counts is counted nowhere.
pub async fn children_are_counted_with_their_parent(subject: Subject) {
    let world = World::of(&subject).await;
    world.detects(1, &[5]).await;
    let run = world.member_run(5).await;
    let mut advance = decided(&run, &Command::OpenGate { gate: "prepare".to_owned() });
    advance.children = vec![joining(BatchId(1), 6).run, joining(BatchId(77), 7).run];
    world.takes(advance).await;
    assert_eq!(world.batch(1).await.tally.open, 2);
    assert_eq!(world.store.batch(BatchId(77)).await.expect("a lookup"), None);
    assert!(world.stored(super::world::run_id(7)).await.is_some());
}
