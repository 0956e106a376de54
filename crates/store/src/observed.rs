//! A store that says what it does: one log record for each operation, and errors that name it.
//!
//! It stands around any other store, so that none has to remember it. A record, at the level `debug`,
//! says the name of the operation, what it was about, how long it took and how it failed; never what
//! was stored. How bad a failure is, whoever asked can tell, and logs it: with the same names in it.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;
use stepwell_core::batch::Batch;
use stepwell_core::duration::Interval;
use stepwell_core::id::{BatchId, MemberId, RunId, RunNumber, Tenant};
use stepwell_core::run::BatchRole;
use stepwell_core::time::Timestamp;
use tokio::sync::mpsc;

use crate::error::StoreError;
use crate::model::*;
use crate::{Answer, Store};

/// A store that says what it does.
pub struct Observed {
    inner: Arc<dyn Store>,
}

/// What an operation is about, in a few words and without data.
#[derive(Clone, Debug)]
enum About {
    /// nothing in particular
    Nothing,
    /// runs: the first, and how many in all
    Runs(Option<RunId>, usize),
    /// an instance
    Instance(Epoch),
    /// something with a name: a workflow, a pool, a queue
    Named(String),
    /// something with a number
    Numbered(i64),
}

impl fmt::Display for About {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing | Self::Runs(None, _) => f.write_str("-"),
            Self::Runs(Some(run), 1) => write!(f, "run {run}"),
            Self::Runs(Some(run), count) => write!(f, "run {run} and {} more", count - 1),
            Self::Instance(epoch) => write!(f, "instance {}", epoch.0),
            Self::Named(name) => write!(f, "{name:?}"),
            Self::Numbered(number) => write!(f, "number {number}"),
        }
    }
}

impl About {
    fn run(run: &RunId) -> Self {
        Self::Runs(Some(*run), 1)
    }

    fn runs(runs: &[RunId]) -> Self {
        Self::Runs(runs.first().copied(), runs.len())
    }

    fn group(group: &Group) -> Self {
        let Some(first) = group.items.first() else { return Self::Nothing };
        let run = match first {
            Item::Create(create) => create.run.id(),
            Item::Advance(advance) => advance.run.id(),
            Item::Reschedule { run, .. } => *run,
            Item::Audit(report) => report.run,
            Item::Forward(input) => input.run,
            Item::Batch(write) => return Self::Numbered(write.batch.id().0),
        };
        Self::Runs(Some(run), group.items.len())
    }
}

impl Observed {
    /// A store around another.
    #[must_use]
    pub fn around(inner: Arc<dyn Store>) -> Arc<dyn Store> {
        Arc::new(Self { inner })
    }

    /// Waits for an operation, and says what came of it.
    fn observe<'a, T: Send + 'a>(
        &'a self,
        operation: &'static str,
        about: About,
        answer: Answer<'a, T>,
    ) -> Answer<'a, T> {
        let begun = Instant::now();
        Box::pin(async move {
            let answer = answer.await;
            let ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
            match answer {
                Ok(done) => {
                    tracing::debug!(operation, %about, ms, "store_operation");
                    Ok(done)
                }
                Err(error) => {
                    let error = error.during(operation, &about);
                    tracing::debug!(operation, %about, ms, %error, "store_operation_failed");
                    Err(error)
                }
            }
        })
    }
}

impl StoreError {
    /// The same, with the operation and what it was about in front (B-004).
    fn during(self, operation: &str, about: &About) -> Self {
        let named = |reason: String| format!("{operation} ({about}): {reason}");
        match self {
            Self::Unavailable { reason, source } => {
                Self::Unavailable { reason: named(reason), source }
            }
            Self::Broken { reason, source } => Self::Broken { reason: named(reason), source },
            // These are answers to the caller as a whole, whatever it asked.
            Self::Fenced { .. } | Self::Refused { .. } => self,
        }
    }
}

/// Passes operations on. After the colon stands what each is about.
macro_rules! observe {
    ($($name:ident($($arg:ident: $kind:ty),*) -> $answer:ty: $about:expr;)*) => {
        $(fn $name(&self, $($arg: $kind),*) -> Answer<'_, $answer> {
            let about = $about;
            self.observe(stringify!($name), about, self.inner.$name($($arg),*))
        })*
    };
}

