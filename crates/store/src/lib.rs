//! How it is kept: one transaction a group of decisions.
//!
//! # The contract
//!
//! A store writes what it is given, whole, and makes no decision of its own: whether a step may be
//! dispatched is decided in `core`, and a store can only be handed a decision that is finished.
//! What a store does guard is what only the transaction can know: that a run is still at the version
//! it was decided from, that a tenant has room, that an idempotency key is new, and that the caller
//! still owns the store.
//!
//! An implementer may assume that every [`Item`] of a group concerns another run, except that the
//! children of an item are new runs. Every implementation passes the suite in `conformance`.

mod ceiling;
#[cfg(feature = "conformance")]
pub mod conformance;
mod error;
pub mod memory;
mod model;
mod observed;
#[cfg(feature = "postgres")]
pub mod postgres;
mod rows;
pub mod sqlite;
#[cfg(feature = "postgres")]
pub mod transfer;

use std::future::Future;
use std::pin::Pin;

use serde_json::Value;
use stepwell_core::batch::Batch;
use stepwell_core::duration::Interval;
use stepwell_core::id::{BatchId, MemberId, RunId, RunNumber, Tenant};
use stepwell_core::run::BatchRole;
use stepwell_core::time::Timestamp;
use tokio::sync::mpsc;

pub use error::StoreError;
pub use model::*;
pub use observed::Observed;

