//! A store that fails when told to, around one that does not.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use stepwell_core::batch::Batch;
use stepwell_core::duration::Interval;
use stepwell_core::id::{BatchId, MemberId, RunId, RunNumber, Tenant};
use stepwell_core::run::BatchRole;
use stepwell_core::time::Timestamp;
use stepwell_store::{
    Account, Answer, Automation, BatchEvent, BatchFilter, BatchRun, DeadLetter, DeadLetterFilter,
    Due, Epoch, EventFilter, EventPlace, Events, Figures, Filter, Firing, FiringOutcome, Grant,
    Granted, Group, Input, Instance, KeyHash, KeyHolder, LedgerLine, Listed, Member, MemberFilter,
    NewRunbook, NewSubmission, NewWorkflow, Numbered, OutboxSettlement, Outgoing, Page, Pulse,
    QueueKey, Queued, Received, Reclaimed, Record, RunSummary, RunbookDocument, Settlement, Signal,
    Slice, StaleReport, Store, StoreError, StoredRun, Stub, SubmissionSettlement, Subscription,
    TenantPolicy, TokenRecord, Trigger, TriggerFilter, TriggerProgress, Verdict, WorkflowDocument,
};
use tokio::sync::{Semaphore, mpsc};

/// What the next commit does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// nothing is written, and the caller is told so
    Lost,
    /// everything is written, and the caller is told it was not
    WrittenButUnknown,
    /// nothing is written, because something in the group can never be stored
    Broken,
}

/// A store that fails when told to.
pub(crate) struct Faulty {
    inner: Arc<dyn Store>,
    faults: Mutex<Vec<Fault>>,
    /// one permit lets one commit pass
    pub(crate) gate: Semaphore,
    /// signs of life and scans fail
    pub(crate) deaf: AtomicBool,
    /// one permit lets one takeover pass
    pub(crate) takeovers: Semaphore,
    /// one permit lets one look at what others have stored for our runs pass
    pub(crate) inputs: Semaphore,
    /// commits that have reached the gate
    pub(crate) arrived: tokio::sync::watch::Sender<usize>,
    /// one permit lets one note of a trigger pass
    pub(crate) notes: Semaphore,
    /// notes that have reached their gate
    pub(crate) notes_arrived: tokio::sync::watch::Sender<usize>,
    /// looks into the histories of runs, one or many at once
    pub(crate) looks: AtomicUsize,
}

impl Faulty {
    /// Lets every commit pass until told otherwise.
    pub(crate) fn new(inner: Arc<dyn Store>) -> Arc<Self> {
        let gate = Semaphore::new(Semaphore::MAX_PERMITS);
        let arrived = tokio::sync::watch::Sender::new(0);
        let deaf = AtomicBool::new(false);
        let takeovers = Semaphore::new(Semaphore::MAX_PERMITS);
        let inputs = Semaphore::new(Semaphore::MAX_PERMITS);
        let notes = Semaphore::new(Semaphore::MAX_PERMITS);
        let notes_arrived = tokio::sync::watch::Sender::new(0);
        let faults = Mutex::default();
        Arc::new(Self {
            inner,
            faults,
            gate,
            deaf,
            takeovers,
            inputs,
            arrived,
            notes,
            notes_arrived,
            looks: AtomicUsize::new(0),
        })
    }

    /// Answers, unless signs of life and scans are to fail.
    fn hear<'a, T: Send + 'a>(&'a self, answer: Answer<'a, T>) -> Answer<'a, T> {
        if !self.deaf.load(Ordering::SeqCst) {
            return answer;
        }
        let away = StoreError::Unavailable { reason: "told to be".to_owned(), source: None };
        Box::pin(std::future::ready(Err(away)))
    }

    /// The next commits fail like this, in order.
    pub(crate) fn fail_next(&self, faults: &[Fault]) {
        self.faults.lock().expect("unpoisoned").extend(faults.iter().rev());
    }
}

macro_rules! pass_on {
    ($($name:ident($($arg:ident: $kind:ty),*) -> $answer:ty;)*) => {
        $(fn $name(&self, $($arg: $kind),*) -> Answer<'_, $answer> {
            self.inner.$name($($arg),*)
        })*
    };
}

