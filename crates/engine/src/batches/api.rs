//! What the outside may ask of runbooks and batches.

use std::sync::Arc;

use stepwell_core::batch::{Batch, BatchCommand, BatchMode};
use stepwell_core::command::Act;
use stepwell_core::id::{BatchId, MemberId, Tenant};
use stepwell_core::time::Timestamp;
use stepwell_dialects::runbooks::accept::Publication;
use stepwell_dialects::runbooks::outcome::WorkerResult;
use stepwell_dialects::runbooks::rows::MemberRow;
use stepwell_store::{Automation, Key, Member, MemberFilter, MemberStatus, Slice};
use tokio::sync::broadcast;

use super::error::BatchError;
use super::pass::NewBatch;
use super::{
    BatchOrder, BatchOrderResult, NumberedReport, Preview, Published, members, numbers, order,
    pass, preview, publish, write,
};
use crate::Engine;
use crate::catalog::CompiledRunbook;
use crate::error::EngineError;

impl Engine {
    /// Publishes a version of a runbook and makes it the active one. Batches under way follow it.
    ///
    /// # Errors
    /// When the store is away. What could not be done for a batch is done by the next pass.
    pub async fn publish_runbook(
        &self,
        publication: Publication,
        actor: &str,
    ) -> Result<Published, BatchError> {
        publish::publish(&self.shared, &self.door()?, publication, actor).await
    }

    /// A version of a runbook, or the active one, read and compiled.
    ///
    /// # Errors
    /// When there is none, or it cannot be read.
    pub async fn compiled_runbook(
        &self,
        name: &str,
        version: Option<u32>,
    ) -> Result<Arc<CompiledRunbook>, BatchError> {
        let catalog = &self.shared.catalog;
        // Which version is active, the store knows; what a version says never changes.
        if let Some(known) = version.and_then(|version| catalog.known_runbook(name, version)) {
            return Ok(known);
        }
        let found = self.shared.store.runbook(name.to_owned(), version).await?;
        let document =
            found.ok_or_else(|| BatchError::RunbookNotFound { name: name.to_owned(), version })?;
        Ok(catalog.keep_runbook(&document)?)
    }

    /// Takes a version of a runbook out of use: it makes no new batches.
    ///
    /// # Errors
    /// When there is none.
    pub async fn deactivate_runbook(&self, name: &str, version: u32) -> Result<(), BatchError> {
        if self.shared.store.deactivate_runbook(name.to_owned(), version).await? {
            return Ok(());
        }
        Err(BatchError::RunbookNotFound { name: name.to_owned(), version: Some(version) })
    }

    /// Switches whether the scheduler makes batches of a runbook. Switched on, it looks at once.
    ///
    /// # Errors
    /// When there is no such runbook.
    pub async fn set_automation(
        &self,
        name: &str,
        enabled: bool,
        actor: &str,
    ) -> Result<Automation, BatchError> {
        if self.shared.store.runbooks(Some(name.to_owned())).await?.is_empty() {
            return Err(BatchError::RunbookNotFound { name: name.to_owned(), version: None });
        }
        let (name, actor) = (name.to_owned(), actor.to_owned());
        let set = self.shared.store.set_automation(name, enabled, actor, self.now()).await?;
        if enabled {
            self.ask_sources();
        }
        Ok(set)
    }

    /// Has the sources of all runbooks asked now, and not only at the next tick.
    pub fn ask_sources(&self) {
        self.shared.batches.tick.notify_one();
    }

    /// What a pass over a runbook would find. Writes nothing.
    ///
    /// # Errors
    /// When there is no such runbook, or its source does not answer.
    pub async fn preview(&self, name: &str) -> Result<Preview, BatchError> {
        let compiled = self.compiled_runbook(name, None).await?;
        preview::preview(&self.shared, &compiled).await
    }

    /// Makes a batch that a person moves from phase to phase.
    ///
    /// # Errors
    /// When there is no such runbook, nobody to make it of, or a key stands twice.
    pub async fn create_batch(
        &self,
        runbook: &str,
        members: Vec<MemberRow>,
        actor: &str,
    ) -> Result<Batch, BatchError> {
        self.create_batch_at(runbook, members, BatchMode::Manual, None, actor).await
    }

    /// The same, at most once under a key: the same request again is answered with the batch that the
    /// first one made.
    ///
    /// # Errors
    /// The same, and when the key was used for another request.
    pub async fn create_batch_once(
        &self,
        runbook: &str,
        members: Vec<MemberRow>,
        key: Key,
        actor: &str,
    ) -> Result<Batch, BatchError> {
        let (mode, start, key_given) = (BatchMode::Manual, None, Some(key));
        match self.make_batch(runbook, &members, mode, start, key_given, actor).await {
            // Somebody asked for the same at the same time.
            Err(BatchError::Engine(EngineError::KeyReused { run })) => {
                let made = self.batch_under(key).await?;
                made.ok_or(BatchError::Engine(EngineError::KeyReused { run }))
            }
            other => other,
        }
    }

