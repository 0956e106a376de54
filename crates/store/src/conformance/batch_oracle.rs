//! The reference as an oracle for batches: the same random life on both stores must look the same in
//! both, and the counters must be what a recount gives.

use std::collections::BTreeMap;
use std::sync::Arc;

use stepwell_core::batch::{Batch, BatchCommand, MemberTally, PhaseTally, Tally};
use stepwell_core::command::Command;
use stepwell_core::definition::CancelMode;
use stepwell_core::id::{BatchId, MemberId};
use stepwell_core::run::Run;

use super::Subject;
use super::batch_world::{
    ada, batch_header, decided_batch, detected, everything, join, joining, leave, leaving,
    taking_up,
};
use super::oracle::Dice;
use super::world::{World, at, decided, failure, success};
use crate::memory::MemoryStore;
use crate::model::{
    BatchFilter, BatchWrite, Item, Member, MemberFilter, MemberStatus, Slice, StoredRun, Verdict,
};

const ROUNDS: u64 = 100;
const BATCHES: i64 = 3;

/// Everything the case knows: what was done, on the stores' own word.
#[derive(Default)]
struct Known {
    batches: BTreeMap<i64, Batch>,
    /// the newest run of every member
    runs: BTreeMap<i64, Arc<Run>>,
    /// the next number of a member or of a run
    next: i64,
}

/// A store and the reference live through the same random groups on batches and answer the same.
pub async fn a_store_agrees_with_the_reference_on_batches(subject: Subject) {
    let reference = Subject { store: Arc::new(MemoryStore::new()), reopen: None };
    let (world, oracle) = (World::of(&subject).await, World::of(&reference).await);
    let mut dice = Dice(11);
    let mut known = Known { next: 1, ..Known::default() };
    for round in 0..ROUNDS {
        let items = group(&mut dice, &mut known);
        let verdicts = world.commits(items.clone()).await;
        assert_eq!(verdicts, oracle.commits(items.clone()).await, "round {round}");
        for (item, verdict) in items.into_iter().zip(verdicts) {
            if verdict == Verdict::Done {
                known.note(item);
            }
        }
        if dice.roll(8) == 0 {
            let gone: Vec<MemberId> =
                (0..3).map(|_| MemberId(any(&mut dice, known.next))).collect();
            world.store.removals_dispatched(gone.clone(), at(round)).await.expect("noted");
            oracle.store.removals_dispatched(gone, at(round)).await.expect("noted");
        }
        compare(&world, &oracle, &known, round).await;
    }
    assert!(known.runs.len() > 50, "the case is a busy one: {}", known.runs.len());
}

fn any(dice: &mut Dice, sides: i64) -> i64 {
    i64::try_from(dice.roll(sides.unsigned_abs())).expect("small")
}

/// A decision on each of some batches, and something that happens to some of the members.
fn group(dice: &mut Dice, known: &mut Known) -> Vec<Item> {
    let mut items = Vec::new();
    for number in 1..=BATCHES {
        if dice.roll(2) == 0 {
            let write = decision(dice, known, number);
            items.push(Item::Batch(Box::new(write)));
        }
    }
    let retaken: Vec<i64> = items.iter().flat_map(retaken).collect();
    for (member, run) in &known.runs {
        if dice.roll(3) > 0 || run.status.is_terminal() || retaken.contains(member) {
            continue;
        }
        let mut advance = decided(run, &happening(dice, run));
        if dice.roll(6) == 0 {
            advance.from_version += 1;
        }
        items.push(Item::Advance(Box::new(advance)));
    }
    items
}

fn decision(dice: &mut Dice, known: &mut Known, number: i64) -> BatchWrite {
    let Some(batch) = known.batches.get(&number).filter(|_| dice.roll(12) > 0).cloned() else {
        // Sometimes it is there already.
        return detected(batch_header(number), &[known.draw()]);
    };
    let mut write = match dice.roll(4) {
        0 => {
            let leaves = vec![leaving(any(dice, known.next), "ada")];
            BatchWrite { removed: leaves, ..decided_batch(&batch, &leave(0)) }
        }
        1 => {
            let command = BatchCommand::Move { start: at(8_000 + dice.roll(9)), by: ada() };
            let refreshed = vec![(MemberId(any(dice, known.next)), [3; 32])];
            BatchWrite { refreshed, ..decided_batch(&batch, &command) }
        }
        2 => {
            let of_batch =
                |run: &&Arc<Run>| run.header.membership.is_some_and(|it| it.batch.0 == number);
            let ended = known.runs.values().filter(of_batch).find(|run| run.status.is_terminal());
            let retaken = ended.cloned().map(|run| taking_up(&run, known.draw()));
            let command = BatchCommand::Swept { through: None };
            BatchWrite { retaken: retaken.into_iter().collect(), ..decided_batch(&batch, &command) }
        }
        _ => {
            let joined: Vec<_> =
                (0..=dice.roll(4)).map(|_| joining(batch.id(), known.draw())).collect();
            BatchWrite { ..with_joined(&batch, joined) }
        }
    };
    if dice.roll(6) == 0 {
        write.from_version = Some(batch.version + 7);
    }
    write
}

fn with_joined(batch: &Batch, joined: Vec<crate::model::NewMember>) -> BatchWrite {
    let write = decided_batch(batch, &join(joined.len()));
    BatchWrite { joined, ..write }
}

