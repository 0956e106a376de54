//! Batches, told a second time: from their stored state, their history, and the runs of their members.

mod count;
mod rest;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use stepwell_core::batch::{Batch, BatchEntry, BatchRecord, BatchStatus, Phase, PhaseStatus};
use stepwell_core::definition::Part;
use stepwell_core::entry::Entry;
use stepwell_core::id::{BatchId, MemberId, PhaseId, RunId};
use stepwell_core::run::{BatchRole, Header, Run};
use stepwell_core::time::Timestamp;
use stepwell_store::{BatchEvent, Member};

use super::rules::{
    BATCH_STAYS_ENDED, DONE_ONCE, LEFT_THE_SOURCE, NEVER_EARLY, ONE_PASS, PHASE_FIRST,
    PHASE_IN_TIME, REMOVAL_ONCE, Violation,
};
use super::{Oracle, Probe};

/// Who leads batches, as histories name them.
pub const LEAD: &str = "lead";

/// Whose removals follow from what the source says.
const SCHEDULER: &str = "scheduler";

/// How long an instance has a runbook to itself.
const LEASE_MS: i64 = 15 * 60_000;

const MINUTE_MS: i64 = 60_000;

/// A batch as it was read back from the store after a commit.
#[derive(Clone, Debug)]
pub struct BatchSeen {
    /// with its phases and counters
    pub batch: Batch,
    /// all that ever joined
    pub members: Vec<Member>,
    /// its history since it was last looked at
    pub events: Vec<BatchEvent>,
}

/// Every batch of a world, and what its source said.
#[derive(Debug, Default)]
pub(super) struct Batches {
    of: BTreeMap<BatchId, WatchedBatch>,
    /// something is done for each member that leaves
    has_removal: bool,
    /// answers with rows: who had which moment
    answers: Vec<BTreeMap<String, Timestamp>>,
    /// steps that succeeded for a member
    done: BTreeSet<(MemberId, String)>,
    /// the runs of members, oldest first
    runs: BTreeMap<MemberId, Vec<RunId>>,
    /// what was begun for members that left
    removals: BTreeMap<MemberId, Vec<RunId>>,
    /// who has something to itself, and since when
    leases: BTreeMap<String, (String, Timestamp)>,
}

/// A batch under watch.
#[derive(Debug)]
struct WatchedBatch {
    seen: BatchSeen,
    /// the fold of its history, which says nothing of counters and sweeps
    told: Batch,
    /// T-0, as its history tells it
    start: Option<Timestamp>,
    /// gates of phases that have begun
    begun: BTreeSet<String>,
    /// phases that the last commit said are over
    newly_over: Vec<PhaseId>,
    /// the last event that was read
    event: i64,
    /// the answers of the source that each member has not seen, because it came later
    joined_after: BTreeMap<MemberId, usize>,
}

impl Oracle {
    /// Something is done for each member that leaves, or not.
    pub fn has_removal(&mut self, has_removal: bool) {
        self.batches.has_removal = has_removal;
    }

    /// The history of a batch is known up to this place.
    #[must_use]
    pub fn known_event(&self, batch: BatchId) -> i64 {
        self.batches.of.get(&batch).map_or(0, |watched| watched.event)
    }

    /// Batches that have not ended, oldest first.
    #[must_use]
    pub fn open_batches(&self) -> Vec<Batch> {
        let batches = self.batches.of.values().map(|watched| &watched.seen.batch);
        batches.filter(|batch| !batch.status.is_terminal()).cloned().collect()
    }

    /// How many batches there ever were, and how many members.
    #[must_use]
    pub fn batches_and_members(&self) -> (usize, usize) {
        let members = self.batches.of.values().map(|watched| watched.seen.members.len());
        (self.batches.of.len(), members.sum())
    }

    /// Everybody who ever joined a batch.
    #[must_use]
    pub fn members_of(&self, batch: BatchId) -> Vec<MemberId> {
        let members = self.batches.of.get(&batch).map(|watched| &watched.seen.members);
        members.into_iter().flatten().map(|member| member.id).collect()
    }

    /// The source answered an instance; who has which moment.
    pub fn source_answered(&mut self, answer: BTreeMap<String, Timestamp>) {
        if !answer.is_empty() {
            self.batches.answers.push(answer);
        }
    }

