//! One pass over one runbook: ask its source, group the rows, make batches or bring them up to date.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use stepwell_core::batch::{Batch, BatchCommand, BatchHeader, BatchMode};
use stepwell_core::command::{Act, Command};
use stepwell_core::duration::Interval;
use stepwell_core::id::{BatchId, MemberId, PhaseId, Tenant};
use stepwell_core::time::Timestamp;
use stepwell_dialects::runbooks::document::BatchTime;
use stepwell_dialects::runbooks::rows::{self, Group, Grouping, MemberRow};
use stepwell_store::{BatchFilter, Key, Member, MemberFilter, Numbered, RunbookDocument, Slice};

use super::error::BatchError;
use super::members::{self, data_hash};
use super::publish::{self, under_way};
use super::write::{self, Along, Change, at_once, kept_changing, until_committed};
use crate::catalog::CompiledRunbook;
use crate::error::EngineError;
use crate::inputs;
use crate::intake::{Ask, Intake};
use crate::shared::Shared;

/// How long an instance has a runbook to itself. Longer than any pass, whose source has a time limit.
const LEASE: Interval = Interval::from_secs(15 * 60);

/// Whose acts they are.
const ACTOR: &str = "scheduler";

/// Members read or refreshed at once.
const PAGE: usize = 1024;

/// Passes over one runbook, and notes on it what was wrong. Never fails itself.
pub(super) async fn pass(shared: &Shared, intake: &Intake, document: &RunbookDocument) {
    let begun_at = shared.now();
    if !lease(shared, document, begun_at.after(LEASE)).await {
        return;
    }
    let noted = match run(shared, intake, document).await {
        Ok(()) => None,
        Err(error) => {
            tracing::warn!(runbook = document.name, %error, "pass_not_clean");
            Some(error)
        }
    };
    if (noted.is_some() || document.last_error.is_some())
        && let Err(error) = shared.store.note_runbook(document.id, noted, shared.now()).await
    {
        tracing::warn!(runbook = document.name, %error, "runbook_not_noted");
    }
    // Given back.
    lease(shared, document, Timestamp::from_millis(0)).await;
}

/// Two instances never pass over one runbook at once. In a store of its own there is nobody
/// else, and what a crash has left there must not keep its successor waiting.
async fn lease(shared: &Shared, document: &RunbookDocument, until: Timestamp) -> bool {
    if !shared.store.is_shared() {
        return true;
    }
    let name = format!("runbook:{}", document.name);
    let holder = shared.epoch().0.to_string();
    match shared.store.lease(name, holder, shared.now(), until).await {
        Ok(is_ours) => is_ours,
        Err(error) => {
            tracing::warn!(runbook = document.name, %error, "runbook_not_leased");
            false
        }
    }
}

/// What was wrong, if anything, in words for the runbook's row.
async fn run(shared: &Shared, intake: &Intake, document: &RunbookDocument) -> Result<(), String> {
    // Versions are followed whether or not automation is on.
    let followed = publish::follow(shared, intake, document).await;
    followed
        .map_err(|error| format!("batches do not follow version {}: {error}", document.version))?;
    let automation = shared.store.automation(document.name.clone()).await;
    let automation = automation.map_err(|error| error.to_string())?;
    if !automation.is_some_and(|it| it.enabled) {
        return Ok(());
    }
    let compiled = shared.catalog.runbook(&document.name, document.version).await;
    let compiled = compiled.map_err(|error| error.to_string())?;
    let source = &compiled.runbook.data_source;
    let found = shared.settings.scheduler.sources.rows(source).await;
    let found = found.map_err(|error| error.to_string())?;
    let grouping = rows::group(source, found.rows, shared.now());
    if let Some(why) = grouping.unusable() {
        // A broken view must not undo a migration.
        return Err(format!("{why}; nobody was removed"));
    }
    let pass = Pass { shared, intake, compiled: &compiled, document };
    let brought = match source.batch_time {
        BatchTime::Column(_) => pass.scheduled(&grouping).await,
        BatchTime::Immediate => pass.immediate(&grouping).await,
    };
    let mut remarks = brought.map_err(|error| error.to_string())?;
    remarks.extend(grouping.skipped_summary());
    if remarks.is_empty() { Ok(()) } else { Err(remarks.join("; ")) }
}

struct Pass<'a> {
    shared: &'a Shared,
    intake: &'a Intake,
    compiled: &'a Arc<CompiledRunbook>,
    document: &'a RunbookDocument,
}