impl Store for Faulty {
    fn kind(&self) -> &'static str {
        "faulty"
    }

    fn open_epoch(&self, instance: &str) -> Answer<'_, Epoch> {
        self.inner.open_epoch(instance)
    }

    fn commit(&self, group: Group) -> Answer<'_, Vec<Verdict>> {
        Box::pin(async move {
            self.arrived.send_modify(|arrived| *arrived += 1);
            self.gate.acquire().await.expect("never closed").forget();
            let fault = self.faults.lock().expect("unpoisoned").pop();
            let unavailable =
                || StoreError::Unavailable { reason: "told to fail".to_owned(), source: None };
            match fault {
                None => self.inner.commit(group).await,
                Some(Fault::Lost) => Err(unavailable()),
                Some(Fault::Broken) => {
                    Err(StoreError::Broken { reason: "told to break".to_owned(), source: None })
                }
                Some(Fault::WrittenButUnknown) => {
                    self.inner.commit(group).await?;
                    Err(unavailable())
                }
            }
        })
    }

    fn progress_triggers(&self, progress: Vec<TriggerProgress>) -> Answer<'_, Vec<bool>> {
        Box::pin(async move {
            self.notes_arrived.send_modify(|arrived| *arrived += 1);
            self.notes.acquire().await.expect("never closed").forget();
            self.inner.progress_triggers(progress).await
        })
    }

    fn is_shared(&self) -> bool {
        self.inner.is_shared()
    }

    fn heartbeat(&self, epoch: Epoch, stats: Value) -> Answer<'_, Pulse> {
        self.hear(self.inner.heartbeat(epoch, stats))
    }

    fn reclaim(&self, epoch: Epoch, silence: Interval, limit: usize) -> Answer<'_, Reclaimed> {
        self.hear(Box::pin(async move {
            self.takeovers.acquire().await.expect("never closed").forget();
            self.inner.reclaim(epoch, silence, limit).await
        }))
    }

    fn inputs(&self, epoch: Epoch, limit: usize) -> Answer<'_, Vec<Input>> {
        Box::pin(async move {
            self.inputs.acquire().await.expect("never closed").forget();
            self.inner.inputs(epoch, limit).await
        })
    }

    fn history(&self, run: RunId, after_version: u64, limit: usize) -> Answer<'_, Vec<Record>> {
        self.looks.fetch_add(1, Ordering::SeqCst);
        self.inner.history(run, after_version, limit)
    }

    fn beginnings(&self, runs: Vec<RunId>, limit: usize) -> Answer<'_, Vec<Vec<Record>>> {
        self.looks.fetch_add(1, Ordering::SeqCst);
        self.inner.beginnings(runs, limit)
    }

    fn ddl(&self) -> String {
        self.inner.ddl()
    }

    pass_on! {
        hand_over(from: Epoch, runs: Vec<RunId>, to: Epoch) -> Vec<RunId>;
        retire(epoch: Epoch) -> ();
        instances() -> Vec<Instance>;
        listen(epoch: Epoch) -> mpsc::Receiver<Signal>;
        tell(from: Epoch, signal: Signal) -> ();
        load(runs: Vec<RunId>) -> Vec<StoredRun>;
        due(owner: Epoch, now: Timestamp, limit: usize) -> Due;
        queued(owner: Epoch, pool: String, after: Option<QueueKey>, limit: usize) -> Vec<Queued>;
        queued_pools(owner: Epoch) -> Vec<String>;
        publish_workflow(document: NewWorkflow) -> WorkflowDocument;
        workflow(name: String, version: Option<u32>) -> Option<WorkflowDocument>;
        protocol(request_type: String) -> Option<WorkflowDocument>;
        workflows() -> Vec<WorkflowDocument>;
        by_key(tenant: Tenant, hash: KeyHash) -> Option<KeyHolder>;
        runs(filter: Filter, page: Page) -> Vec<RunSummary>;
        stale_reports(run: RunId) -> Vec<StaleReport>;
        compensations(run: RunId) -> Vec<RunSummary>;
        dead_letters(filter: DeadLetterFilter) -> Vec<DeadLetter>;
        settle_dead_letter(id: i64, settlement: Settlement) -> bool;
        outbox(now: Timestamp, keep: Interval, limit: usize) -> Outgoing;
        submit(submissions: Vec<NewSubmission>) -> Vec<bool>;
        receive(queue: String, now: Timestamp, keep: Interval, limit: usize) -> Received;
        settle_submissions(settlements: Vec<SubmissionSettlement>) -> ();
        settle_outbox(settlements: Vec<OutboxSettlement>) -> ();
        load_open(runs: Vec<RunId>) -> Vec<StoredRun>;
        reserve(kind: Numbered, count: u32) -> i64;
        lease(name: String, holder: String, now: Timestamp, until: Timestamp) -> bool;
        publish_runbook(document: NewRunbook) -> RunbookDocument;
        runbook(name: String, version: Option<u32>) -> Option<RunbookDocument>;
        runbooks(name: Option<String>) -> Vec<RunbookDocument>;
        deactivate_runbook(name: String, version: u32) -> bool;
        note_runbook(id: i64, error: Option<String>, at: Timestamp) -> ();
        overdue_applied(id: i64) -> ();
        automation(runbook: String) -> Option<Automation>;
        set_automation(runbook: String, enabled: bool, actor: String, at: Timestamp) -> Automation;
        batch(id: BatchId) -> Option<Batch>;
        batches(filter: BatchFilter, slice: Slice) -> Listed<Batch>;
        members(filter: MemberFilter, slice: Slice) -> Listed<Member>;
        removals_dispatched(members: Vec<MemberId>, at: Timestamp) -> ();
        keys_in_batches(runbook: String) -> Vec<(String, BatchId)>;
        seen_keys(runbook: String, present: Vec<String>) -> Vec<String>;
        note_keys(runbook: String, keys: Vec<String>) -> ();
        batch_runs(batch: BatchId, role: Option<BatchRole>, member: Option<MemberId>) -> Vec<BatchRun>;
        numbered_run(number: RunNumber) -> Option<BatchRun>;
        batch_events(batch: Option<BatchId>, after: i64, limit: usize) -> Vec<BatchEvent>;
        account(tenant: Tenant) -> Account;
        grant(grant: Grant) -> Granted;
        ledger(tenant: Tenant, run: Option<RunId>, before: Option<i64>, limit: usize) -> Vec<LedgerLine>;
        events(filter: EventFilter, after: EventPlace, limit: usize) -> Events;
        sweep_events(before: Timestamp, limit: usize) -> usize;
        fold_ledger(before: Timestamp, limit: usize) -> usize;
        put_subscription(subscription: Subscription) -> ();
        subscriptions() -> Vec<Subscription>;
        delete_subscription(id: String) -> bool;
        create_token(token: TokenRecord) -> ();
        token(id: String) -> Option<TokenRecord>;
        tokens() -> Vec<TokenRecord>;
        revoke_token(id: String, at: Timestamp) -> bool;
        secret(name: String, fresh: Vec<u8>) -> Vec<u8>;
        secrets(names: Vec<String>) -> Vec<Option<Vec<u8>>>;
        replace_secret(name: String, seen: Option<Vec<u8>>, fresh: Vec<u8>) -> bool;
        sweep(now: Timestamp, limit: usize) -> usize;
        settle_dead_letters(settlements: Vec<(i64, Settlement)>) -> Vec<bool>;
        put_trigger(trigger: Trigger) -> bool;
        triggers(filter: TriggerFilter) -> Vec<Trigger>;
        delete_trigger(tenant: Tenant, name: String) -> bool;
        due_triggers(now: Timestamp, limit: usize) -> (Vec<Trigger>, Option<Timestamp>);
        firings(tenant: Tenant, trigger: String, outcome: Option<FiringOutcome>, limit: usize) -> Vec<Firing>;
        known_firings(tenant: Tenant, trigger: String, keys: Vec<String>) -> Vec<bool>;
        tenant_policies() -> Vec<(Tenant, TenantPolicy)>;
        set_tenant_policy(tenant: Tenant, policy: Option<TenantPolicy>) -> ();
        forget(stubs_before: Timestamp, firings_before: Timestamp, limit: usize) -> usize;
        expiries(runs: Vec<RunId>) -> Vec<Option<Timestamp>>;
        stub(run: RunId) -> Option<Stub>;
        figures() -> Figures;
        probe() -> ();
        close() -> ();
    }
}