    /// An instance took the right to do something alone, or gave it back.
    pub fn leased(&mut self, name: &str, holder: &str, taken: bool, at: Timestamp) {
        if !name.starts_with("runbook:") {
            return;
        }
        let held = self.batches.leases.get(name).filter(|(other, _)| other != holder).cloned();
        if let Some((other, since)) = held {
            // Their clocks may differ by twice as much as one of them may be off.
            let for_ms = at.as_millis() - since.as_millis();
            let expired = for_ms >= LEASE_MS - 2 * self.skew_max_ms;
            let free = expired || self.is_gone(&other);
            self.judge(ONE_PASS.check(free || !taken, || {
                format!("{holder} took {name}, which {other} had had for {for_ms} ms")
            }));
            if !taken {
                return;
            }
        }
        if taken {
            self.batches.leases.insert(name.to_owned(), (holder.to_owned(), at));
        } else {
            self.batches.leases.remove(name);
        }
    }

    /// A run begins that belongs to a batch.
    pub(super) fn begun_for_batch(&mut self, header: &Header) -> Result<(), Violation> {
        let Some(membership) = header.membership.filter(|_| header.parent.is_none()) else {
            return Ok(());
        };
        let Some(member) = membership.member else { return Ok(()) };
        match membership.role {
            BatchRole::Init => Ok(()),
            BatchRole::Member => {
                let runs = self.batches.runs.entry(member).or_default();
                runs.push(header.id);
                if runs.len() > 1 {
                    self.saw(Probe::MemberTakenUp);
                }
                Ok(())
            }
            BatchRole::Removal => {
                let removals = self.batches.removals.entry(member).or_default();
                removals.push(header.id);
                let count = removals.len();
                self.saw(Probe::MemberLeft);
                REMOVAL_ONCE.check(count == 1, || format!("member {member} left {count} times"))
            }
        }
    }

    /// A batch is looked at without a commit.
    pub fn looked_at(&mut self, seen: &BatchSeen, now: Timestamp) {
        let judged = self.batch_changed(seen, now).and_then(|()| self.batch_adds_up(seen));
        self.judge(judged);
    }

    /// Before the runs of a commit are read: what the batch itself says has changed.
    pub(super) fn batch_changed(
        &mut self,
        seen: &BatchSeen,
        at: Timestamp,
    ) -> Result<(), Violation> {
        let id = seen.batch.id();
        let known = self.batches.of.remove(&id);
        let ended = known.as_ref().map(|known| ended_stays(&known.seen.batch, &seen.batch));
        let mut watched = known.unwrap_or_else(|| WatchedBatch {
            seen: seen.clone(),
            told: before_all(&seen.batch),
            start: seen.batch.header.slot,
            begun: BTreeSet::new(),
            newly_over: Vec::new(),
            event: 0,
            joined_after: BTreeMap::new(),
        });
        let answers = self.batches.answers.len();
        for member in &seen.members {
            watched.joined_after.entry(member.id).or_insert(answers);
        }
        watched.newly_over = newly_over(&watched.seen.batch, &seen.batch);
        let verdict =
            ended.unwrap_or(Ok(())).and_then(|()| self.read_events(&mut watched, seen, at));
        let verdict = verdict.and_then(|()| self.removed_soundly(&watched, seen));
        watched.seen = seen.clone();
        self.batches.of.insert(id, watched);
        verdict
    }

    fn read_events(
        &mut self,
        watched: &mut WatchedBatch,
        seen: &BatchSeen,
        at: Timestamp,
    ) -> Result<(), Violation> {
        for event in &seen.events {
            watched.event = event.id;
            let ahead_ms = event.record.at.as_millis() - at.as_millis();
            NEVER_EARLY.check(ahead_ms <= self.skew_max_ms, || {
                format!("batch {} is dated {ahead_ms} ms ahead of the truth", event.batch)
            })?;
            self.arrows.note_batch(&mut watched.told, &event.record);
            for entry in &event.record.entries {
                self.look_for_rare_batch(entry);
                match entry {
                    BatchEntry::StartMoved { start, .. } => watched.start = Some(*start),
                    BatchEntry::PhaseDispatched { phase, by } => {
                        let by = by.as_ref().map(|by| by.actor.as_str());
                        in_time(watched, &seen.batch, *phase, by, &event.record)?;
                    }
                    _ => {}
                }
            }
        }
        let has_begun = |phase: &&Phase| phase.dispatched_at.is_some();
        let begun = seen.batch.phases.iter().filter(has_begun);
        watched.begun.extend(begun.map(|phase| phase.gate.clone()));
        Ok(())
    }

    fn look_for_rare_batch(&mut self, entry: &BatchEntry) {
        match entry {
            BatchEntry::MembersJoined { .. } => self.saw(Probe::LateJoiner),
            BatchEntry::StartMoved { .. } => self.saw(Probe::StartMoved),
            BatchEntry::VersionAdopted { .. } => self.saw(Probe::VersionFollowed),
            _ => {}
        }
    }

