//! Who joins a batch, who leaves it, and the runs that follow.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use stepwell_core::batch::{Batch, BatchCommand, BatchMode, CatchUp, Phase, PhaseStatus};
use stepwell_core::command::{Act, Carried, Command};
use stepwell_core::definition::{Part, Workflow};
use stepwell_core::id::{BatchId, MemberId, RunId, RunNumber};
use stepwell_core::run::{BatchRole, Dialect, Header, Membership, Run};
use stepwell_core::time::Timestamp;
use stepwell_dialects::runbooks::compile::Sequence;
use stepwell_dialects::runbooks::rows::MemberRow;
use stepwell_store::{DataHash, Key, Member, MemberFilter, NewMember, Numbered, Removal, Slice};

use super::error::BatchError;
use super::write::{Along, Attempt, Attempting, Change, kept_changing, until_committed};
use crate::error::EngineError;
use crate::group::{NewRun, Write, begin_run};
use crate::intake::{Ask, Intake, Start};
use crate::shared::Shared;

/// The urgency of a step of a batch: that of everything that says nothing.
const PRIORITY: u8 = 5;

/// Members whose leaving is followed up at once.
const PAGE: usize = 500;

/// The fingerprint of a member's data.
pub(super) fn data_hash(data: &Map<String, Value>) -> DataHash {
    let text = serde_json::to_vec(data).unwrap_or_default();
    Sha256::digest(text).into()
}

/// The variables that every step of a batch may use.
pub(super) fn special(batch: &Batch) -> Map<String, Value> {
    let mut special = Map::new();
    special.insert("_batch_id".to_owned(), batch.id().0.into());
    if let Some(start) = batch.start_shown() {
        special.insert("_batch_start_time".to_owned(), start.to_string().into());
    }
    special
}

/// A run of a batch, before it is started.
pub(super) struct BatchRunPlan<'a> {
    pub(super) batch: &'a Batch,
    pub(super) run: RunId,
    pub(super) number: RunNumber,
    pub(super) role: BatchRole,
    pub(super) member: Option<(MemberId, &'a str)>,
    pub(super) workflow: Arc<Workflow>,
    pub(super) input: Map<String, Value>,
    pub(super) actor: &'a str,
}

impl BatchRunPlan<'_> {
    pub(super) fn header(self, now: Timestamp) -> Arc<Header> {
        let mut context = Map::new();
        context.insert("runbook".to_owned(), self.batch.header.runbook.clone().into());
        if let Some((_, key)) = self.member {
            context.insert("member_key".to_owned(), key.into());
        }
        Arc::new(Header {
            id: self.run,
            tenant: self.batch.header.tenant.clone(),
            dialect: Dialect::Runbooks,
            workflow: self.workflow,
            part: Part::Main,
            parent: None,
            resumes: None,
            input: self.input,
            special: special(self.batch),
            context,
            routing: None,
            priority: PRIORITY,
            correlation_id: None,
            traceparent: None,
            actor: self.actor.to_owned(),
            created_at: now,
            membership: Some(Membership {
                batch: self.batch.id(),
                member: self.member.map(|(id, _)| id),
                role: self.role,
                number: self.number,
            }),
            terms: None,
        })
    }
}

/// What a member finds who begins now on this way: phases that are passed over, and open doors.
pub(super) fn standing(batch: &Batch, workflow: &Workflow) -> Vec<Carried> {
    let on_the_way = |phase: &&Phase| {
        workflow.steps.iter().any(|step| step.gate.as_deref() == Some(phase.gate.as_str()))
    };
    let (mut skipped, mut open) = (Vec::new(), Vec::new());
    for phase in batch.phases.iter().filter(on_the_way) {
        let gate = phase.gate.clone();
        match phase.status {
            PhaseStatus::Skipped | PhaseStatus::Superseded => skipped.push(Carried::Skip { gate }),
            PhaseStatus::Dispatched | PhaseStatus::Completed | PhaseStatus::Failed => {
                open.push(Carried::Open { gate });
            }
            PhaseStatus::Pending => {}
        }
    }
    skipped.extend(open);
    skipped
}

/// The doors of whoever joins now, in the words of a run that begins.
fn doors(way: CatchUp) -> Vec<Carried> {
    let skipped = way.skipped.into_iter().map(|gate| Carried::Skip { gate });
    skipped.chain(way.open.into_iter().map(|gate| Carried::Open { gate })).collect()
}

/// Makes a write of a run that begins.
pub(super) fn begin(
    shared: &Shared,
    header: Arc<Header>,
    carried: Vec<Carried>,
    counted: Option<Arc<Run>>,
    now: Timestamp,
) -> Result<Write, BatchError> {
    let id = header.id;
    let command = Command::Start { carried };
    let begun = begin_run(header, NewRun::free(), &command, now, shared);
    let mut write = begun.map_err(|plan| {
        BatchError::Engine(EngineError::Broken(format!("run {id} cannot begin: {plan:?}")))
    })?;
    write.was_counted_as(counted);
    Ok(write)
}