impl Pass<'_> {
    /// Rows with the same moment are a batch. What the source no longer returns is removed.
    async fn scheduled(&self, grouping: &Grouping) -> Result<Vec<String>, BatchError> {
        let mut remarks = Vec::new();
        let mut open: BTreeMap<Timestamp, Batch> = under_way(self.shared, &self.document.name)
            .await?
            .into_iter()
            .filter(|batch| batch.header.mode == BatchMode::Scheduled)
            .filter_map(|batch| Some((batch.header.slot?, batch)))
            .collect();
        // A row that cannot be used still says that its member has not left.
        let unreadable: BTreeSet<&str> =
            grouping.skipped.iter().filter_map(|row| row.key.as_deref()).collect();
        // Leave first: a member that moved to another moment is taken out before it joins there.
        for (slot, batch) in &open {
            let group = grouping.groups.iter().find(|group| group.start == *slot);
            self.bring_up_to_date(batch, group, Some(&unreadable)).await?;
        }
        for group in &grouping.groups {
            match open.remove(&group.start) {
                Some(batch) => self.join(&batch, group, &mut remarks).await?,
                None => self.begin(group, BatchMode::Scheduled, &mut remarks).await?,
            }
        }
        Ok(remarks)
    }

    /// Whoever is new joins a batch that starts now; nobody leaves.
    async fn immediate(&self, grouping: &Grouping) -> Result<Vec<String>, BatchError> {
        let mut remarks = Vec::new();
        let (store, runbook) = (&self.shared.store, &self.document.name);
        let Some(group) = grouping.groups.first() else { return Ok(remarks) };
        let present: Vec<String> = group.members.iter().map(|member| member.key.clone()).collect();
        let mut known: BTreeSet<String> =
            store.seen_keys(runbook.clone(), present.clone()).await?.into_iter().collect();
        let in_batches: BTreeSet<String> =
            store.keys_in_batches(runbook.clone()).await?.into_iter().map(|(key, _)| key).collect();
        let to_note = present.into_iter().filter(|key| in_batches.contains(key)).collect();
        store.note_keys(runbook.clone(), to_note).await?;
        known.extend(in_batches);
        for batch in under_way(self.shared, runbook).await? {
            if batch.header.mode == BatchMode::Immediate {
                self.bring_up_to_date(&batch, Some(group), None).await?;
            }
        }
        let is_new = |member: &&MemberRow| !known.contains(&member.key);
        let members: Vec<MemberRow> = group.members.iter().filter(is_new).cloned().collect();
        if members.is_empty() {
            return Ok(remarks);
        }
        let keys = members.iter().map(|member| member.key.clone()).collect();
        let group = Group { start: group.start, members };
        match self.at_slot(group.start).await? {
            Some(batch) if !batch.status.is_terminal() => {
                self.join(&batch, &group, &mut remarks).await?;
            }
            Some(_) | None => self.begin(&group, BatchMode::Immediate, &mut remarks).await?,
        }
        store.note_keys(runbook.clone(), keys).await?;
        Ok(remarks)
    }

    async fn at_slot(&self, slot: Timestamp) -> Result<Option<Batch>, BatchError> {
        let filter = BatchFilter {
            runbook: Some(self.document.name.clone()),
            slot: Some(slot),
            ..BatchFilter::default()
        };
        let page = Slice { offset: 0, limit: 1 };
        Ok(self.shared.store.batches(filter, page).await?.items.pop())
    }

    /// Makes a batch of a group that is seen for the first time.
    async fn begin(
        &self,
        group: &Group,
        mode: BatchMode,
        remarks: &mut Vec<String>,
    ) -> Result<(), BatchError> {
        if mode == BatchMode::Scheduled && self.at_slot(group.start).await?.is_some() {
            // It has ended, and what has ended is never opened again.
            let (count, start) = (group.members.len(), group.start);
            remarks.push(format!("{count} rows for {start} were ignored: that batch has ended"));
            return Ok(());
        }
        let new = NewBatch {
            mode,
            start: Some(group.start),
            members: &group.members,
            key: None,
            actor: ACTOR,
        };
        create(self.shared, self.intake, self.compiled, new).await?;
        Ok(())
    }

    /// Adds those whom the batch does not know.
    async fn join(
        &self,
        batch: &Batch,
        group: &Group,
        remarks: &mut Vec<String>,
    ) -> Result<(), BatchError> {
        let there: BTreeSet<String> =
            present(self.shared, batch.id()).await?.into_iter().map(|member| member.key).collect();
        let is_new = |member: &&MemberRow| !there.contains(&member.key);
        let new: Vec<MemberRow> = group.members.iter().filter(is_new).cloned().collect();
        if new.is_empty() {
            return Ok(());
        }
        if batch.paused {
            let (count, id) = (new.len(), batch.id());
            remarks.push(format!("{count} new members wait: batch {id} is paused"));
            return Ok(());
        }
        let by = Act::new(ACTOR, "the data source returned them");
        match members::join(self.shared, self.intake, batch.id(), &new, &by).await {
            Ok(_) => Ok(()),
            Err(BatchError::Refused(refusal)) => {
                remarks.push(format!("{} new members were ignored: {refusal}", new.len()));
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Tells members what has changed about them, and takes out whom the source no longer
    /// returns, if it says who else has not left.
    async fn bring_up_to_date(
        &self,
        batch: &Batch,
        group: Option<&Group>,
        not_left: Option<&BTreeSet<&str>>,
    ) -> Result<(), BatchError> {
        let rows: BTreeMap<&str, &MemberRow> = group
            .iter()
            .flat_map(|group| &group.members)
            .map(|member| (member.key.as_str(), member))
            .collect();
        let (mut changed, mut gone) = (Vec::new(), Vec::new());
        for member in present(self.shared, batch.id()).await? {
            match rows.get(member.key.as_str()) {
                Some(row) => {
                    let hash = data_hash(&row.data);
                    // What has ended needs no fresh values.
                    if hash != member.data_hash && !member.run_status.is_terminal() {
                        changed.push((member, *row, hash));
                    }
                }
                None => {
                    // A member that failed stays failed.
                    let failed = member.status() == stepwell_store::MemberStatus::Failed;
                    let leaves =
                        not_left.is_some_and(|not_left| !not_left.contains(member.key.as_str()));
                    if leaves && !failed {
                        gone.push(member.id);
                    }
                }
            }
        }
        for page in changed.chunks(PAGE) {
            self.refresh(batch.id(), page).await?;
        }
        let by = Act::new(ACTOR, "the data source no longer returns them");
        members::remove(self.shared, self.intake, batch.id(), &gone, &by).await
    }

    async fn refresh(
        &self,
        batch: BatchId,
        changed: &[(Member, &MemberRow, [u8; 32])],
    ) -> Result<(), BatchError> {
        inputs::settle(self.shared, self.intake).await?;
        let asks = changed.iter().map(|(member, row, _)| {
            let command = Command::Refresh { input: Some(row.data.clone()), special: None };
            Ask::command(member.run, command)
        });
        for answer in self.intake.ask_patiently(asks.collect()).await? {
            match answer {
                Ok(_) | Err(EngineError::Refused(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let hashes: Vec<(MemberId, [u8; 32])> =
            changed.iter().map(|(member, _, hash)| (member.id, *hash)).collect();
        let attempt = |_| {
            let along = Along { refreshed: hashes.clone(), ..Along::default() };
            at_once(Change { command: None, along })
        };
        let done = until_committed(self.shared, self.intake, batch, attempt).await?;
        done.map(|_| ()).ok_or_else(kept_changing)
    }
}

/// Members of a batch who have not left.
async fn present(shared: &Shared, batch: BatchId) -> Result<Vec<Member>, BatchError> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let filter = MemberFilter { after, ..MemberFilter::of(batch) };
        let page = Slice { offset: 0, limit: PAGE };
        let page = shared.store.members(filter, page).await?.items;
        let is_last = page.len() < PAGE;
        after = page.last().map(|member| member.id);
        found.extend(page.into_iter().filter(|member| member.removed_at.is_none()));
        if is_last {
            return Ok(found);
        }
    }
}

/// A batch that is to be made.
pub(super) struct NewBatch<'a> {
    pub(super) mode: BatchMode,
    pub(super) start: Option<Timestamp>,
    pub(super) members: &'a [MemberRow],
    /// under which at most one is ever made
    pub(super) key: Option<Key>,
    pub(super) actor: &'a str,
}

/// Makes a batch with its members and phases, in one step.
pub(super) async fn create(
    shared: &Shared,
    intake: &Intake,
    compiled: &CompiledRunbook,
    new: NewBatch<'_>,
) -> Result<Batch, BatchError> {
    if new.members.is_empty() {
        return Err(BatchError::NoMembers);
    }
    let id = BatchId(shared.store.reserve(Numbered::Batch, 1).await?);
    let count = u32::try_from(compiled.compiled.phases.len()).unwrap_or(u32::MAX);
    let first = PhaseId(shared.store.reserve(Numbered::Phase, count).await?);
    let header = BatchHeader {
        id,
        tenant: Tenant::default_tenant(),
        runbook: compiled.runbook.name.clone(),
        mode: new.mode,
        slot: new.start,
        actor: new.actor.to_owned(),
        created_at: shared.now(),
    };
    let timeline = compiled.compiled.timeline(first);
    let mut batch = Batch::new(Arc::new(header), &timeline, new.start);
    let mut joined = members::joining(shared, &batch, new.members, new.actor).await?;
    // Keys belong to runs. The first member's begins with its batch, or neither does.
    joined[0].0.run.key = new.key;
    batch.joined = i64::try_from(joined.len()).unwrap_or(i64::MAX);
    let along = Along { joined, ..Along::default() };
    let made = write::commit(shared, intake, &batch, &BatchCommand::Detect, along).await?;
    made.ok_or_else(|| {
        BatchError::Engine(EngineError::Broken(format!("number {id} was given twice")))
    })
}