    /// Whom the scheduler removes, an answer of the source lacked since that member joined.
    fn removed_soundly(&self, watched: &WatchedBatch, seen: &BatchSeen) -> Result<(), Violation> {
        let before = &watched.seen.members;
        for member in &seen.members {
            let is_new = before.iter().all(|it| it.id != member.id || it.removed_at.is_none());
            if !is_new || member.removed_by.as_deref() != Some(SCHEDULER) {
                continue;
            }
            let slot = seen.batch.header.slot;
            let lacks =
                |answer: &BTreeMap<String, Timestamp>| answer.get(&member.key).copied() != slot;
            // The answer that it joined with may be older than its joining.
            let first =
                watched.joined_after.get(&member.id).map_or(0, |first| first.saturating_sub(1));
            let answers = self.batches.answers.get(first..).unwrap_or_default();
            LEFT_THE_SOURCE.check(answers.iter().any(lacks), || {
                let (id, key, count) = (member.id, &member.key, answers.len());
                format!("member {id} ({key}) was removed, and is in all {count} answers since")
            })?;
        }
        Ok(())
    }

    /// A fact of a member's run: nothing begins before its phase, and nothing is done twice.
    pub(super) fn member_goes_on(&mut self, run: &Run, entry: &Entry) -> Result<(), Violation> {
        let header: &Arc<Header> = &run.header;
        let Some(membership) = header.membership else { return Ok(()) };
        if membership.role != BatchRole::Member || header.part != Part::Main {
            return Ok(());
        }
        let Some(member) = membership.member else { return Ok(()) };
        match entry {
            Entry::StepDispatched { step, .. } => {
                let gate = run.spec(*step).gate.as_deref().unwrap_or_default();
                let watched = self.batches.of.get(&membership.batch);
                let begun = watched.is_some_and(|watched| watched.begun.contains(gate));
                PHASE_FIRST.check(begun, || {
                    format!("step {} of member {member} began, and {gate} has not", step.0)
                })
            }
            Entry::StepSucceeded { step, .. } => {
                let step = run.spec(*step).id.clone();
                let is_first = self.batches.done.insert((member, step.clone()));
                DONE_ONCE.check(is_first, || format!("{step} succeeded twice for {member}"))
            }
            _ => Ok(()),
        }
    }
}

/// A phase has just begun: was it time, or did somebody say so?
fn in_time(
    watched: &WatchedBatch,
    batch: &Batch,
    phase: PhaseId,
    by: Option<&str>,
    record: &BatchRecord,
) -> Result<(), Violation> {
    let found = batch.phases.iter().find(|it| it.id == phase);
    let due_ms = found
        .zip(watched.start)
        .map(|(phase, start)| start.as_millis() - i64::from(phase.offset_minutes) * MINUTE_MS);
    let sound = by == Some(LEAD) || due_ms.is_some_and(|due_ms| due_ms <= record.at.as_millis());
    PHASE_IN_TIME.check(sound, || {
        format!("phase {phase} began at {}, due {due_ms:?}, because of {by:?}", record.at)
    })
}

fn ended_stays(before: &Batch, after: &Batch) -> Result<(), Violation> {
    let sound = !before.status.is_terminal() || before.status == after.status;
    BATCH_STAYS_ENDED.check(sound, || {
        let (id, was, is) = (after.id(), before.status.word(), after.status.word());
        format!("batch {id} was {was} and is {is}")
    })?;
    for phase in before.phases.iter().filter(|phase| phase.status.is_terminal()) {
        let now = after.phases.iter().find(|it| it.id == phase.id).map(|it| it.status);
        BATCH_STAYS_ENDED.check(now == Some(phase.status), || {
            format!("phase {} was {} and is {now:?}", phase.id, phase.status.word())
        })?;
    }
    Ok(())
}

/// Phases that are over because their members are: not passed over, and not replaced.
fn newly_over(before: &Batch, after: &Batch) -> Vec<PhaseId> {
    let is_over = |phase: &&Phase| match phase.status {
        PhaseStatus::Completed | PhaseStatus::Failed => true,
        PhaseStatus::Pending
        | PhaseStatus::Dispatched
        | PhaseStatus::Skipped
        | PhaseStatus::Superseded => false,
    };
    let was_over = |id: PhaseId| before.phases.iter().filter(is_over).any(|it| it.id == id);
    let over = after.phases.iter().filter(is_over).map(|phase| phase.id);
    over.filter(|id| !was_over(*id)).collect()
}

/// A batch as it was before its first decision.
fn before_all(batch: &Batch) -> Batch {
    let mut before = batch.clone();
    before.status = BatchStatus::Detected;
    before.phases.iter_mut().for_each(|phase| phase.status = PhaseStatus::Pending);
    before
}
