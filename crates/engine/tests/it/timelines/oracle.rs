//! What must be true on every timeline, told from the documents, the source and the workers' own notes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use stepwell_core::batch::{Batch, BatchStatus, Init, Phase, PhaseStatus};
use stepwell_core::id::{MemberId, PhaseId, RunId};
use stepwell_core::run::{BatchRole, Run, RunStatus};
use stepwell_core::step::StepStatus;
use stepwell_store::{Member, MemberStatus};

use super::log::{Job, Log, Note};
use super::plan::{Document, PhaseDocument};
use super::recount;
use crate::batches::world::Place;

const MINUTE_MS: i64 = 60_000;

type Verdict = Result<(), String>;

fn check(holds: bool, otherwise: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(otherwise()) }
}

/// Watches a batch while it lives.
pub(crate) struct Watch {
    /// T-0
    start_ms: i64,
    documents: BTreeMap<u32, Document>,
    seen: BTreeMap<PhaseId, Phase>,
    is_cancelled: bool,
    /// how often in a row it was seen at rest and paused
    pauses: u32,
}

impl Watch {
    pub(crate) fn new(start_ms: i64, document: Document) -> Self {
        let documents = BTreeMap::from([(1, document)]);
        Self { start_ms, documents, seen: BTreeMap::new(), is_cancelled: false, pauses: 0 }
    }

    pub(crate) fn published(&mut self, version: u32, document: Document) {
        self.documents.insert(version, document);
    }

    pub(crate) fn moved(&mut self, start_ms: i64) {
        self.start_ms = start_ms;
    }

    pub(crate) fn cancelled(&mut self) {
        self.is_cancelled = true;
    }

    fn document(&self, phase: &Phase) -> Option<&PhaseDocument> {
        let document = self.documents.get(&phase.version)?;
        document.phases.iter().find(|known| known.name == phase.name)
    }

    /// Looks at a batch in which nothing moves without news.
    pub(crate) fn look(&mut self, batch: &Batch, now_ms: i64) -> Verdict {
        check(batch.sweeps.is_empty(), || format!("sweeps rest: {:?}", batch.sweeps))?;
        self.pauses = if batch.paused { self.pauses + 1 } else { 0 };
        for phase in &batch.phases {
            let document = self.document(phase);
            let document = document.ok_or_else(|| format!("nobody wrote {phase:?}"))?;
            let due_ms = self.start_ms - document.offset * MINUTE_MS;
            self.look_at_phase(batch, phase, due_ms, now_ms)?;
            self.seen.insert(phase.id, phase.clone());
        }
        Ok(())
    }

    fn look_at_phase(&self, batch: &Batch, phase: &Phase, due_ms: i64, now_ms: i64) -> Verdict {
        let before = self.seen.get(&phase.id);
        let was_pending = before.is_none_or(|before| before.status == PhaseStatus::Pending);
        if phase.status == PhaseStatus::Pending {
            check(was_pending, || format!("it began, and waits again: {phase:?}"))?;
            let due_at = phase.due_at.map(|at| at.as_millis());
            check(due_at == Some(due_ms), || format!("not where T-0 says, {due_ms}: {phase:?}"))?;
            let may_begin = batch.status == BatchStatus::Active && !batch.paused;
            let is_late = may_begin && due_ms <= now_ms && phase.version == batch.runbook_version;
            return check(!is_late, || format!("due, and not begun at {now_ms}: {phase:?}"));
        }
        if let Some(before) = before.filter(|_| !was_pending) {
            let moments = |it: &Phase| (it.due_at, it.dispatched_at);
            check(moments(before) == moments(phase), || format!("moved: {before:?} {phase:?}"))?;
            let same = !before.status.is_terminal() || before.status == phase.status;
            return check(same, || format!("it was over: {before:?}, and is {phase:?}"));
        }
        let Some(begun_at) = phase.dispatched_at else { return Ok(()) };
        check(begun_at.as_millis() >= due_ms, || format!("begun before {due_ms}: {phase:?}"))
    }

    /// A worker is given a job for the first time: may it be done now?
    pub(crate) fn may_be_done(&self, batch: &Batch, job: &Job) -> Verdict {
        if !job.is_way() {
            return Ok(());
        }
        // What a worker said while the pause was being carried to everybody may still have gone on.
        check(self.pauses < 2, || format!("dispatched in a paused batch: {job:?}"))?;
        let phase = batch.phases.iter().find(|phase| job.gate.as_ref() == Some(&phase.gate));
        let phase = phase.ok_or_else(|| format!("of no phase: {job:?}"))?;
        check(phase.dispatched_at.is_some(), || format!("before its time: {job:?}, {phase:?}"))?;
        // Every step but the first of a phase is given what that one has set.
        let document = self.document(phase).ok_or("nobody wrote it")?;
        let first = format!("{}/{}", phase.gate, document.steps[0].name);
        let expected =
            if job.step == first { "first".into() } else { format!("{} did {first}", job.user) };
        check(job.seen.as_ref() == Some(&expected), || format!("not given {expected:?}: {job:?}"))
    }
}