fn happening(dice: &mut Dice, run: &Run) -> Command {
    let in_flight = run.steps.iter().any(|step| step.lease.is_some());
    let closed = ["prepare", "cutover"].into_iter().find(|gate| !run.gates_open.contains(*gate));
    match (dice.roll(8), closed) {
        (0, _) => Command::Cancel { mode: Some(CancelMode::Immediate), by: ada() },
        (1, _) if in_flight => failure(run),
        (2.., _) if in_flight => success(run),
        (_, Some(gate)) => Command::OpenGate { gate: gate.to_owned() },
        (_, None) => Command::Cancel { mode: Some(CancelMode::Immediate), by: ada() },
    }
}

fn retaken(item: &Item) -> Vec<i64> {
    let Item::Batch(write) = item else { return Vec::new() };
    write.retaken.iter().filter_map(|create| member_of(&create.run)).collect()
}

fn member_of(run: &Run) -> Option<i64> {
    Some(run.header.membership?.member?.0)
}

impl Known {
    fn draw(&mut self) -> i64 {
        self.next += 1;
        self.next - 1
    }

    /// Takes over what was done.
    fn note(&mut self, item: Item) {
        match item {
            Item::Advance(advance) => self.note_run(advance.run),
            Item::Batch(write) => {
                self.batches.insert(write.batch.id().0, Batch::clone(&write.batch));
                write.joined.into_iter().for_each(|member| self.note_run(member.run.run));
                write.retaken.into_iter().for_each(|create| self.note_run(create.run));
            }
            Item::Create(_) | Item::Reschedule { .. } | Item::Audit(_) | Item::Forward(_) => {}
        }
    }

    fn note_run(&mut self, run: Arc<Run>) {
        let member = member_of(&run).expect("a member's run");
        self.runs.insert(member, run);
    }

    /// The counters as a recount of the newest runs gives them.
    fn recount(&self, batch: BatchId) -> (MemberTally, BTreeMap<String, PhaseTally>) {
        let mut phases: BTreeMap<String, PhaseTally> = BTreeMap::new();
        let mut members = MemberTally::default();
        let tallies = self.runs.values().filter_map(|run| Tally::moved(None, run));
        for tally in tallies.filter(|tally| tally.batch == batch) {
            members = members.plus(tally.members);
            for (gate, moved) in tally.phases {
                let sum = phases.entry(gate).or_default();
                *sum = sum.plus(moved);
            }
        }
        (members, phases)
    }
}

/// Everything that can be asked is answered the same by both.
async fn compare(world: &World, oracle: &World, known: &Known, round: u64) {
    let (one, other) = (&world.store, &oracle.store);
    let all = || BatchFilter::default();
    let listed = one.batches(all(), everything()).await.expect("batches");
    assert_eq!(listed, other.batches(all(), everything()).await.expect("batches"), "{round}");
    for batch in &listed.items {
        let (members, phases) = known.recount(batch.id());
        assert_eq!(batch.tally, members, "round {round}");
        for phase in &batch.phases {
            let counted = phases.get(&phase.gate).copied().unwrap_or_default();
            assert_eq!(phase.tally, counted, "round {round}, {}", phase.gate);
        }
        compare_members(world, oracle, batch.id(), round).await;
        let runs = one.batch_runs(batch.id(), None, None).await.expect("runs");
        assert_eq!(runs, other.batch_runs(batch.id(), None, None).await.expect("runs"));
    }
    let ids: Vec<_> = known.runs.values().map(|run| run.id()).collect();
    let stored = world.loads(ids).await;
    let expected: Vec<StoredRun> = known.runs.values().map(|run| StoredRun::of(run)).collect();
    assert_eq!(stored, expected, "round {round}");
    let records = |events: Vec<crate::model::BatchEvent>| -> Vec<_> {
        events.into_iter().map(|event| (event.batch, event.record)).collect()
    };
    let events = one.batch_events(None, 0, 999).await.expect("events");
    let theirs = other.batch_events(None, 0, 999).await.expect("events");
    assert_eq!(records(events), records(theirs), "round {round}");
    let mut keys = one.keys_in_batches("move".to_owned()).await.expect("keys");
    let mut theirs = other.keys_in_batches("move".to_owned()).await.expect("keys");
    keys.sort();
    theirs.sort();
    assert_eq!(keys, theirs, "round {round}");
}

async fn compare_members(world: &World, oracle: &World, batch: BatchId, round: u64) {
    let any = || MemberFilter::of(batch);
    let filters = [
        any(),
        MemberFilter { statuses: vec![MemberStatus::Active, MemberStatus::Failed], ..any() },
        MemberFilter { after: Some(MemberId(9)), ..any() },
        MemberFilter { removal_waits: true, ..any() },
    ];
    for filter in filters {
        let slice = Slice { offset: 2, limit: 7 };
        let mine = world.some_members(filter.clone(), slice).await;
        let theirs = oracle.some_members(filter.clone(), slice).await;
        // How many there are in all, the counters of the batch say, and in this case those who leave
        // are not counted by it.
        assert_eq!(mine.items, theirs.items, "round {round}, {filter:?}");
    }
    let all: Vec<Member> = world.some_members(any(), everything()).await.items;
    assert_eq!(all, oracle.some_members(any(), everything()).await.items, "round {round}");
}
