//! Batches: what is stored with a decision, what is left out, and how it is found again.

use std::sync::Arc;

use stepwell_core::batch::{
    Batch, BatchCommand, BatchHeader, BatchMode, BatchStatus, MemberTally, PhaseStatus, PhaseTally,
};
use stepwell_core::command::{Adopted, Command};
use stepwell_core::id::{BatchId, MemberId, RunId, RunNumber, Tenant};
use stepwell_core::run::BatchRole;

use super::Subject;
use super::batch_world::{
    ada, adopt, batch_header, batch_item, decided_batch, decided_batch_at, detected, everything,
    join, joining, leave, leaving, longer_workflow, member_header, numbers, opened, other_run,
    stop, undecided,
};
use super::world::{World, at, decided, failure, key, run_id, started, undoing};
use crate::model::{
    BatchEvent, BatchFilter, BatchRun, BatchWrite, Item, Numbered, Slice, StoredRun, Verdict,
};

/// How the counters of a batch of so many members stand, when none of them has begun.
fn untouched(batch: &Batch, members: i64) -> Batch {
    let mut batch = batch.clone();
    batch.tally = MemberTally { open: members, ..MemberTally::default() };
    for phase in &mut batch.phases {
        phase.tally = PhaseTally { open: members, ..PhaseTally::default() };
    }
    batch
}

/// A batch is there with its phases, its members, their runs and its history, all at once.
pub async fn a_batch_is_stored_whole(subject: Subject) {
    let world = World::of(&subject).await;
    let mut write = detected(batch_header(1), &[5, 6]);
    write.runs = vec![other_run(BatchId(1), None, BatchRole::Init, 90)];
    let (decided, record) = (Arc::clone(&write.batch), write.record.clone());
    let runs: Vec<StoredRun> =
        write.joined.iter().map(|member| StoredRun::of(&member.run.run)).collect();
    let stored = world.decides(write).await;

    assert_eq!(stored, untouched(&decided, 2));
    assert_eq!(stored.joined, 2);
    assert_eq!(world.loads(vec![run_id(5), run_id(6)]).await, runs);
    assert!(world.stored(run_id(90)).await.is_some());
    let members = world.members(1).await;
    assert_eq!(numbers(&members), [5, 6]);
    assert_eq!(members[0].run, run_id(5));
    assert_eq!(members[0].key, "member-5@contoso.example");
    assert_eq!((members[0].data_hash, members[0].added_at), ([1; 32], at(5)));
    let events = world.store.batch_events(None, 0, 9).await.expect("events");
    let records: Vec<_> = events.into_iter().map(|event| (event.batch, event.record)).collect();
    assert_eq!(records, [(BatchId(1), record.expect("a record"))]);
    assert_eq!(world.store.batch(BatchId(2)).await.expect("a lookup"), None);
}

/// A batch begins under the key of its first member's run: once, and whole.
pub async fn a_batch_is_made_once_under_a_key(subject: Subject) {
    let world = World::of(&subject).await;
    let keyed = |number: i64, members: &[i64], request: u8| {
        let mut write = detected(batch_header(number), members);
        write.joined[0].run.key = Some(key(b'k', request));
        batch_item(write)
    };
    assert_eq!(world.commits(vec![keyed(1, &[5, 6], b'r')]).await, [Verdict::Done]);
    let holder = world.store.by_key(Tenant::new("acme"), [b'k'; 32]).await.expect("a lookup");
    let holder = holder.expect("a holder");
    assert_eq!((holder.run, holder.request_hash), (run_id(5), [b'r'; 32]));
    for request in [b'r', b's'] {
        let verdicts = world.commits(vec![keyed(2, &[7, 8], request)]).await;
        assert_eq!(verdicts, [Verdict::Duplicate(holder)]);
        assert_eq!(world.store.batch(BatchId(2)).await.expect("a lookup"), None);
        assert!(world.stored(run_id(7)).await.is_none() && world.stored(run_id(8)).await.is_none());
    }
}

