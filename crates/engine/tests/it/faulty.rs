//! A store that fails when told to, around one that does not.

use std::sync::{Arc, Mutex};

use stepwell_core::duration::Interval;
use stepwell_core::id::{RunId, Tenant};
use stepwell_core::time::Timestamp;
use stepwell_store::{
    Answer, DeadLetter, DeadLetterFilter, Due, Epoch, Figures, Filter, Group, KeyHash, KeyHolder,
    NewSubmission, NewWorkflow, OutboxSettlement, Outgoing, Page, QueueKey, Queued, Received,
    Record, RunSummary, Settlement, StaleReport, Store, StoreError, StoredRun, Stub,
    SubmissionSettlement, TokenRecord, Verdict, WorkflowDocument,
};
use tokio::sync::Semaphore;

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
    /// commits that have reached the gate
    pub(crate) arrived: tokio::sync::watch::Sender<usize>,
}

impl Faulty {
    /// Lets every commit pass until told otherwise.
    pub(crate) fn new(inner: Arc<dyn Store>) -> Arc<Self> {
        let gate = Semaphore::new(Semaphore::MAX_PERMITS);
        let arrived = tokio::sync::watch::Sender::new(0);
        Arc::new(Self { inner, faults: Mutex::default(), gate, arrived })
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

    fn ddl(&self) -> String {
        self.inner.ddl()
    }

    pass_on! {
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
        history(run: RunId, after_version: u64, limit: usize) -> Vec<Record>;
        stale_reports(run: RunId) -> Vec<StaleReport>;
        compensations(run: RunId) -> Vec<RunSummary>;
        dead_letters(filter: DeadLetterFilter) -> Vec<DeadLetter>;
        settle_dead_letter(id: i64, settlement: Settlement) -> bool;
        outbox(now: Timestamp, keep: Interval, limit: usize) -> Outgoing;
        submit(submissions: Vec<NewSubmission>) -> Vec<bool>;
        receive(queue: String, now: Timestamp, keep: Interval, limit: usize) -> Received;
        settle_submissions(settlements: Vec<SubmissionSettlement>) -> ();
        settle_outbox(settlements: Vec<OutboxSettlement>) -> ();
        create_token(token: TokenRecord) -> ();
        token(id: String) -> Option<TokenRecord>;
        tokens() -> Vec<TokenRecord>;
        revoke_token(id: String, at: Timestamp) -> bool;
        secret(name: String, fresh: Vec<u8>) -> Vec<u8>;
        sweep(now: Timestamp, limit: usize) -> usize;
        stub(run: RunId) -> Option<Stub>;
        figures() -> Figures;
        probe() -> ();
        close() -> ();
    }
}
