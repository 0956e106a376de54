//! Does to every member what must be done to all of them: a page at a time, each remembered.

use std::collections::BTreeMap;
use std::sync::Arc;

use stepwell_core::batch::{Batch, BatchCommand, Sweep, SweepKind};
use stepwell_core::command::{Act, Adopted, Carried, Command};
use stepwell_core::duration::Interval;
use stepwell_core::id::{MemberId, RunId, RunNumber};
use stepwell_core::run::{BatchRole, Run, RunStatus};
use stepwell_dialects::runbooks::compile::Sequence;
use stepwell_store::{Member, MemberFilter, Numbered, Slice};

use super::error::BatchError;
use super::members::{BatchRunPlan, begin, special, standing};
use super::write::{self, Along};
use crate::error::EngineError;
use crate::group::Write;
use crate::inputs;
use crate::intake::{Answered, Ask, Intake, Reply};
use crate::shared::Shared;

/// Members of one page.
const PAGE: usize = 2048;

/// Runs that are read ahead at once.
const AHEAD: usize = 256;

/// How long an instance has a batch's sweeps to itself; each page keeps it longer.
const LEASE: Interval = Interval::from_secs(30);

/// What came of a look at the sweeps of a batch.
pub(super) enum Progress {
    /// there are none
    Idle,
    /// a page is done, or the batch has changed: look again
    Moved,
    /// another instance is at it
    Elsewhere,
}

/// Does one page of the first sweep.
pub(super) async fn sweep(
    shared: &Shared,
    intake: &Intake,
    batch: &Batch,
) -> Result<Progress, BatchError> {
    let Some(sweep) = batch.sweeps.front() else { return Ok(Progress::Idle) };
    if !has_batch(shared, batch).await? {
        return Ok(Progress::Elsewhere);
    }
    let members = page(shared, batch, sweep.after).await?;
    let Some(last) = members.last().map(|member| member.id) else {
        finish(shared, intake, batch, sweep).await?;
        return Ok(Progress::Moved);
    };
    // While this page is decided and committed, the next one is read.
    let doing = do_page(shared, intake, batch, sweep, members);
    let (retaken, ()) = tokio::join!(doing, read_ahead(shared, batch, last));
    let retaken = retaken?;
    advance(shared, intake, batch, sweep, Some(last), retaken).await?;
    Ok(Progress::Moved)
}

async fn page(shared: &Shared, batch: &Batch, after: MemberId) -> Result<Vec<Member>, BatchError> {
    let filter = MemberFilter { after: Some(after), ..MemberFilter::of(batch.id()) };
    let page = Slice { offset: 0, limit: PAGE };
    Ok(shared.store.members(filter, page).await?.items)
}

/// Brings the runs of the next page into memory, so that nobody has to wait for them at the door. If
/// that fails they are read when they are asked for.
async fn read_ahead(shared: &Shared, batch: &Batch, after: MemberId) {
    let Ok(members) = page(shared, batch, after).await else { return };
    let open = members.iter().filter(|member| !member.run_status.is_terminal());
    let runs: Vec<RunId> = open.map(|member| member.run).collect();
    for runs in runs.chunks(AHEAD) {
        shared.read_ahead(runs).await;
    }
}

/// Several instances would do the same work side by side; harmless, but in vain.
async fn has_batch(shared: &Shared, batch: &Batch) -> Result<bool, BatchError> {
    if !shared.store.is_shared() {
        return Ok(true);
    }
    let now = shared.now();
    let name = format!("batch:{}", batch.id());
    let holder = shared.epoch().0.to_string();
    Ok(shared.store.lease(name, holder, now, now.after(LEASE)).await?)
}

/// What is done once for the batch, after its members.
async fn finish(
    shared: &Shared,
    intake: &Intake,
    batch: &Batch,
    sweep: &Sweep,
) -> Result<(), BatchError> {
    if sweep.kind == SweepKind::Refresh
        && let stepwell_core::batch::Init::Dispatched(run) = batch.init
    {
        let special = Some(special(batch));
        let ask = Ask::command(run, Command::Refresh { input: None, special });
        must_pass(intake.ask_patiently(vec![ask]).await?)?;
    }
    advance(shared, intake, batch, sweep, None, Vec::new()).await
}

/// Remembers how far the sweep has come. If the batch has changed meanwhile, that counts only if the
/// same sweep still stands where it stood.
async fn advance(
    shared: &Shared,
    intake: &Intake,
    batch: &Batch,
    sweep: &Sweep,
    through: Option<MemberId>,
    retaken: Vec<Write>,
) -> Result<(), BatchError> {
    let command = BatchCommand::Swept { through };
    if !retaken.is_empty() {
        // Runs were made for the batch as it was; if it has changed, they are made again.
        let along = Along { retaken, ..Along::default() };
        write::commit(shared, intake, batch, &command, along).await?;
        return Ok(());
    }
    let mut current = batch.clone();
    while current.sweeps.front() == Some(sweep) {
        let done = write::commit(shared, intake, &current, &command, Along::default()).await?;
        if done.is_some() {
            return Ok(());
        }
        current = write::load(shared, batch.id()).await?;
    }
    Ok(())
}