/// A decision from another version, or a batch that is made twice, leaves nothing behind.
pub async fn a_stale_decision_on_a_batch_writes_nothing(subject: Subject) {
    let world = World::of(&subject).await;
    let before = undecided(batch_header(1));
    world.refuses(BatchWrite { from_version: Some(1), ..detected(batch_header(1), &[5]) }).await;
    assert_eq!(world.store.batch(before.id()).await.expect("a lookup"), None);

    let batch = world.detects(1, &[5]).await;
    world.refuses(detected(batch_header(1), &[6])).await;
    let lost = BatchWrite {
        joined: vec![joining(batch.id(), 7)],
        removed: vec![leaving(5, "eve")],
        runs: vec![other_run(batch.id(), None, BatchRole::Init, 90)],
        refreshed: vec![(MemberId(5), [9; 32])],
        from_version: Some(batch.version - 1),
        ..decided_batch(&batch, &join(1))
    };
    let also = detected(batch_header(2), &[8]);
    let verdicts = world.commits(vec![batch_item(lost), batch_item(also)]).await;
    assert_eq!(verdicts, [Verdict::Stale, Verdict::Done], "its neighbor does not suffer");

    assert_eq!(world.batch(1).await, batch);
    let members = world.members(1).await;
    assert_eq!(numbers(&members), [5]);
    assert_eq!((members[0].removed_at, members[0].data_hash), (None, [1; 32]));
    for run in [6, 7, 90] {
        assert_eq!(world.stored(run_id(run)).await, None, "run {run}");
        let number = RunNumber(i64::try_from(run).expect("small"));
        assert_eq!(world.store.numbered_run(number).await.expect("a lookup"), None);
    }
    let events = world.store.batch_events(Some(BatchId(1)), 0, 9).await.expect("events");
    assert_eq!(events.len(), 1);
    assert_eq!(numbers(&world.members(2).await), [8]);
}

/// A run of it that exists already hinders all of it.
pub async fn a_batch_is_stored_with_all_its_runs_or_not_at_all(subject: Subject) {
    let world = World::of(&subject).await;
    let batch = world.detects(1, &[5]).await;
    let mut write = BatchWrite {
        joined: vec![joining(batch.id(), 6), joining(batch.id(), 7)],
        ..decided_batch(&batch, &join(2))
    };
    write.joined[1].run = started(member_header(batch.id(), 7, 5));
    world.refuses(write).await;
    assert_eq!(world.batch(1).await, batch);
    assert_eq!(numbers(&world.members(1).await), [5]);
    assert_eq!(world.stored(run_id(6)).await, None);
}

/// Whoever decides a batch has read its counters earlier; what they were then is never written.
pub async fn a_decision_never_writes_counters(subject: Subject) {
    let world = World::of(&subject).await;
    let batch = world.detects(1, &[5, 6]).await;
    let mut write = decided_batch(&batch, &BatchCommand::Move { start: at(9_000), by: ada() });
    let odd = Arc::make_mut(&mut write.batch);
    odd.tally.failed = 77;
    odd.phases[0].tally.open = 77;
    let stored = world.decides(write).await;
    assert_eq!(stored.tally, batch.tally);
    assert_eq!(stored.phases[0].tally, batch.phases[0].tally);
    assert_eq!(stored.start, Some(at(9_000)));
    assert_ne!(stored.phases[0].due_at, batch.phases[0].due_at, "what was decided is written");
    assert!(!stored.sweeps.is_empty());
}

/// A batch that follows another version has its phases too, counted from nothing, and its runs follow
/// the longer workflow.
pub async fn a_batch_goes_over_to_another_version(subject: Subject) {
    let world = World::of(&subject).await;
    let batch = world.detects(1, &[5]).await;
    let batch = world.decides(decided_batch(&batch, &adopt(1))).await;
    let phases: Vec<_> = batch.phases.iter().map(|it| (it.gate.as_str(), it.status)).collect();
    let superseded = PhaseStatus::Superseded;
    let expected =
        [("prepare", superseded), ("cutover", superseded), ("cutover@2", PhaseStatus::Pending)];
    assert_eq!(phases, expected);
    assert_eq!(batch.phases[2].tally, PhaseTally::default());
    assert_eq!(batch.phases[0].tally.open, 1, "until the member has gone over too");

    let run = world.member_run(5).await;
    let longer = Command::Adopt {
        workflow: Adopted::of(longer_workflow()),
        superseded: vec!["prepare".to_owned(), "cutover".to_owned()],
        skipped: Vec::new(),
    };
    let advance = decided(&run, &longer);
    assert!(advance.header_changed);
    let run = world.takes(advance).await;
    assert_eq!(world.stored(run_id(5)).await, Some(StoredRun::of(&run)));
    let batch = world.batch(1).await;
    let counted: Vec<_> = batch.phases.iter().map(|it| (it.tally.open, it.tally.skipped)).collect();
    assert_eq!(counted, [(0, 1), (0, 1), (1, 0)]);

    let input = run.header.input.iter().map(|(name, _)| (name.clone(), "new".into())).collect();
    let refresh = Command::Refresh { input: Some(input), special: None };
    let run = world.takes(decided(&run, &refresh)).await;
    assert_eq!(world.stored(run_id(5)).await, Some(StoredRun::of(&run)));
}