/// A member with all that is known about it in the end.
struct Known<'a> {
    member: Member,
    /// its ways through the phases, oldest first
    ways: Vec<Arc<Run>>,
    taken: Vec<&'a Note>,
    done: Vec<&'a Note>,
}

impl Known<'_> {
    fn newest(&self) -> Result<&Run, String> {
        let newest = self.ways.iter().find(|run| run.id() == self.member.run);
        newest.map(AsRef::as_ref).ok_or_else(|| format!("no run of {:?}", self.member))
    }

    /// When it has done all steps of a phase, if it has.
    fn finished_at(&self, gate: &str, document: &PhaseDocument) -> Option<i64> {
        let ended = document.steps.iter().map(|step| {
            let id = format!("{gate}/{}", step.name);
            let done = self.done.iter().find(|note| note.job.is_way() && note.job.step == id);
            done.map(|note| note.at_ms)
        });
        ended.collect::<Option<Vec<i64>>>()?.into_iter().max()
    }
}

/// Judges a timeline that is over.
pub(crate) async fn judge(place: &Place, batch: &Batch, log: &Log, watch: &Watch) -> Verdict {
    once(&log.done)?;
    let mut everybody = Vec::new();
    for member in place.members(batch.id()).await {
        let runs = place.world.store.batch_runs(batch.id(), None, Some(member.id)).await;
        let runs = runs.map_err(|error| error.to_string())?;
        let mut ways = Vec::new();
        for found in runs.iter().filter(|run| run.role == BatchRole::Member) {
            ways.push(place.world.run(found.run).await);
        }
        let is_its = |note: &&Note| note.job.member == Some(member.id);
        let taken = log.taken.iter().filter(is_its).collect();
        let done = log.done.iter().filter(is_its).collect();
        everybody.push(Known { member, ways, taken, done });
    }
    for known in &everybody {
        judge_member(batch, watch, known)?;
        undone(place, known, log).await?;
    }
    judge_phases(batch, watch, &everybody)?;
    judge_batch(batch, watch)?;
    let ways: Vec<(&Member, &[Arc<Run>])> =
        everybody.iter().map(|known| (&known.member, known.ways.as_slice())).collect();
    recount::compare(batch, &ways)
}

/// No step succeeds twice, for no member, in none of its runs.
fn once(done: &[Note]) -> Verdict {
    let mut seen: BTreeSet<(Option<MemberId>, Option<RunId>, &str)> = BTreeSet::new();
    for Note { job, .. } in done {
        // What a member has done is done for all its runs; init and rollbacks are done once a run.
        let run = (!job.is_way() && job.role != BatchRole::Removal).then_some(job.run);
        let is_first = seen.insert((job.member, run, &job.step));
        check(is_first, || format!("done twice: {job:?}"))?;
    }
    Ok(())
}

fn judge_member(batch: &Batch, watch: &Watch, known: &Known<'_>) -> Verdict {
    let newest = known.newest()?;
    check(newest.status.is_terminal(), || format!("still under way: {:?}", known.member))?;
    in_order(known)?;
    match known.member.status() {
        MemberStatus::Removed => left(known),
        // It failed, and does nothing more; which step, its run says.
        MemberStatus::Failed => Ok(()),
        MemberStatus::Active if newest.status == RunStatus::Cancelled => {
            let is_stopped = watch.is_cancelled || matches!(batch.init, Init::Failed(_));
            check(is_stopped, || format!("stopped by nobody: {:?}", known.member))
        }
        MemberStatus::Active => complete(batch, watch, known),
    }
}

/// Whoever stayed has done what has begun: of each phase, under the newest version that began it.
/// Whether it was there from the start makes no difference.
fn complete(batch: &Batch, watch: &Watch, known: &Known<'_>) -> Verdict {
    let mut newest: BTreeMap<&str, &Phase> = BTreeMap::new();
    let has_begun =
        |phase: &&Phase| phase.dispatched_at.is_some() && phase.status != PhaseStatus::Superseded;
    for phase in batch.phases.iter().filter(has_begun) {
        newest.insert(&phase.name, phase);
    }
    for phase in newest.into_values() {
        let document = watch.document(phase).ok_or("nobody wrote it")?;
        let is_done = known.finished_at(&phase.gate, document).is_some();
        check(is_done, || format!("{:?} has not done {phase:?}", known.member))?;
    }
    Ok(())
}