    /// The batch that was made under a key, if there is one.
    ///
    /// # Errors
    /// When the key was used for another request.
    pub async fn batch_under(&self, key: Key) -> Result<Option<Batch>, BatchError> {
        let found = self.shared.store.by_key(Tenant::default_tenant(), key.hash).await?;
        let Some(holder) = found else { return Ok(None) };
        let reused = || BatchError::Engine(EngineError::KeyReused { run: holder.run });
        if holder.request_hash != key.request_hash {
            return Err(reused());
        }
        let runs = self.shared.runs(vec![holder.run]).await?;
        let membership = runs.get(&holder.run).and_then(|run| run.header.membership);
        Ok(Some(self.batch(membership.ok_or_else(reused)?.batch).await?))
    }

    /// Makes a batch of any kind, with T-0 if it has one.
    ///
    /// # Errors
    /// When there is no such runbook, nobody to make it of, or a key stands twice.
    pub async fn create_batch_at(
        &self,
        runbook: &str,
        members: Vec<MemberRow>,
        mode: BatchMode,
        start: Option<Timestamp>,
        actor: &str,
    ) -> Result<Batch, BatchError> {
        self.make_batch(runbook, &members, mode, start, None, actor).await
    }

    async fn make_batch(
        &self,
        runbook: &str,
        members: &[MemberRow],
        mode: BatchMode,
        start: Option<Timestamp>,
        key: Option<Key>,
        actor: &str,
    ) -> Result<Batch, BatchError> {
        let compiled = self.compiled_runbook(runbook, None).await?;
        let repeated = members::repeated(members);
        if !repeated.is_empty() {
            return Err(BatchError::KeysTaken(repeated));
        }
        let new = NewBatch { mode, start, members, key, actor };
        pass::create(&self.shared, &self.door()?, &compiled, new).await
    }

    /// A batch as it was last committed.
    ///
    /// # Errors
    /// When there is none, or the store is away.
    pub async fn batch(&self, id: BatchId) -> Result<Batch, BatchError> {
        write::load(&self.shared, id).await
    }

    /// Sends a command to a batch; answers with the batch as it is after the commit.
    ///
    /// # Errors
    /// What the batch, the store or the engine says against it.
    pub async fn command_batch(
        &self,
        id: BatchId,
        command: BatchCommand,
    ) -> Result<Batch, BatchError> {
        write::command(&self.shared, &self.door()?, id, &command).await
    }

    /// Adds members to a batch that a person made.
    ///
    /// # Errors
    /// When the batch gets its members from a source, has ended, or knows a key already.
    pub async fn add_members(
        &self,
        id: BatchId,
        members: Vec<MemberRow>,
        actor: &str,
    ) -> Result<Vec<(MemberId, String)>, BatchError> {
        members::must_be_manual(&self.batch(id).await?)?;
        if members.is_empty() {
            return Err(BatchError::NoMembers);
        }
        let repeated = members::repeated(&members);
        if !repeated.is_empty() {
            return Err(BatchError::KeysTaken(repeated));
        }
        let by = Act::new(actor, "added by hand");
        members::join(&self.shared, &self.door()?, id, &members, &by).await
    }

    /// Takes a member out of a batch that a person made. Asking again changes nothing.
    ///
    /// # Errors
    /// When the batch gets its members from a source, has ended, or the member has failed.
    pub async fn remove_member(
        &self,
        id: BatchId,
        member: MemberId,
        actor: &str,
    ) -> Result<Member, BatchError> {
        members::must_be_manual(&self.batch(id).await?)?;
        let found = self.member(id, member).await?;
        match found.status() {
            MemberStatus::Removed => return Ok(found),
            MemberStatus::Failed => return Err(BatchError::MemberFailed(member)),
            MemberStatus::Active => {}
        }
        let by = Act::new(actor, "removed by hand");
        members::remove(&self.shared, &self.door()?, id, &[member], &by).await?;
        self.member(id, member).await
    }

    async fn member(&self, batch: BatchId, id: MemberId) -> Result<Member, BatchError> {
        let filter = MemberFilter { ids: vec![id], ..MemberFilter::of(batch) };
        let found = self.shared.store.members(filter, Slice { offset: 0, limit: 1 }).await?;
        found.items.into_iter().next().ok_or(BatchError::MemberNotFound(id))
    }

    /// Does something to many members of a batch; answers for each.
    ///
    /// # Errors
    /// When there is no such batch, or the store is away.
    pub async fn operate_batch(
        &self,
        id: BatchId,
        wanted: &BatchOrder,
    ) -> Result<Vec<BatchOrderResult>, BatchError> {
        self.batch(id).await?;
        order::order(&self.shared, &self.door()?, id, wanted).await
    }

    /// Reports a result that names its job by number.
    ///
    /// # Errors
    /// When the store is away. A result that comes too late or for nobody is no error.
    pub async fn report_numbered(
        &self,
        result: &WorkerResult,
    ) -> Result<NumberedReport, BatchError> {
        numbers::report(&self.shared, &self.door()?, result).await
    }

    /// Batches as they change. A slow listener misses some, and reads the batch.
    #[must_use]
    pub fn batch_changes(&self) -> broadcast::Receiver<BatchId> {
        self.shared.batches.changes.subscribe()
    }
}