/// A list of batches is cut anywhere and knows how long it is.
pub async fn batches_are_listed_newest_first(subject: Subject) {
    let world = World::of(&subject).await;
    let headers = [
        batch_header(1),
        BatchHeader { mode: BatchMode::Manual, slot: None, ..batch_header(2) },
        BatchHeader { runbook: "merge".to_owned(), ..batch_header(3) },
        BatchHeader { tenant: Tenant::new("globex"), ..batch_header(4) },
        BatchHeader { slot: Some(at(9_000)), ..batch_header(5) },
    ];
    for header in headers {
        world.decides(detected(header, &[])).await;
    }
    let ended = world.batch(1).await;
    let ended = world.decides(decided_batch(&ended, &stop())).await;
    assert!(!ended.is_settled(), "its members are still to be told");
    let ended = decided_batch(&ended, &BatchCommand::Swept { through: None });
    assert!(world.decides(ended).await.is_settled());

    let any = BatchFilter::default;
    let of_move = || BatchFilter { runbook: Some("move".to_owned()), ..any() };
    let cases = [
        (any(), vec![5, 4, 3, 2, 1]),
        (of_move(), vec![5, 4, 2, 1]),
        (BatchFilter { tenant: Some(Tenant::new("globex")), ..any() }, vec![4]),
        (BatchFilter { tenant: Some(Tenant::new("acme")), ..of_move() }, vec![5, 2, 1]),
        (BatchFilter { mode: Some(BatchMode::Manual), ..any() }, vec![2]),
        (BatchFilter { slot: Some(at(7_200)), ..any() }, vec![4, 3, 1]),
        (BatchFilter { slot: Some(at(7_200)), ..of_move() }, vec![4, 1]),
        (BatchFilter { slot: Some(at(7_200)), unsettled: true, ..of_move() }, vec![4]),
        (BatchFilter { unsettled: true, ..any() }, vec![5, 4, 3, 2]),
        (BatchFilter { unsettled: true, ..of_move() }, vec![5, 4, 2]),
        (
            BatchFilter { statuses: vec![BatchStatus::Cancelled, BatchStatus::Detected], ..any() },
            vec![2, 1],
        ),
        (BatchFilter { statuses: vec![BatchStatus::Active], ..of_move() }, vec![5, 4]),
        (BatchFilter { runbook: Some("none".to_owned()), ..any() }, vec![]),
    ];
    for (filter, expected) in cases {
        let total = expected.len() as u64;
        let found = world.batches(filter.clone(), everything()).await;
        assert_eq!(found, (expected.clone(), total), "{filter:?}");
        let part = expected.into_iter().skip(1).take(2).collect();
        let slice = Slice { offset: 1, limit: 2 };
        assert_eq!(world.batches(filter.clone(), slice).await, (part, total), "{filter:?}");
    }
    let listed = world.store.batches(any(), everything()).await.expect("a list").items;
    assert_eq!(listed[0], world.batch(5).await, "with phases and counters");
}

/// Whoever reads on from the last fact it saw misses none, of one batch or of all.
pub async fn a_history_of_batches_is_read_on(subject: Subject) {
    let world = World::of(&subject).await;
    let first = world.detects(1, &[5]).await;
    world.detects(2, &[]).await;
    let pause = BatchCommand::Pause { by: ada() };
    let paused = decided_batch(&first, &pause);
    let record = paused.record.clone().expect("a record");
    let first = world.decides(paused).await;
    let swept = decided_batch(&first, &BatchCommand::Swept { through: None });
    assert_eq!(swept.record, None, "how far a sweep has come is not kept");
    world.decides(swept).await;

    let events = |batch: Option<i64>, after: i64, limit: usize| {
        world.store.batch_events(batch.map(BatchId), after, limit)
    };
    let all: Vec<BatchEvent> = events(None, 0, 9).await.expect("events");
    assert_eq!(all.iter().map(|event| event.batch.0).collect::<Vec<_>>(), [1, 2, 1]);
    assert!(all.is_sorted_by_key(|event| event.id));
    assert_eq!(all[2].record, record);
    assert_eq!(events(None, all[0].id, 1).await.expect("events"), [all[1].clone()]);
    let of_first = events(Some(1), all[0].id, 9).await.expect("events");
    assert_eq!(of_first, [all[2].clone()]);
    assert_eq!(events(Some(1), all[2].id, 9).await.expect("events"), []);
}

