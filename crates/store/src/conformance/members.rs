//! Members of batches: who may join, how they leave, how they are listed, what stays of them.

use std::sync::Arc;

use stepwell_core::batch::BatchCommand;
use stepwell_core::id::{BatchId, MemberId};
use stepwell_core::run::RunStatus;

use super::Subject;
use super::batch_world::{
    batch_header, decided_batch, detected, everything, join, joining, joining_as, leave, leaving,
    numbers, opened, stop, taking_up,
};
use super::world::{World, at, decided, failure, run_id};
use crate::model::{BatchWrite, Item, Member, MemberFilter, MemberStatus, Slice, StoredRun};

/// Fails the run of a member in its first step, so that it may be deleted at `expires`.
async fn fails(world: &World, number: u64, expires: Option<u64>) {
    let run = world.member_run(number).await;
    world.stores(opened(&run, "prepare")).await;
    let run = world.member_run(number).await;
    let mut failed = decided(&run, &failure(&run));
    failed.expires_at = expires.map(at);
    assert_eq!(failed.run.status, RunStatus::Failed);
    world.takes(failed).await;
}

fn of_first() -> MemberFilter {
    MemberFilter::of(BatchId(1))
}

/// A key is in a batch once; whoever has left may join again, even with the same decision.
pub async fn a_key_is_in_a_batch_once(subject: Subject) {
    let world = World::of(&subject).await;
    let mut write = detected(batch_header(1), &[5, 6]);
    write.joined[0] = joining_as(BatchId(1), 5, "ada");
    let batch = world.decides(write).await;
    let again = |number: i64| vec![joining_as(BatchId(1), number, "ada")];
    world.refuses(BatchWrite { joined: again(7), ..decided_batch(&batch, &join(1)) }).await;
    let twice = vec![joining_as(BatchId(1), 7, "bob"), joining_as(BatchId(1), 8, "bob")];
    world.refuses(BatchWrite { joined: twice, ..decided_batch(&batch, &join(2)) }).await;
    assert_eq!(world.batch(1).await, batch);
    assert_eq!(numbers(&world.members(1).await), [5, 6]);
    for run in [7, 8] {
        assert_eq!(world.stored(run_id(run)).await, None);
    }

    let left = decided_batch(&batch, &leave(1));
    let rejoined = decided_batch(&left.batch, &join(1));
    let both = BatchWrite {
        from_version: left.from_version,
        removed: vec![leaving(5, "ada")],
        joined: again(7),
        ..rejoined
    };
    let batch = world.decides(both).await;
    assert_eq!((batch.joined, batch.removed), (3, 1));
    let with_key = MemberFilter { keys: vec!["ada".to_owned()], ..of_first() };
    let found = world.some_members(with_key, everything()).await;
    let statuses: Vec<_> = found.items.iter().map(Member::status).collect();
    assert_eq!(numbers(&found.items), [5, 7]);
    assert_eq!(statuses, [MemberStatus::Removed, MemberStatus::Active]);

    let mut other = detected(batch_header(2), &[9]);
    other.joined[0] = joining_as(BatchId(2), 9, "ada");
    world.decides(other).await;
    assert_eq!(numbers(&world.members(2).await), [9], "another batch may have the same key");
}

/// The first who removes a member is the one who did; what its leaving asks for is begun once.
pub async fn a_member_leaves_once(subject: Subject) {
    let world = World::of(&subject).await;
    let batch = world.detects(1, &[5, 6]).await;
    world.detects(2, &[7]).await;
    let leaves = |removed| BatchWrite { removed, ..decided_batch(&batch, &leave(1)) };
    // A member of another batch is not this batch's to remove.
    let batch = world.decides(leaves(vec![leaving(5, "ada"), leaving(7, "ada")])).await;
    let mut later = decided_batch(&batch, &leave(1));
    later.removed = vec![leaving(5, "bob"), leaving(6, "bob")];
    world.decides(later).await;
    let members = world.members(1).await;
    let by: Vec<_> = members.iter().map(|member| member.removed_by.as_deref()).collect();
    assert_eq!(by, [Some("ada"), Some("bob")]);
    assert_eq!(members[0].removed_at, Some(at(50)));
    assert_eq!(world.members(2).await[0].removed_at, None);

    let waits = || MemberFilter { removal_waits: true, ..of_first() };
    assert_eq!(numbers(&world.some_members(waits(), everything()).await.items), [5, 6]);
    let begun = |members: Vec<i64>, seconds: u64| {
        let members = members.into_iter().map(MemberId).collect();
        world.store.removals_dispatched(members, at(seconds))
    };
    begun(vec![5, 7], 60).await.expect("noted");
    begun(vec![5], 70).await.expect("noted");
    assert_eq!(numbers(&world.some_members(waits(), everything()).await.items), [6]);
    assert_eq!(world.members(1).await[0].removal_dispatched_at, Some(at(60)));
    assert_eq!(world.members(2).await[0].removal_dispatched_at, None, "it has not left");
}