/// Does it to the members of one page; answers runs that begin for members whose own had ended.
async fn do_page(
    shared: &Shared,
    intake: &Intake,
    batch: &Batch,
    sweep: &Sweep,
    members: Vec<Member>,
) -> Result<Vec<Write>, BatchError> {
    inputs::settle(shared, intake).await?;
    let present = members.into_iter().filter(|member| member.removed_at.is_none());
    let by = |reason: &str| Act::new("system", reason);
    let command = match &sweep.kind {
        SweepKind::Adopt { version, superseded, skipped } => {
            let members: Vec<Member> = present.collect();
            let adoption = Adoption { version: *version, superseded, skipped };
            return adopt(shared, intake, batch, &adoption, members).await;
        }
        SweepKind::Open { gate } => Command::OpenGate { gate: gate.clone() },
        SweepKind::Refresh => Command::Refresh { input: None, special: Some(special(batch)) },
        SweepKind::Pause => Command::Pause { by: by("the batch is paused") },
        SweepKind::Resume => Command::Resume { by: by("the batch goes on") },
        SweepKind::Cancel => Command::Cancel { mode: None, by: by("the batch was stopped") },
    };
    let open = present.filter(|member| !member.run_status.is_terminal());
    let asks = open.map(|member| Ask::command(member.run, command.clone())).collect();
    must_pass(intake.ask_in_parts(asks).await?)?;
    Ok(Vec::new())
}

/// A run that says no has ended, or has what was asked for; anything else is tried again.
///
/// What is only stored for the run's owner is not done yet: whoever went on would take counters for
/// final that are not, and pass over a phase whose members have not been told of it.
fn must_pass(answers: Vec<Answered>) -> Result<(), BatchError> {
    for answer in answers {
        match answer {
            Ok(Reply::Stored(run)) => {
                let message = format!("the owner of run {} has not decided yet", run.id());
                return Err(EngineError::Unavailable(message).into());
            }
            Ok(_) | Err(EngineError::Refused(_) | EngineError::NotFound(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// What members do to follow a newer version.
struct Adoption<'a> {
    version: u32,
    superseded: &'a [String],
    skipped: &'a [String],
}

/// Open runs follow the newer version from where they are. For a member that had done everything the
/// older one asked, a new run begins. Whoever failed stays where it is.
async fn adopt(
    shared: &Shared,
    intake: &Intake,
    batch: &Batch,
    adoption: &Adoption<'_>,
    members: Vec<Member>,
) -> Result<Vec<Write>, BatchError> {
    let runs = shared.runs(members.iter().map(|member| member.run).collect()).await?;
    let mut chains = BTreeMap::new();
    let mut asks = Vec::new();
    for run in members.iter().filter_map(|member| runs.get(&member.run)) {
        if run.status.is_terminal() || run.header.workflow.version >= adoption.version {
            continue;
        }
        let old = &run.header.workflow;
        let workflow = match chains.get(&(old.name.clone(), old.version)) {
            Some(found) => Adopted::clone(found),
            None => {
                let chained = chained(shared, run, &[adoption.version]).await?;
                chains.insert((old.name.clone(), old.version), chained.clone());
                chained
            }
        };
        let command = Command::Adopt {
            workflow,
            superseded: adoption.superseded.to_vec(),
            skipped: adoption.skipped.to_vec(),
        };
        asks.push(Ask::command(run.id(), command));
    }
    must_pass(intake.ask_in_parts(asks).await?)?;
    // Whoever came to the end of the older version while it was asked is among those who begin again.
    let runs = shared.runs(members.iter().map(|member| member.run).collect()).await?;
    let has_done_all = |run: &&Arc<Run>| {
        run.status == RunStatus::Succeeded && run.header.workflow.version < adoption.version
    };
    let run_of = |member: &Member| runs.get(&member.run).filter(has_done_all);
    let done: Vec<(&Member, &Arc<Run>)> =
        members.iter().filter_map(|member| Some((member, run_of(member)?))).collect();
    begin_again(shared, batch, adoption.version, &done).await
}

/// The workflow of a run, longer by newer versions.
pub(super) async fn chained(
    shared: &Shared,
    run: &Run,
    newer: &[u32],
) -> Result<Adopted, BatchError> {
    let old = &run.header.workflow;
    let origin = Sequence::of_workflow_name(&old.name).ok_or_else(|| {
        EngineError::Broken(format!("{:?} is no workflow of a runbook", old.name))
    })?;
    let mut followed = origin.earlier;
    followed.push(old.version);
    followed.extend(newer);
    let newest = followed.pop().unwrap_or(old.version);
    let name = Sequence::chain_name(origin.runbook, &followed);
    let compiled = shared.catalog.version(&name, newest).await?;
    Ok(Adopted::of(Arc::clone(&compiled.workflow)))
}

/// New runs for members whose own had ended well, with what its steps have set. They follow this
/// version even if the batch follows a newer one by now, whose sweep comes next: what has begun under
/// this one must be done by all.
async fn begin_again(
    shared: &Shared,
    batch: &Batch,
    version: u32,
    done: &[(&Member, &Arc<Run>)],
) -> Result<Vec<Write>, BatchError> {
    if done.is_empty() {
        return Ok(Vec::new());
    }
    let count = u32::try_from(done.len()).unwrap_or(u32::MAX);
    let first = shared.store.reserve(Numbered::Run, count).await?;
    let name = Sequence::Member.workflow_name(&batch.header.runbook);
    let workflow = Arc::clone(&shared.catalog.version(&name, version).await?.workflow);
    let now = shared.now();
    let ids = shared.settings.ids.ids(now, done.len());
    let mut writes = Vec::with_capacity(done.len());
    for (((member, run), id), place) in done.iter().zip(ids).zip(0_i64..) {
        let plan = BatchRunPlan {
            batch,
            run: RunId(id),
            number: RunNumber(first + place),
            role: BatchRole::Member,
            member: Some((member.id, &member.key)),
            workflow: Arc::clone(&workflow),
            input: run.header.input.clone(),
            actor: &batch.header.actor,
        };
        let outputs = Carried::Outputs { outputs: (*run.outputs).clone() };
        let carried = std::iter::once(outputs).chain(standing(batch, &workflow)).collect();
        writes.push(begin(shared, plan.header(now), carried, Some(Arc::clone(run)), now)?);
    }
    Ok(writes)
}