/// Members with the runs that take them through their phases, ready to be committed.
pub(super) async fn joining(
    shared: &Shared,
    batch: &Batch,
    members: &[MemberRow],
    actor: &str,
) -> Result<Vec<(NewMember, Write)>, BatchError> {
    let count = u32::try_from(members.len()).unwrap_or(u32::MAX);
    let first_member = shared.store.reserve(Numbered::Member, count).await?;
    let first_run = shared.store.reserve(Numbered::Run, count).await?;
    let way = batch.catch_up();
    let workflow = shared.way_of_joiner(batch, &way).await?;
    let (now, carried) = (shared.now(), doors(way));
    let ids = shared.settings.ids.ids(now, members.len());
    let mut joined = Vec::with_capacity(members.len());
    for ((member, run), place) in members.iter().zip(ids).zip(0_i64..) {
        let id = MemberId(first_member + place);
        let plan = BatchRunPlan {
            batch,
            run: RunId(run),
            number: RunNumber(first_run + place),
            role: BatchRole::Member,
            member: Some((id, &member.key)),
            workflow: Arc::clone(&workflow),
            input: member.data.clone(),
            actor,
        };
        let mut write = begin(shared, plan.header(now), carried.clone(), None, now)?;
        let new = NewMember {
            id,
            key: member.key.clone(),
            data_hash: data_hash(&member.data),
            added_at: now,
            run: write.create_alone(),
        };
        joined.push((new, write));
    }
    Ok(joined)
}

/// Adds members to a batch that exists.
pub(super) async fn join(
    shared: &Shared,
    intake: &Intake,
    id: BatchId,
    members: &[MemberRow],
    by: &Act,
) -> Result<Vec<(MemberId, String)>, BatchError> {
    let attempt = |batch: Arc<Batch>| -> Attempting<'_, _> {
        Box::pin(async move {
            let taken = taken_keys(shared, id, members).await?;
            if !taken.is_empty() {
                return Err(BatchError::KeysTaken(taken));
            }
            let joined = joining(shared, &batch, members, &by.actor).await?;
            let added = joined.iter().map(|(member, _)| (member.id, member.key.clone())).collect();
            let command = BatchCommand::Join {
                members: u32::try_from(members.len()).unwrap_or(u32::MAX),
                by: by.clone(),
            };
            let along = Along { joined, ..Along::default() };
            Ok(Attempt::Commit(Change { command: Some(command), along }, added))
        })
    };
    let done = until_committed(shared, intake, id, attempt).await?;
    done.map(|(_, added)| added).ok_or_else(kept_changing)
}

/// The keys that members of the batch have who have not left.
async fn taken_keys(
    shared: &Shared,
    batch: BatchId,
    members: &[MemberRow],
) -> Result<Vec<String>, BatchError> {
    let keys = members.iter().map(|member| member.key.clone()).collect();
    let filter = MemberFilter { keys, ..MemberFilter::of(batch) };
    let slice = Slice { offset: 0, limit: usize::MAX };
    let found = shared.store.members(filter, slice).await?.items;
    Ok(found.into_iter().filter(|it| it.removed_at.is_none()).map(|it| it.key).collect())
}

/// Takes members out of a batch. What that asks for follows by itself.
pub(super) async fn remove(
    shared: &Shared,
    intake: &Intake,
    id: BatchId,
    members: &[MemberId],
    by: &Act,
) -> Result<(), BatchError> {
    // A filter without ids means everybody.
    if members.is_empty() {
        return Ok(());
    }
    let attempt = |_: Arc<Batch>| -> Attempting<'_, _> {
        Box::pin(async move {
            // Who left meanwhile must not be counted twice.
            let filter = MemberFilter { ids: members.to_vec(), ..MemberFilter::of(id) };
            let slice = Slice { offset: 0, limit: usize::MAX };
            let there = shared.store.members(filter, slice).await?.items;
            let (at, actor) = (shared.now(), &by.actor);
            let removed: Vec<Removal> = there
                .iter()
                .filter(|member| member.removed_at.is_none())
                .map(|member| Removal { member: member.id, at, actor: actor.clone() })
                .collect();
            if removed.is_empty() {
                return Ok(Attempt::Settled(()));
            }
            let command = BatchCommand::Remove {
                members: u32::try_from(removed.len()).unwrap_or(u32::MAX),
                by: by.clone(),
            };
            let along = Along { removed, ..Along::default() };
            Ok(Attempt::Commit(Change { command: Some(command), along }, ()))
        })
    };
    let done = until_committed(shared, intake, id, attempt).await?;
    done.map(|_| ()).ok_or_else(kept_changing)
}