/// A store's answer, some time later.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// How it is kept. Object-safe: the engine holds an `Arc<dyn Store>` and is compiled once.
pub trait Store: Send + Sync + 'static {
    /// A word for logs and `bench`: `memory`, `sqlite`, `postgres`.
    fn kind(&self) -> &'static str;

    /// Several instances may write side by side, each the runs that it owns.
    fn is_shared(&self) -> bool {
        false
    }

    /// Takes the right to write. A store that is not shared is taken over by it: from here on every
    /// commit under an earlier epoch is refused whole.
    fn open_epoch(&self, instance: &str) -> Answer<'_, Epoch>;

    /// A sign of life, and what the instance says of itself. `Fenced` once it was declared dead.
    fn heartbeat(&self, _epoch: Epoch, _stats: Value) -> Answer<'_, Pulse> {
        Box::pin(async { Ok(Pulse::default()) })
    }

    /// Takes over open runs that belong to nobody, or whose owner has been silent for longer than
    /// `silence` by the store's clock. Such an owner is declared dead with the first of them. Ended runs
    /// stay where they are, except those for which an input waits: somebody must answer it.
    ///
    /// Two instances that reclaim at once never get the same run.
    fn reclaim(&self, _epoch: Epoch, _silence: Interval, _limit: usize) -> Answer<'_, Reclaimed> {
        Box::pin(async { Ok(Reclaimed::default()) })
    }

    /// Gives open runs to another living instance; answers which of them went. The others were not
    /// the giver's, or had ended, or nobody was there to take them.
    fn hand_over(&self, _from: Epoch, _runs: Vec<RunId>, _to: Epoch) -> Answer<'_, Vec<RunId>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Says good-bye: everything the instance owns belongs to nobody, and others are told.
    fn retire(&self, _epoch: Epoch) -> Answer<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    /// Instances that live, and those that ended not long ago, oldest first.
    fn instances(&self) -> Answer<'_, Vec<Instance>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Inputs for runs that the instance owns, oldest first. They stay until a group answers them.
    fn inputs(&self, _epoch: Epoch, _limit: usize) -> Answer<'_, Vec<Input>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Words from other instances to this one, from now on.
    fn listen(&self, _epoch: Epoch) -> Answer<'_, mpsc::Receiver<Signal>> {
        Box::pin(async { Ok(mpsc::channel(1).1) })
    }

    /// Says something to all other instances. Nobody listening is no fault.
    fn tell(&self, _from: Epoch, _signal: Signal) -> Answer<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    /// Commits a group of decisions in one transaction, and answers for each item in order.
    ///
    /// All items that can be done are done together, durably, before the answer. An item that cannot
    /// (stale, tenant full, duplicate key) is left out and says so; its neighbors do not suffer.
    fn commit(&self, group: Group) -> Answer<'_, Vec<Verdict>>;

    /// Loads runs for a decision. Ids that do not exist are missing in the answer.
    fn load(&self, runs: Vec<RunId>) -> Answer<'_, Vec<StoredRun>>;

    /// The same for a decision only: what ended steps were given and what they returned may be left
    /// out, because no decision asks for it.
    fn load_open(&self, runs: Vec<RunId>) -> Answer<'_, Vec<StoredRun>> {
        self.load(runs)
    }

    /// The owner's runs whose stored moment has come, earliest first, and the earliest moment that has
    /// not. In a store that is not shared every run is the owner's.
    ///
    /// The stored moment may be earlier than the run's true one, never later: moving it on every
    /// step would cost an index update for each; an early wake costs one load, rarely.
    fn due(&self, owner: Epoch, now: Timestamp, limit: usize) -> Answer<'_, Due>;

    /// Steps of the owner's runs that are with its embedded bus, in the order they are handed out,
    /// after a key.
    fn queued(
        &self,
        owner: Epoch,
        pool: String,
        after: Option<QueueKey>,
        limit: usize,
    ) -> Answer<'_, Vec<Queued>>;

    /// Pools in which at least one step of the owner's runs is queued.
    fn queued_pools(&self, owner: Epoch) -> Answer<'_, Vec<String>>;

    /// Stores a new version of a workflow; the version is one higher than the highest of its name.
    /// The same text as the newest version again answers that version and stores nothing.
    fn publish_workflow(&self, document: NewWorkflow) -> Answer<'_, WorkflowDocument>;

    /// One version of a workflow, or the newest.
    fn workflow(&self, name: String, version: Option<u32>) -> Answer<'_, Option<WorkflowDocument>>;

    /// The newest version of the workflow that last claimed a request type.
    fn protocol(&self, request_type: String) -> Answer<'_, Option<WorkflowDocument>>;

    /// The newest version of every workflow, by name.
    fn workflows(&self) -> Answer<'_, Vec<WorkflowDocument>>;

    /// A run by its idempotency key.
    fn by_key(&self, tenant: Tenant, hash: KeyHash) -> Answer<'_, Option<KeyHolder>>;

    /// A page of runs, newest first. Committed work is seen at once.
    fn runs(&self, filter: Filter, page: Page) -> Answer<'_, Vec<RunSummary>>;

    /// The history of a run from a version on, oldest first.
    fn history(&self, run: RunId, after_version: u64, limit: usize) -> Answer<'_, Vec<Record>>;

    /// The first records of each run's history, in the order asked; none of a run that does not exist.
    fn beginnings(&self, runs: Vec<RunId>, limit: usize) -> Answer<'_, Vec<Vec<Record>>>;

    /// Reports that came too late or from the wrong attempt, oldest first.
    fn stale_reports(&self, run: RunId) -> Answer<'_, Vec<StaleReport>>;

    /// Runs that undo steps of this run.
    fn compensations(&self, run: RunId) -> Answer<'_, Vec<RunSummary>>;

    /// A page of dead letters, newest first.
    fn dead_letters(&self, filter: DeadLetterFilter) -> Answer<'_, Vec<DeadLetter>>;

    /// Notes what became of a dead letter, if nothing was noted yet; `false` if something was.
    fn settle_dead_letter(&self, id: i64, settlement: Settlement) -> Answer<'_, bool>;

    /// The same for many, in one transaction and in the same order.
    fn settle_dead_letters(&self, settlements: Vec<(i64, Settlement)>) -> Answer<'_, Vec<bool>>;

    /// Messages to the outside that are due, oldest first. In a shared store they are kept from other
    /// instances for a while, so that two never send the same one at once.
    fn outbox(&self, now: Timestamp, keep: Interval, limit: usize) -> Answer<'_, Outgoing>;

    /// Strikes messages off, puts them off, or gives them up as dead letters.
    fn settle_outbox(&self, settlements: Vec<OutboxSettlement>) -> Answer<'_, ()>;

    /// Puts orders in queues; `false` for each whose message id is already waiting there.
    fn submit(&self, submissions: Vec<NewSubmission>) -> Answer<'_, Vec<bool>>;

    /// Takes orders of a queue, and keeps them from others until `keep` has passed.
    fn receive(
        &self,
        queue: String,
        now: Timestamp,
        keep: Interval,
        limit: usize,
    ) -> Answer<'_, Received>;

    /// Ends deliveries of orders. One whose delivery is no longer current is left alone.
    fn settle_submissions(&self, settlements: Vec<SubmissionSettlement>) -> Answer<'_, ()>;

    /// Takes `count` numbers that nobody had before and nobody gets again; answers the first.
    fn reserve(&self, kind: Numbered, count: u32) -> Answer<'_, i64>;

    /// Takes or keeps the right to do something alone until `until`; `false` while somebody else has
    /// it. Given back by `until` in the past. An instance holds it under its epoch: with its death or its
    /// good-bye whatever it holds is free, and it gets nothing more.
    fn lease(
        &self,
        name: String,
        holder: String,
        now: Timestamp,
        until: Timestamp,
    ) -> Answer<'_, bool>;

    /// Stores the next version of a runbook and makes it the active one, in one step. The same
    /// text and settings as the active version again answer that version and store nothing.
    fn publish_runbook(&self, document: NewRunbook) -> Answer<'_, RunbookDocument>;

    /// One version of a runbook, or the active one.
    fn runbook(&self, name: String, version: Option<u32>) -> Answer<'_, Option<RunbookDocument>>;

    /// Every version of a runbook, newest first; of `None`, the active versions of all, by name.
    fn runbooks(&self, name: Option<String>) -> Answer<'_, Vec<RunbookDocument>>;

    /// Takes a version out of use; `false` if there is none such.
    fn deactivate_runbook(&self, name: String, version: u32) -> Answer<'_, bool>;

    /// Notes how the scheduler's last pass over a version ended; `None` clears what was noted.
    fn note_runbook(&self, id: i64, error: Option<String>, at: Timestamp) -> Answer<'_, ()>;

    /// Notes that what was past due was passed over in every batch under way.
    fn overdue_applied(&self, id: i64) -> Answer<'_, ()>;

    /// Whether the scheduler makes batches of a runbook; `None` if nobody ever said.
    fn automation(&self, runbook: String) -> Answer<'_, Option<Automation>>;

    /// Switches that.
    fn set_automation(
        &self,
        runbook: String,
        enabled: bool,
        actor: String,
        at: Timestamp,
    ) -> Answer<'_, Automation>;

    /// A batch with its phases and counters.
    fn batch(&self, id: BatchId) -> Answer<'_, Option<Batch>>;

    /// A part of the batches, newest first, each with its phases and counters.
    fn batches(&self, filter: BatchFilter, slice: Slice) -> Answer<'_, Listed<Batch>>;

    /// A part of the members of a batch, by number.
    fn members(&self, filter: MemberFilter, slice: Slice) -> Answer<'_, Listed<Member>>;

    /// Notes that what the leaving of these members asks for was begun.
    fn removals_dispatched(&self, members: Vec<MemberId>, at: Timestamp) -> Answer<'_, ()>;

    /// Members of batches of a runbook that have not ended, who have not left: key and batch.
    fn keys_in_batches(&self, runbook: String) -> Answer<'_, Vec<(String, BatchId)>>;

    /// Keys that an immediate runbook has seen and that were never absent since. Those that are
    /// not among `present` are forgotten; the answer are those of `present` that were known before.
    fn seen_keys(&self, runbook: String, present: Vec<String>) -> Answer<'_, Vec<String>>;

    /// Notes keys that an immediate runbook has made members of.
    fn note_keys(&self, runbook: String, keys: Vec<String>) -> Answer<'_, ()>;

    /// Runs of a batch by what they do, oldest first; or every run of one member.
    fn batch_runs(
        &self,
        batch: BatchId,
        role: Option<BatchRole>,
        member: Option<MemberId>,
    ) -> Answer<'_, Vec<BatchRun>>;

    /// A run of a batch by number.
    fn numbered_run(&self, number: RunNumber) -> Answer<'_, Option<BatchRun>>;

    /// The history of a batch, or of all batches, after a place, oldest first.
    fn batch_events(
        &self,
        batch: Option<BatchId>,
        after: i64,
        limit: usize,
    ) -> Answer<'_, Vec<BatchEvent>>;

    /// The account of a tenant; all zero if nothing ever moved.
    fn account(&self, tenant: Tenant) -> Answer<'_, Account>;

    /// Puts credits into an account, or takes them out.
    fn grant(&self, grant: Grant) -> Answer<'_, Granted>;

    /// Lines of the ledger of a tenant, newest first, before a line; of a run only, if named.
    fn ledger(
        &self,
        tenant: Tenant,
        run: Option<RunId>,
        before: Option<i64>,
        limit: usize,
    ) -> Answer<'_, Vec<LedgerLine>>;

    /// Folds up to `limit` lines that runs wrote before a moment, oldest first, and answers how many.
    ///
    /// Lines that follow each other in the ledger of a tenant on one day in UTC become one of kind
    /// `carried`: their sum, with the number, the moment and the account of the newest, in one with a
    /// carried line beside them. So the sum of an account's lines stays the account, each line leads from
    /// the one before to what it says, and how lines were cut into pages cannot be seen afterwards.
    /// Grants stay as they are, with their keys, and what is on either side of one is folded apart.
    fn fold_ledger(&self, before: Timestamp, limit: usize) -> Answer<'_, usize>;

    /// Events after a place, oldest first. What is answered is complete: no event with a lower place
    /// becomes visible later, whatever instance writes it.
    fn events(&self, filter: EventFilter, after: EventPlace, limit: usize) -> Answer<'_, Events>;

    /// Deletes events from before a moment, looking at the `limit` oldest places only. What is told of a
    /// run also goes when the run is deleted.
    fn sweep_events(&self, before: Timestamp, limit: usize) -> Answer<'_, usize>;

    /// Stores an address that is told of events, new or changed.
    fn put_subscription(&self, subscription: Subscription) -> Answer<'_, ()>;

    /// All of them, oldest first.
    fn subscriptions(&self) -> Answer<'_, Vec<Subscription>>;

    /// Forgets one; `false` if there is none.
    fn delete_subscription(&self, id: String) -> Answer<'_, bool>;

    /// Stores a trigger, new or changed. One that exists must be at the version before the given one;
    /// `false` if it is not, or if a new one exists already.
    fn put_trigger(&self, trigger: Trigger) -> Answer<'_, bool>;

    /// Triggers by tenant and name.
    fn triggers(&self, filter: TriggerFilter) -> Answer<'_, Vec<Trigger>>;

    /// Forgets a trigger and its firings; `false` if there is none.
    fn delete_trigger(&self, tenant: Tenant, name: String) -> Answer<'_, bool>;

    /// Enabled triggers whose next moment has come, earliest first, and the earliest that has not.
    fn due_triggers(
        &self,
        now: Timestamp,
        limit: usize,
    ) -> Answer<'_, (Vec<Trigger>, Option<Timestamp>)>;

    /// Writes what became of triggers; `false` for each that has changed since it was read.
    fn progress_triggers(&self, progress: Vec<TriggerProgress>) -> Answer<'_, Vec<bool>>;

    /// Firings of a trigger, newest first; those with this outcome only, if named.
    fn firings(
        &self,
        tenant: Tenant,
        trigger: String,
        outcome: Option<FiringOutcome>,
        limit: usize,
    ) -> Answer<'_, Vec<Firing>>;

    /// Whether firings of a trigger with these keys are noted, in the same order.
    fn known_firings(
        &self,
        tenant: Tenant,
        trigger: String,
        keys: Vec<String>,
    ) -> Answer<'_, Vec<bool>>;

    /// What is agreed for tenants.
    fn tenant_policies(&self) -> Answer<'_, Vec<(Tenant, TenantPolicy)>>;

    /// Agrees on something for a tenant; `None`: nothing any more.
    fn set_tenant_policy(&self, tenant: Tenant, policy: Option<TenantPolicy>) -> Answer<'_, ()>;

    /// Stores a token; only its hash is kept.
    fn create_token(&self, token: TokenRecord) -> Answer<'_, ()>;

    /// A token by its public id.
    fn token(&self, id: String) -> Answer<'_, Option<TokenRecord>>;

    /// All tokens, oldest first.
    fn tokens(&self) -> Answer<'_, Vec<TokenRecord>>;

    /// Revokes a token; `false` if there is none, or it was revoked before.
    fn revoke_token(&self, id: String, at: Timestamp) -> Answer<'_, bool>;

    /// A secret of the installation by name; `fresh` is stored and returned if there was none.
    fn secret(&self, name: String, fresh: Vec<u8>) -> Answer<'_, Vec<u8>>;

    /// Secrets of the installation by name, in the same order; `None` where there is none.
    fn secrets(&self, names: Vec<String>) -> Answer<'_, Vec<Option<Vec<u8>>>>;

    /// Puts a secret in the place of the one that was seen, or of none; `false` if it is another by now.
    fn replace_secret(
        &self,
        name: String,
        seen: Option<Vec<u8>>,
        fresh: Vec<u8>,
    ) -> Answer<'_, bool>;

    /// Deletes up to `limit` ended runs whose time has come, and leaves a stub of each.
    fn sweep(&self, now: Timestamp, limit: usize) -> Answer<'_, usize>;

    /// Deletes up to `limit` stubs of runs that were deleted before a moment, and as many firings from
    /// before another. Stubs stay by which a batch knows what became of its runs; so do firings that
    /// wait, and those of files, which may still lie there.
    fn forget(
        &self,
        stubs_before: Timestamp,
        firings_before: Timestamp,
        limit: usize,
    ) -> Answer<'_, usize>;

    /// Gives a little of the room back that deleted rows have left, and keeps logs short; `true` if
    /// there is more to do. A store that does so by itself has nothing to do here.
    fn compact(&self) -> Answer<'_, bool> {
        Box::pin(async { Ok(false) })
    }

    /// When runs may be deleted, in the same order; `None` for one that is kept for ever, has not ended
    /// or does not exist (C-005).
    fn expiries(&self, runs: Vec<RunId>) -> Answer<'_, Vec<Option<Timestamp>>>;

    /// What became of a run that retention has deleted.
    fn stub(&self, run: RunId) -> Answer<'_, Option<Stub>>;

    /// Figures for metrics and health.
    fn figures(&self) -> Answer<'_, Figures>;

    /// Writes and reads once, to see whether the store takes writes.
    fn probe(&self) -> Answer<'_, ()>;

    /// What brings an empty place to this release's schema, for review; nothing is applied (B-026).
    fn ddl(&self) -> String;

    /// Brings the schema to this release's; answers what was applied, nothing the second time.
    /// A store that does so when it is opened has nothing left to do (B-028).
    fn migrate(&self) -> Answer<'_, Vec<String>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Finishes what is under way and lets go of files and connections. Idempotent.
    fn close(&self) -> Answer<'_, ()>;
}