/// The runs of a batch are found by what they do, by whom they are for, and by number; a run that undoes
/// a step has the number of the run it undoes.
pub async fn runs_of_a_batch_have_numbers(subject: Subject) {
    let world = World::of(&subject).await;
    let mut write = detected(batch_header(1), &[5, 6]);
    write.runs = vec![other_run(BatchId(1), None, BatchRole::Init, 90)];
    world.decides(write).await;
    world.detects(2, &[7]).await;
    let removal = other_run(BatchId(1), Some(6), BatchRole::Removal, 91);
    world.stores(Item::Create(Box::new(removal))).await;

    let run = world.member_run(5).await;
    world.stores(opened(&run, "prepare")).await;
    let run = world.member_run(5).await;
    let mut failed = decided(&run, &failure(&run));
    let mut undo = undoing(run_id(5), 95);
    undo.membership = run.header.membership;
    failed.children = vec![started(undo)];
    world.takes(failed).await;

    let found = async |role: Option<BatchRole>, member: Option<i64>| -> Vec<i64> {
        let runs = world.store.batch_runs(BatchId(1), role, member.map(MemberId)).await;
        runs.expect("runs").iter().map(|run| run.number.0).collect()
    };
    assert_eq!(found(None, None).await, [5, 6, 90, 91]);
    assert_eq!(found(Some(BatchRole::Init), None).await, [90]);
    assert_eq!(found(Some(BatchRole::Member), None).await, [5, 6]);
    assert_eq!(found(None, Some(6)).await, [6, 91]);
    assert_eq!(found(Some(BatchRole::Removal), Some(6)).await, [91]);
    let numbered = async |number: i64| -> Option<RunId> {
        let found = world.store.numbered_run(RunNumber(number)).await.expect("a lookup");
        found.map(|run: BatchRun| run.run)
    };
    assert_eq!(numbered(5).await, Some(run_id(5)), "not the run that undoes it");
    assert_eq!(numbered(91).await, Some(run_id(91)));
    assert_eq!(numbered(95).await, None);
    let undoing = world.stored(run_id(95)).await.expect("the run that undoes");
    assert_eq!(undoing.header.membership, run.header.membership);
}

/// Nobody gets a number twice, whoever asks for how many.
pub async fn numbers_are_given_once(subject: Subject) {
    let store = &*subject.store;
    assert_eq!(store.reserve(Numbered::Member, 20_000).await.expect("numbers"), 1);
    assert_eq!(store.reserve(Numbered::Member, 1).await.expect("a number"), 20_001);
    assert_eq!(store.reserve(Numbered::Member, 5).await.expect("numbers"), 20_002);
    assert_eq!(store.reserve(Numbered::Batch, 1).await.expect("a number"), 1, "each on its own");
}

/// What one may do alone, another may do when the time is over or it was given back.
pub async fn a_right_is_held_by_one(subject: Subject) {
    let store = &*subject.store;
    let takes = async |name: &str, holder: &str, now: u64, until: u64| {
        let (name, holder) = (name.to_owned(), holder.to_owned());
        store.lease(name, holder, at(now), at(until)).await.expect("a lease")
    };
    assert!(takes("tick:move", "one", 0, 60).await);
    assert!(!takes("tick:move", "two", 30, 90).await);
    assert!(takes("tick:merge", "two", 30, 90).await, "another right");
    assert!(takes("tick:move", "one", 50, 110).await, "kept");
    assert!(!takes("tick:move", "two", 60, 120).await, "because it was kept");
    if store.is_shared() {
        // Instances have clocks of their own, so the store's counts, and no case can move that.
        assert!(takes("tick:move", "one", 110, 0).await, "given back");
    }
    assert!(takes("tick:move", "one", 70, 0).await, "given back");
    assert!(takes("tick:move", "two", 80, 140).await);
    // A store that several share goes by its own clock, which no case can move.
    if !store.is_shared() {
        assert!(!takes("tick:move", "one", 139, 200).await);
        assert!(takes("tick:move", "one", 140, 200).await, "its time is over");
    }
}

/// After a restart every batch, member and counter is where it was, and numbers go on.
pub async fn batches_are_there_after_a_restart(subject: Subject) {
    let Some(reopen) = &subject.reopen else { return };
    let world = World::of(&subject).await;
    world.store.reserve(Numbered::Run, 9).await.expect("numbers");
    let batch = world.detects(1, &[5, 6]).await;
    let due = batch.phases[0].due_at.expect("it has a time");
    let check = BatchCommand::Check { init: None };
    let batch = world.decides(decided_batch_at(&batch, &check, due)).await;
    assert_eq!(batch.phases[0].status, PhaseStatus::Dispatched);
    let run = world.member_run(5).await;
    world.stores(opened(&run, "prepare")).await;
    let gone = decided_batch(&batch, &leave(1));
    world.decides(BatchWrite { removed: vec![leaving(6, "ada")], ..gone }).await;
    let (batch, members) = (world.batch(1).await, world.members(1).await);

    world.store.close().await.expect("it closes");
    let subject = Subject { store: reopen().await.expect("it opens again"), reopen: None };
    let world = World::of(&subject).await;
    assert_eq!(world.batch(1).await, batch);
    assert_eq!(world.members(1).await, members);
    assert_eq!(world.store.reserve(Numbered::Run, 1).await.expect("a number"), 10);
}