/// Stops the runs of members who left, and begins what is done for them; `true` if there is more.
pub(super) async fn follow_removals(
    shared: &Shared,
    intake: &Intake,
    batch: &Batch,
) -> Result<bool, BatchError> {
    if batch.removed == 0 {
        return Ok(false);
    }
    let filter = MemberFilter { removal_waits: true, ..MemberFilter::of(batch.id()) };
    let page = Slice { offset: 0, limit: PAGE };
    let left = shared.store.members(filter, page).await?.items;
    if left.is_empty() {
        return Ok(false);
    }
    let runs = shared.runs(left.iter().map(|member| member.run).collect()).await?;
    let by = Act::new("system", "the member left its batch");
    // In the order of the members: the same work in the same order every time.
    let mut asks: Vec<Ask> = left
        .iter()
        .filter_map(|member| runs.get(&member.run))
        .filter(|run| !run.status.is_terminal())
        .map(|run| Ask::command(run.id(), Command::Cancel { mode: None, by: by.clone() }))
        .collect();
    asks.extend(removal_runs(shared, batch, &left, &runs).await?);
    for answer in intake.ask_patiently(asks).await? {
        match answer {
            // It ended, or its removal had begun before a crash.
            Ok(_) | Err(EngineError::Refused(_) | EngineError::KeyReused { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let members = left.iter().map(|member| member.id).collect();
    shared.store.removals_dispatched(members, shared.now()).await?;
    Ok(left.len() == PAGE)
}

/// What is done for each member who left, if the runbook says so: once, whatever happens.
async fn removal_runs(
    shared: &Shared,
    batch: &Batch,
    left: &[Member],
    runs: &std::collections::HashMap<RunId, Arc<Run>>,
) -> Result<Vec<Ask>, BatchError> {
    let (name, version) = (&batch.header.runbook, batch.runbook_version);
    if shared.catalog.runbook(name, version).await?.compiled.removal.is_none() {
        return Ok(Vec::new());
    }
    let workflow = shared.batch_workflow(batch, Sequence::Removal).await?;
    let count = u32::try_from(left.len()).unwrap_or(u32::MAX);
    let first = shared.store.reserve(Numbered::Run, count).await?;
    let now = shared.now();
    let asks = left.iter().zip(0_i64..).map(|(member, place)| {
        let input = runs.get(&member.run).map(|run| run.header.input.clone());
        let plan = BatchRunPlan {
            batch,
            run: RunId(shared.settings.ids.id(now)),
            number: RunNumber(first + place),
            role: BatchRole::Removal,
            member: Some((member.id, &member.key)),
            workflow: Arc::clone(&workflow),
            input: input.unwrap_or_default(),
            actor: member.removed_by.as_deref().unwrap_or("system"),
        };
        let hash: [u8; 32] = Sha256::digest(format!("removal of member {}", member.id)).into();
        Ask::Start(Box::new(Start {
            header: plan.header(now),
            carried: Vec::new(),
            key: Some(Key { hash, request_hash: hash }),
            tenant_cap: None,
        }))
    });
    Ok(asks.collect())
}

impl Shared {
    /// The workflow of a batch's runs, under the version that it follows now.
    pub(super) async fn batch_workflow(
        &self,
        batch: &Batch,
        sequence: Sequence,
    ) -> Result<Arc<Workflow>, BatchError> {
        let name = sequence.workflow_name(&batch.header.runbook);
        let compiled = self.catalog.version(&name, batch.runbook_version).await?;
        Ok(Arc::clone(&compiled.workflow))
    }

    /// The workflow of whoever joins now: what has begun under earlier versions is part of it.
    async fn way_of_joiner(
        &self,
        batch: &Batch,
        way: &CatchUp,
    ) -> Result<Arc<Workflow>, BatchError> {
        let earlier = way.versions.split_last().map_or(&[][..], |(_, earlier)| earlier);
        let name = Sequence::chain_name(&batch.header.runbook, earlier);
        let compiled = self.catalog.version(&name, batch.runbook_version).await?;
        Ok(Arc::clone(&compiled.workflow))
    }

    /// The run that prepares a batch.
    pub(super) async fn init_run(
        &self,
        batch: &Batch,
        run: RunId,
        now: Timestamp,
    ) -> Result<Write, BatchError> {
        let number = RunNumber(self.store.reserve(Numbered::Run, 1).await?);
        let plan = BatchRunPlan {
            batch,
            run,
            number,
            role: BatchRole::Init,
            member: None,
            workflow: self.batch_workflow(batch, Sequence::Init).await?,
            input: Map::new(),
            actor: &batch.header.actor,
        };
        begin(self, plan.header(now), Vec::new(), None, now)
    }
}

/// Whose members the source says.
pub(super) fn must_be_manual(batch: &Batch) -> Result<(), BatchError> {
    match batch.header.mode {
        BatchMode::Manual => Ok(()),
        BatchMode::Scheduled | BatchMode::Immediate => Err(BatchError::Automated(batch.id())),
    }
}

/// Keys that stand twice in a list of members.
pub(super) fn repeated(members: &[MemberRow]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    members.iter().filter(|it| !seen.insert(&it.key)).map(|it| it.key.clone()).collect()
}