impl Store for Observed {
    fn kind(&self) -> &'static str {
        self.inner.kind()
    }

    fn is_shared(&self) -> bool {
        self.inner.is_shared()
    }

    fn ddl(&self) -> String {
        self.inner.ddl()
    }

    observe! {
        open_epoch(instance: &str) -> Epoch: About::Named(instance.to_owned());
        heartbeat(epoch: Epoch, stats: Value) -> Pulse: About::Instance(epoch);
        reclaim(epoch: Epoch, silence: Interval, limit: usize) -> Reclaimed: About::Instance(epoch);
        hand_over(from: Epoch, runs: Vec<RunId>, to: Epoch) -> Vec<RunId>: About::runs(&runs);
        retire(epoch: Epoch) -> (): About::Instance(epoch);
        instances() -> Vec<Instance>: About::Nothing;
        inputs(epoch: Epoch, limit: usize) -> Vec<Input>: About::Instance(epoch);
        listen(epoch: Epoch) -> mpsc::Receiver<Signal>: About::Instance(epoch);
        tell(from: Epoch, signal: Signal) -> (): About::Instance(from);
        commit(group: Group) -> Vec<Verdict>: About::group(&group);
        load(runs: Vec<RunId>) -> Vec<StoredRun>: About::runs(&runs);
        load_open(runs: Vec<RunId>) -> Vec<StoredRun>: About::runs(&runs);
        due(owner: Epoch, now: Timestamp, limit: usize) -> Due: About::Instance(owner);
        queued(owner: Epoch, pool: String, after: Option<QueueKey>, limit: usize) -> Vec<Queued>:
            About::Named(pool.clone());
        queued_pools(owner: Epoch) -> Vec<String>: About::Instance(owner);
        publish_workflow(document: NewWorkflow) -> WorkflowDocument:
            About::Named(document.name.clone());
        workflow(name: String, version: Option<u32>) -> Option<WorkflowDocument>:
            About::Named(name.clone());
        protocol(request_type: String) -> Option<WorkflowDocument>:
            About::Named(request_type.clone());
        workflows() -> Vec<WorkflowDocument>: About::Nothing;
        by_key(tenant: Tenant, hash: KeyHash) -> Option<KeyHolder>: About::Nothing;
        runs(filter: Filter, page: Page) -> Vec<RunSummary>: About::Nothing;
        history(run: RunId, after_version: u64, limit: usize) -> Vec<Record>: About::run(&run);
        beginnings(runs: Vec<RunId>, limit: usize) -> Vec<Vec<Record>>: About::runs(&runs);
        stale_reports(run: RunId) -> Vec<StaleReport>: About::run(&run);
        compensations(run: RunId) -> Vec<RunSummary>: About::run(&run);
        dead_letters(filter: DeadLetterFilter) -> Vec<DeadLetter>: About::Nothing;
        settle_dead_letter(id: i64, settlement: Settlement) -> bool: About::Numbered(id);
        outbox(now: Timestamp, keep: Interval, limit: usize) -> Outgoing: About::Nothing;
        settle_outbox(settlements: Vec<OutboxSettlement>) -> (): About::Nothing;
        submit(submissions: Vec<NewSubmission>) -> Vec<bool>: About::Nothing;
        receive(queue: String, now: Timestamp, keep: Interval, limit: usize) -> Received:
            About::Named(queue.clone());
        settle_submissions(settlements: Vec<SubmissionSettlement>) -> (): About::Nothing;
        reserve(kind: Numbered, count: u32) -> i64: About::Named(kind.word().to_owned());
        lease(name: String, holder: String, now: Timestamp, until: Timestamp) -> bool:
            About::Named(name.clone());
        publish_runbook(document: NewRunbook) -> RunbookDocument:
            About::Named(document.name.clone());
        runbook(name: String, version: Option<u32>) -> Option<RunbookDocument>:
            About::Named(name.clone());
        runbooks(name: Option<String>) -> Vec<RunbookDocument>:
            name.clone().map_or(About::Nothing, About::Named);
        deactivate_runbook(name: String, version: u32) -> bool: About::Named(name.clone());
        note_runbook(id: i64, error: Option<String>, at: Timestamp) -> (): About::Numbered(id);
        overdue_applied(id: i64) -> (): About::Numbered(id);
        automation(runbook: String) -> Option<Automation>: About::Named(runbook.clone());
        set_automation(runbook: String, enabled: bool, actor: String, at: Timestamp) -> Automation:
            About::Named(runbook.clone());
        batch(id: BatchId) -> Option<Batch>: About::Numbered(id.0);
        batches(filter: BatchFilter, slice: Slice) -> Listed<Batch>: About::Nothing;
        members(filter: MemberFilter, slice: Slice) -> Listed<Member>:
            About::Numbered(filter.batch.0);
        removals_dispatched(members: Vec<MemberId>, at: Timestamp) -> (): About::Nothing;
        keys_in_batches(runbook: String) -> Vec<(String, BatchId)>: About::Named(runbook.clone());
        seen_keys(runbook: String, present: Vec<String>) -> Vec<String>:
            About::Named(runbook.clone());
        note_keys(runbook: String, keys: Vec<String>) -> (): About::Named(runbook.clone());
        batch_runs(batch: BatchId, role: Option<BatchRole>, member: Option<MemberId>)
            -> Vec<BatchRun>: About::Numbered(batch.0);
        numbered_run(number: RunNumber) -> Option<BatchRun>: About::Numbered(number.0);
        batch_events(batch: Option<BatchId>, after: i64, limit: usize) -> Vec<BatchEvent>:
            batch.map_or(About::Nothing, |batch| About::Numbered(batch.0));
        account(tenant: Tenant) -> Account: About::Named(tenant.as_str().to_owned());
        grant(grant: Grant) -> Granted: About::Named(grant.tenant.as_str().to_owned());
        ledger(tenant: Tenant, run: Option<RunId>, before: Option<i64>, limit: usize)
            -> Vec<LedgerLine>: About::Named(tenant.as_str().to_owned());
        fold_ledger(before: Timestamp, limit: usize) -> usize: About::Nothing;
        events(filter: EventFilter, after: EventPlace, limit: usize) -> Events:
            About::Numbered(after.0);
        sweep_events(before: Timestamp, limit: usize) -> usize: About::Nothing;
        put_subscription(subscription: Subscription) -> (): About::Named(subscription.id.clone());
        subscriptions() -> Vec<Subscription>: About::Nothing;
        delete_subscription(id: String) -> bool: About::Named(id.clone());
        create_token(token: TokenRecord) -> (): About::Nothing;
        token(id: String) -> Option<TokenRecord>: About::Nothing;
        tokens() -> Vec<TokenRecord>: About::Nothing;
        revoke_token(id: String, at: Timestamp) -> bool: About::Nothing;
        secret(name: String, fresh: Vec<u8>) -> Vec<u8>: About::Named(name.clone());
        secrets(names: Vec<String>) -> Vec<Option<Vec<u8>>>: About::Nothing;
        replace_secret(name: String, seen: Option<Vec<u8>>, fresh: Vec<u8>) -> bool:
            About::Named(name.clone());
        settle_dead_letters(settlements: Vec<(i64, Settlement)>) -> Vec<bool>: About::Nothing;
        put_trigger(trigger: Trigger) -> bool: About::Named(trigger.name.clone());
        triggers(filter: TriggerFilter) -> Vec<Trigger>: About::Nothing;
        delete_trigger(tenant: Tenant, name: String) -> bool: About::Named(name.clone());
        due_triggers(now: Timestamp, limit: usize) -> (Vec<Trigger>, Option<Timestamp>):
            About::Nothing;
        progress_triggers(progress: Vec<TriggerProgress>) -> Vec<bool>: About::Nothing;
        firings(tenant: Tenant, trigger: String, outcome: Option<FiringOutcome>, limit: usize)
            -> Vec<Firing>: About::Named(trigger.clone());
        known_firings(tenant: Tenant, trigger: String, keys: Vec<String>) -> Vec<bool>:
            About::Named(trigger.clone());
        tenant_policies() -> Vec<(Tenant, TenantPolicy)>: About::Nothing;
        set_tenant_policy(tenant: Tenant, policy: Option<TenantPolicy>) -> ():
            About::Named(tenant.as_str().to_owned());
        sweep(now: Timestamp, limit: usize) -> usize: About::Nothing;
        forget(stubs_before: Timestamp, firings_before: Timestamp, limit: usize) -> usize:
            About::Nothing;
        compact() -> bool: About::Nothing;
        expiries(runs: Vec<RunId>) -> Vec<Option<Timestamp>>: About::runs(&runs);
        stub(run: RunId) -> Option<Stub>: About::run(&run);
        figures() -> Figures: About::Nothing;
        probe() -> (): About::Nothing;
        migrate() -> Vec<String>: About::Nothing;
        close() -> (): About::Nothing;
    }
}