/// A list of members is cut anywhere, by place or after a member, and restricted in any way.
pub async fn members_are_listed_by_number(subject: Subject) {
    let world = World::of(&subject).await;
    let batch = world.detects(1, &[5, 6, 7, 8, 9]).await;
    world.detects(2, &[10]).await;
    fails(&world, 6, None).await;
    fails(&world, 8, None).await;
    let batch = world.decides(BatchWrite {
        removed: vec![leaving(8, "ada"), leaving(9, "ada")],
        ..decided_batch(&batch, &leave(2))
    });
    batch.await;

    let (active, failed, removed) =
        (MemberStatus::Active, MemberStatus::Failed, MemberStatus::Removed);
    let with =
        |statuses: &[MemberStatus]| MemberFilter { statuses: statuses.to_vec(), ..of_first() };
    let key = |number: i64| format!("member-{number}@contoso.example");
    let cases = [
        (of_first(), vec![5, 6, 7, 8, 9]),
        (with(&[active]), vec![5, 7]),
        (with(&[failed]), vec![6]),
        (with(&[removed]), vec![8, 9]),
        (with(&[active, failed]), vec![5, 6, 7]),
        (MemberFilter { keys: vec![key(9), key(6), key(10)], ..of_first() }, vec![6, 9]),
        (MemberFilter { keys: vec![key(9), key(6)], ..with(&[failed]) }, vec![6]),
        (MemberFilter { ids: [9, 5, 10].map(MemberId).to_vec(), ..of_first() }, vec![5, 9]),
        (MemberFilter { ids: vec![MemberId(5)], ..with(&[removed]) }, vec![]),
        (MemberFilter { removal_waits: true, ..of_first() }, vec![8, 9]),
    ];
    for (filter, expected) in cases {
        let total = expected.len() as u64;
        let found = world.some_members(filter.clone(), everything()).await;
        assert_eq!((numbers(&found.items), found.total), (expected.clone(), total), "{filter:?}");
        let found = world.some_members(filter.clone(), Slice { offset: 1, limit: 2 }).await;
        let part: Vec<i64> = expected.iter().copied().skip(1).take(2).collect();
        assert_eq!((numbers(&found.items), found.total), (part, total), "{filter:?}");

        let after = MemberFilter { after: Some(MemberId(5)), ..filter };
        let found = world.some_members(after, Slice { offset: 0, limit: 2 }).await;
        let part: Vec<i64> = expected.into_iter().filter(|number| *number > 5).take(2).collect();
        assert_eq!(found.total, part.len() as u64, "whoever goes on needs no count");
        assert_eq!(numbers(&found.items), part);
    }
    world.detects(3, &[11, 14, 15]).await;
    for (batch, offset, expected) in [(1, 3, vec![8, 9]), (1, 5, vec![]), (3, 2, vec![15])] {
        let slice = Slice { offset, limit: 2 };
        let found = world.some_members(MemberFilter::of(BatchId(batch)), slice).await;
        assert_eq!(numbers(&found.items), expected, "with or without a gap in the numbers");
    }
    let of_none = world.some_members(MemberFilter::of(BatchId(9)), everything()).await;
    assert_eq!((of_none.items, of_none.total), (Vec::new(), 0));
}

/// A member says where its newest run stands.
pub async fn a_member_shows_its_run(subject: Subject) {
    let world = World::of(&subject).await;
    world.detects(1, &[5]).await;
    let waiting = world.members(1).await.remove(0);
    assert_eq!((waiting.run_status, waiting.ended_at), (RunStatus::Ready, None));
    assert_eq!(waiting.current_step.as_deref(), Some("prepare/invite"));
    fails(&world, 5, None).await;
    let failed = world.members(1).await.remove(0);
    let run = world.member_run(5).await;
    assert_eq!((failed.run_status, failed.ended_at), (RunStatus::Failed, run.ended_at));
    assert_eq!(failed.status(), MemberStatus::Failed);
}