/// The steps of a way follow one another: each begins when all before it are done or passed over.
fn in_order(known: &Known<'_>) -> Verdict {
    for way in &known.ways {
        let place = |step: &str| way.header.specs().iter().position(|spec| spec.id == step);
        let mut last = 0;
        for note in known.taken.iter().filter(|note| note.job.is_way() && note.job.run == way.id())
        {
            let position = place(&note.job.step).ok_or("a step that its run does not have")?;
            check(position >= last, || format!("out of order: {note:?}"))?;
            let is_done = |earlier: usize| {
                let id = &way.header.specs()[earlier].id;
                let skipped = way.steps[earlier].status == StepStatus::Skipped;
                skipped
                    || known.done.iter().any(|done| {
                        done.job.is_way() && done.job.step == *id && done.at_ms <= note.at_ms
                    })
            };
            let ready = (0..position).all(is_done);
            check(ready, || format!("before what it follows: {note:?}"))?;
            last = position;
        }
    }
    Ok(())
}

/// Whoever left is given nothing more, and what is done for it then is done once.
fn left(known: &Known<'_>) -> Verdict {
    let left_ms = known.member.removed_at.map(|at| at.as_millis());
    for note in known.taken.iter().filter(|note| note.job.is_way()) {
        check(Some(note.at_ms) <= left_ms, || format!("after it left: {note:?}"))?;
    }
    let of_removal = known.taken.iter().filter(|note| note.job.role == BatchRole::Removal);
    check(of_removal.count() >= 1, || format!("nothing was done for {:?}", known.member))
}

/// A step that failed for good is undone if it says so: once, in order, to the end.
async fn undone(place: &Place, known: &Known<'_>, log: &Log) -> Verdict {
    for way in &known.ways {
        let failed = way.own_steps().filter(|(index, step)| {
            let failed = matches!(step.status, StepStatus::Failed | StepStatus::TimedOut);
            failed && way.spec(*index).on_failure.is_some()
        });
        let wanted = failed.count();
        let found = place.world.store.compensations(way.id()).await;
        let found = found.map_err(|error| error.to_string())?;
        check(found.len() == wanted, || format!("{wanted} to undo, and {found:?}"))?;
        for undoing in found {
            let of_it = |notes: &[Note]| -> Vec<String> {
                let its = notes.iter().filter(|note| note.job.run == undoing.id);
                its.map(|note| note.job.step.clone()).collect()
            };
            check(of_it(&log.taken) == ["one", "two"], || format!("undone wrongly: {undoing:?}"))?;
            check(of_it(&log.done) == ["one", "two"], || format!("not undone: {undoing:?}"))?;
        }
    }
    Ok(())
}

/// A phase is completed if one member had done all of it when it was over, and failed otherwise.
fn judge_phases(batch: &Batch, watch: &Watch, everybody: &[Known<'_>]) -> Verdict {
    for phase in &batch.phases {
        let document = watch.document(phase).ok_or("nobody wrote it")?;
        let over_ms = phase.completed_at.map(|at| at.as_millis());
        let finished = || everybody.iter().filter_map(|it| it.finished_at(&phase.gate, document));
        let holds = match phase.status {
            PhaseStatus::Completed => finished().any(|at_ms| Some(at_ms) <= over_ms),
            PhaseStatus::Failed => !finished().any(|at_ms| Some(at_ms) < over_ms),
            PhaseStatus::Skipped => phase.dispatched_at.is_none() && finished().next().is_none(),
            PhaseStatus::Superseded => true,
            PhaseStatus::Pending | PhaseStatus::Dispatched => false,
        };
        check(holds, || format!("not what its members say: {phase:?}"))?;
    }
    Ok(())
}

/// How the batch ended follows from its phases, unless somebody stopped it.
fn judge_batch(batch: &Batch, watch: &Watch) -> Verdict {
    let any = |status| batch.phases.iter().any(|phase| phase.status == status);
    let is_prepared = !matches!(batch.init, Init::Failed(_));
    let has_failed = any(PhaseStatus::Failed) && !any(PhaseStatus::Completed);
    let expected = match (watch.is_cancelled, is_prepared && !has_failed) {
        (true, _) => BatchStatus::Cancelled,
        (false, true) => BatchStatus::Completed,
        (false, false) => BatchStatus::Failed,
    };
    check(batch.status == expected, || format!("it should have ended as {expected:?}: {batch:#?}"))
}