/// A member that is taken up again goes on in another run, and is counted in one place only.
pub async fn a_member_goes_on_in_another_run(subject: Subject) {
    let world = World::of(&subject).await;
    let batch = world.detects(1, &[5, 6]).await;
    fails(&world, 5, None).await;
    let failed = world.batch(1).await;
    assert_eq!((failed.tally.open, failed.tally.failed), (1, 1));
    assert_eq!((failed.phases[0].tally.failed, failed.phases[1].tally.cancelled), (1, 1));

    let again = taking_up(&*world.member_run(5).await, 50);
    let run = Arc::clone(&again.run);
    let refreshed = vec![(MemberId(6), [7; 32])];
    let pause = BatchCommand::Pause { by: super::batch_world::ada() };
    let write = BatchWrite { retaken: vec![again], refreshed, ..decided_batch(&failed, &pause) };
    let taken_up = world.decides(write).await;
    assert_eq!(taken_up.tally, batch.tally);
    let tallies = |batch: &stepwell_core::batch::Batch| -> Vec<_> {
        batch.phases.iter().map(|phase| phase.tally).collect()
    };
    assert_eq!(tallies(&taken_up), tallies(&batch));
    let members = world.members(1).await;
    assert_eq!((members[0].run, members[0].status()), (run_id(50), MemberStatus::Active));
    assert_eq!((members[0].data_hash, members[1].data_hash), ([1; 32], [7; 32]));
    assert_eq!(world.stored(run_id(50)).await, Some(StoredRun::of(&run)));
    let runs = world.store.batch_runs(BatchId(1), None, Some(MemberId(5))).await.expect("runs");
    assert_eq!(runs.iter().map(|run| run.run).collect::<Vec<_>>(), [run_id(5), run_id(50)]);
}

/// Who is in a batch of a runbook that has not ended, and has not left.
pub async fn keys_of_open_batches_are_known(subject: Subject) {
    let world = World::of(&subject).await;
    let batch = world.detects(1, &[5, 6]).await;
    world
        .decides(BatchWrite {
            removed: vec![leaving(6, "ada")],
            ..decided_batch(&batch, &leave(1))
        })
        .await;
    world.detects(2, &[7]).await;
    let over = world.detects(3, &[8]).await;
    world.decides(decided_batch(&over, &stop())).await;
    let mut other = batch_header(4);
    other.runbook = "merge".to_owned();
    world.decides(detected(other, &[9])).await;
    let mut keys = world.store.keys_in_batches("move".to_owned()).await.expect("keys");
    keys.sort();
    let key = |number: i64| format!("member-{number}@contoso.example");
    assert_eq!(keys, [(key(5), BatchId(1)), (key(7), BatchId(2))]);
}

/// Runs of a batch stay while anything is to be done in it; after that a member is known by its stub.
pub async fn a_sweep_leaves_batches_under_way_alone(subject: Subject) {
    let world = World::of(&subject).await;
    let batch = world.detects(1, &[5, 6]).await;
    fails(&world, 5, Some(100)).await;
    assert_eq!(world.store.sweep(at(200), 9).await.expect("a sweep"), 0);
    let before = world.members(1).await;

    let stopped = world.decides(decided_batch(&batch, &stop())).await;
    assert_eq!(world.store.sweep(at(200), 9).await.expect("a sweep"), 0, "others must be told");
    world.decides(decided_batch(&stopped, &BatchCommand::Swept { through: None })).await;
    assert_eq!(world.store.sweep(at(200), 9).await.expect("a sweep"), 1);
    assert_eq!(world.stored(run_id(5)).await, None);
    let forgotten = world.store.forget(at(1_000_000_000), at(0), 9).await;
    assert_eq!(forgotten.expect("stubs"), 0, "the batch needs it");
    let after = world.members(1).await;
    assert_eq!(after[0], Member { current_step: None, ..before[0].clone() });
    assert_eq!(after[1], before[1]);
    let failed = MemberFilter { statuses: vec![MemberStatus::Failed], ..of_first() };
    let failed = world.some_members(failed, everything()).await;
    assert_eq!((numbers(&failed.items), failed.total), (vec![5], 1));
    let number = stepwell_core::id::RunNumber(5);
    assert_eq!(world.store.numbered_run(number).await.expect("a lookup"), None);
    assert_eq!(numbers(&world.members(1).await), [5, 6]);
}

/// A batch of many members joins in one decision, and its pages stay cheap.
pub async fn many_join_at_once(subject: Subject) {
    let world = World::of(&subject).await;
    let members: Vec<i64> = (1..=2_000).collect();
    let batch = world.detects(1, &members).await;
    assert_eq!((batch.joined, batch.tally.open), (2_000, 2_000));
    assert_eq!(batch.phases[1].tally.open, 2_000);
    let page = world.some_members(of_first(), Slice { offset: 1_990, limit: 20 }).await;
    assert_eq!(numbers(&page.items), members[1_990..]);
    assert_eq!(page.total, 2_000);
    let late =
        BatchWrite { joined: vec![joining(batch.id(), 2_001)], ..decided_batch(&batch, &join(1)) };
    assert_eq!(world.decides(late).await.tally.open, 2_001);
    let first = world.member_run(1).await;
    world.stores(opened(&first, "prepare")).await;
    let opening = members[1..200].iter().map(|number| number.unsigned_abs());
    let mut items: Vec<Item> = Vec::new();
    for number in opening {
        items.push(opened(&world.member_run(number).await, "prepare"));
    }
    assert!(world.commits(items).await.iter().all(|it| *it == crate::model::Verdict::Done));
    assert_eq!(world.batch(1).await.tally.open, 2_001);
}
