//! The store's contract, each call sent to where it is done: the writer thread or a reader.

use stepwell_core::batch::Batch;
use stepwell_core::duration::Interval;
use stepwell_core::id::{BatchId, MemberId, RunId, RunNumber, Tenant};
use stepwell_core::run::BatchRole;
use stepwell_core::time::Timestamp;

use super::columns::Columns;
use super::{
    SqliteStore, batch, commit, credit, dead_letter, document, event, ledger, list, load, member,
    migrate, outbox, query, retention, runbook, submission, subscription, tenant_policy, token,
    trigger,
};
use crate::model::*;
use crate::{Answer, Store};

const EPOCH_OPEN: &str = include_str!("../../sql/sqlite/epoch_open.sql");
const PROBE: &str = include_str!("../../sql/sqlite/probe.sql");

impl Store for SqliteStore {
    fn kind(&self) -> &'static str {
        "sqlite"
    }

    fn open_epoch(&self, instance: &str) -> Answer<'_, Epoch> {
        let instance = instance.to_owned();
        Box::pin(self.write(move |tx| {
            let mut statement = tx.prepare_cached(EPOCH_OPEN)?;
            let epoch = statement.query_row([instance], |row| Ok(Columns::of(row).count()))??;
            Ok(Epoch(epoch))
        }))
    }

    fn commit(&self, group: Group) -> Answer<'_, Vec<Verdict>> {
        Box::pin(self.commit_group(group))
    }

    fn load(&self, runs: Vec<RunId>) -> Answer<'_, Vec<StoredRun>> {
        Box::pin(self.readers.read(move |db| load::load(db, &runs, load::Depth::Whole)))
    }

    fn load_open(&self, runs: Vec<RunId>) -> Answer<'_, Vec<StoredRun>> {
        Box::pin(self.readers.read(move |db| load::load(db, &runs, load::Depth::Open)))
    }

    fn due(&self, _owner: Epoch, now: Timestamp, limit: usize) -> Answer<'_, Due> {
        Box::pin(self.readers.read(move |db| load::due(db, now, limit)))
    }

    fn queued(
        &self,
        _owner: Epoch,
        pool: String,
        after: Option<QueueKey>,
        limit: usize,
    ) -> Answer<'_, Vec<Queued>> {
        Box::pin(self.readers.read(move |db| load::queued(db, &pool, after, limit)))
    }

    fn queued_pools(&self, _owner: Epoch) -> Answer<'_, Vec<String>> {
        Box::pin(self.readers.read(load::queued_pools))
    }

    fn publish_workflow(&self, document: NewWorkflow) -> Answer<'_, WorkflowDocument> {
        Box::pin(self.write(move |tx| document::publish(tx, document)))
    }

    fn workflow(&self, name: String, version: Option<u32>) -> Answer<'_, Option<WorkflowDocument>> {
        Box::pin(self.readers.read(move |db| document::find(db, &name, version)))
    }

    fn protocol(&self, request_type: String) -> Answer<'_, Option<WorkflowDocument>> {
        Box::pin(self.readers.read(move |db| document::find_protocol(db, &request_type)))
    }

    fn workflows(&self) -> Answer<'_, Vec<WorkflowDocument>> {
        Box::pin(self.readers.read(document::list))
    }

    fn by_key(&self, tenant: Tenant, hash: KeyHash) -> Answer<'_, Option<KeyHolder>> {
        Box::pin(self.readers.read(move |db| commit::key_holder(db, &tenant, &hash)))
    }

    fn runs(&self, filter: Filter, page: Page) -> Answer<'_, Vec<RunSummary>> {
        Box::pin(self.readers.read(move |db| list::runs(db, &filter, page)))
    }

    fn history(&self, run: RunId, after_version: u64, limit: usize) -> Answer<'_, Vec<Record>> {
        Box::pin(self.readers.read(move |db| query::history(db, run, after_version, limit)))
    }

    fn beginnings(&self, runs: Vec<RunId>, limit: usize) -> Answer<'_, Vec<Vec<Record>>> {
        Box::pin(self.readers.read(move |db| query::beginnings(db, &runs, limit)))
    }

    fn stale_reports(&self, run: RunId) -> Answer<'_, Vec<StaleReport>> {
        Box::pin(self.readers.read(move |db| query::stale_reports(db, run)))
    }

    fn compensations(&self, run: RunId) -> Answer<'_, Vec<RunSummary>> {
        Box::pin(self.readers.read(move |db| list::compensations(db, run)))
    }

    fn dead_letters(&self, filter: DeadLetterFilter) -> Answer<'_, Vec<DeadLetter>> {
        Box::pin(self.readers.read(move |db| dead_letter::list(db, &filter)))
    }

    fn settle_dead_letter(&self, id: i64, settlement: Settlement) -> Answer<'_, bool> {
        Box::pin(self.write(move |tx| dead_letter::settle(tx, id, &settlement)))
    }

    fn settle_dead_letters(&self, settlements: Vec<(i64, Settlement)>) -> Answer<'_, Vec<bool>> {
        Box::pin(self.write(move |tx| dead_letter::settle_all(tx, &settlements)))
    }

    // One process sends, and settles before it looks again: nothing has to be kept from anybody.
    fn outbox(&self, now: Timestamp, _keep: Interval, limit: usize) -> Answer<'_, Outgoing> {
        Box::pin(self.readers.read(move |db| outbox::due(db, now, limit)))
    }

    fn settle_outbox(&self, settlements: Vec<OutboxSettlement>) -> Answer<'_, ()> {
        Box::pin(self.write(move |tx| outbox::settle(tx, &settlements)))
    }

    fn submit(&self, submissions: Vec<NewSubmission>) -> Answer<'_, Vec<bool>> {
        Box::pin(self.write(move |tx| submission::submit(tx, &submissions)))
    }

    fn receive(
        &self,
        queue: String,
        now: Timestamp,
        keep: Interval,
        limit: usize,
    ) -> Answer<'_, Received> {
        Box::pin(self.write(move |tx| submission::receive(tx, &queue, now, keep, limit)))
    }

    fn settle_submissions(&self, settlements: Vec<SubmissionSettlement>) -> Answer<'_, ()> {
        Box::pin(self.write(move |tx| submission::settle(tx, &settlements)))
    }

    fn reserve(&self, kind: Numbered, count: u32) -> Answer<'_, i64> {
        Box::pin(self.write(move |tx| batch::reserve(tx, kind, count)))
    }

    fn lease(
        &self,
        name: String,
        holder: String,
        now: Timestamp,
        until: Timestamp,
    ) -> Answer<'_, bool> {
        Box::pin(self.write(move |tx| batch::lease(tx, &name, &holder, now, until)))
    }

    fn publish_runbook(&self, document: NewRunbook) -> Answer<'_, RunbookDocument> {
        Box::pin(self.write(move |tx| runbook::publish(tx, document)))
    }

    fn runbook(&self, name: String, version: Option<u32>) -> Answer<'_, Option<RunbookDocument>> {
        Box::pin(self.readers.read(move |db| runbook::find(db, &name, version)))
    }

    fn runbooks(&self, name: Option<String>) -> Answer<'_, Vec<RunbookDocument>> {
        Box::pin(self.readers.read(move |db| runbook::list(db, name.as_deref())))
    }

    fn deactivate_runbook(&self, name: String, version: u32) -> Answer<'_, bool> {
        Box::pin(self.write(move |tx| runbook::deactivate(tx, &name, version)))
    }

    fn note_runbook(&self, id: i64, error: Option<String>, at: Timestamp) -> Answer<'_, ()> {
        Box::pin(self.write(move |tx| runbook::note(tx, id, error.as_deref(), at)))
    }

    fn overdue_applied(&self, id: i64) -> Answer<'_, ()> {
        Box::pin(self.write(move |tx| runbook::overdue_applied(tx, id)))
    }

    fn automation(&self, runbook: String) -> Answer<'_, Option<Automation>> {
        Box::pin(self.readers.read(move |db| runbook::automation(db, &runbook)))
    }

    fn set_automation(
        &self,
        runbook: String,
        enabled: bool,
        actor: String,
        at: Timestamp,
    ) -> Answer<'_, Automation> {
        Box::pin(self.write(move |tx| runbook::set_automation(tx, &runbook, enabled, &actor, at)))
    }

    fn batch(&self, id: BatchId) -> Answer<'_, Option<Batch>> {
        Box::pin(self.readers.read(move |db| batch::find(db, id)))
    }

    fn batches(&self, filter: BatchFilter, slice: Slice) -> Answer<'_, Listed<Batch>> {
        Box::pin(self.readers.read(move |db| batch::list(db, &filter, slice)))
    }

    fn members(&self, filter: MemberFilter, slice: Slice) -> Answer<'_, Listed<Member>> {
        Box::pin(self.readers.read(move |db| member::list(db, &filter, slice)))
    }

    fn removals_dispatched(&self, members: Vec<MemberId>, at: Timestamp) -> Answer<'_, ()> {
        Box::pin(self.write(move |tx| member::removals_dispatched(tx, &members, at)))
    }

    fn keys_in_batches(&self, runbook: String) -> Answer<'_, Vec<(String, BatchId)>> {
        Box::pin(self.readers.read(move |db| member::keys_in_batches(db, &runbook)))
    }

    fn seen_keys(&self, runbook: String, present: Vec<String>) -> Answer<'_, Vec<String>> {
        Box::pin(self.write(move |tx| runbook::seen_keys(tx, &runbook, present)))
    }

    fn note_keys(&self, runbook: String, keys: Vec<String>) -> Answer<'_, ()> {
        Box::pin(self.write(move |tx| runbook::note_keys(tx, &runbook, &keys)))
    }

    fn batch_runs(
        &self,
        batch: BatchId,
        role: Option<BatchRole>,
        member: Option<MemberId>,
    ) -> Answer<'_, Vec<BatchRun>> {
        Box::pin(self.readers.read(move |db| batch::runs(db, batch, role, member)))
    }

    fn numbered_run(&self, number: RunNumber) -> Answer<'_, Option<BatchRun>> {
        Box::pin(self.readers.read(move |db| batch::numbered_run(db, number)))
    }

    fn batch_events(
        &self,
        batch: Option<BatchId>,
        after: i64,
        limit: usize,
    ) -> Answer<'_, Vec<BatchEvent>> {
        Box::pin(self.readers.read(move |db| batch::events(db, batch, after, limit)))
    }

    fn put_trigger(&self, trigger: Trigger) -> Answer<'_, bool> {
        Box::pin(self.write(move |tx| trigger::put(tx, &trigger)))
    }

    fn triggers(&self, filter: TriggerFilter) -> Answer<'_, Vec<Trigger>> {
        Box::pin(self.readers.read(move |db| trigger::list(db, &filter)))
    }

    fn delete_trigger(&self, tenant: Tenant, name: String) -> Answer<'_, bool> {
        Box::pin(self.write(move |tx| trigger::delete(tx, &tenant, &name)))
    }

    fn due_triggers(
        &self,
        now: Timestamp,
        limit: usize,
    ) -> Answer<'_, (Vec<Trigger>, Option<Timestamp>)> {
        Box::pin(self.readers.read(move |db| trigger::due(db, now, limit)))
    }

    fn progress_triggers(&self, progress: Vec<TriggerProgress>) -> Answer<'_, Vec<bool>> {
        Box::pin(self.write(move |tx| trigger::progress(tx, &progress)))
    }

    fn firings(
        &self,
        tenant: Tenant,
        trigger: String,
        outcome: Option<FiringOutcome>,
        limit: usize,
    ) -> Answer<'_, Vec<Firing>> {
        let read = move |db: &_| trigger::firings(db, &tenant, &trigger, outcome, limit);
        Box::pin(self.readers.read(read))
    }

    fn known_firings(
        &self,
        tenant: Tenant,
        trigger: String,
        keys: Vec<String>,
    ) -> Answer<'_, Vec<bool>> {
        Box::pin(self.readers.read(move |db| trigger::known(db, &tenant, &trigger, &keys)))
    }

    fn tenant_policies(&self) -> Answer<'_, Vec<(Tenant, TenantPolicy)>> {
        Box::pin(self.readers.read(tenant_policy::list))
    }

    fn set_tenant_policy(&self, tenant: Tenant, policy: Option<TenantPolicy>) -> Answer<'_, ()> {
        Box::pin(self.write(move |tx| tenant_policy::set(tx, &tenant, policy.as_ref())))
    }

    fn account(&self, tenant: Tenant) -> Answer<'_, Account> {
        Box::pin(self.readers.read(move |db| credit::account(db, &tenant)))
    }

    fn grant(&self, grant: Grant) -> Answer<'_, Granted> {
        Box::pin(self.write(move |tx| credit::grant(tx, &grant)))
    }

    fn ledger(
        &self,
        tenant: Tenant,
        run: Option<RunId>,
        before: Option<i64>,
        limit: usize,
    ) -> Answer<'_, Vec<LedgerLine>> {
        Box::pin(self.readers.read(move |db| credit::ledger(db, &tenant, run, before, limit)))
    }

    fn fold_ledger(&self, before: Timestamp, limit: usize) -> Answer<'_, usize> {
        Box::pin(self.write(move |tx| ledger::fold(tx, before, limit)))
    }

    fn events(&self, filter: EventFilter, after: EventPlace, limit: usize) -> Answer<'_, Events> {
        Box::pin(self.readers.read(move |db| event::after(db, &filter, after, limit)))
    }

    fn sweep_events(&self, before: Timestamp, limit: usize) -> Answer<'_, usize> {
        Box::pin(self.write(move |tx| event::sweep(tx, before, limit)))
    }

    fn put_subscription(&self, subscription: Subscription) -> Answer<'_, ()> {
        Box::pin(self.write(move |tx| subscription::put(tx, &subscription)))
    }

    fn subscriptions(&self) -> Answer<'_, Vec<Subscription>> {
        Box::pin(self.readers.read(subscription::list))
    }

    fn delete_subscription(&self, id: String) -> Answer<'_, bool> {
        Box::pin(self.write(move |tx| subscription::delete(tx, &id)))
    }

    fn create_token(&self, token: TokenRecord) -> Answer<'_, ()> {
        Box::pin(self.write(move |tx| token::create(tx, &token)))
    }

    fn token(&self, id: String) -> Answer<'_, Option<TokenRecord>> {
        Box::pin(self.readers.read(move |db| token::find(db, &id)))
    }

    fn tokens(&self) -> Answer<'_, Vec<TokenRecord>> {
        Box::pin(self.readers.read(token::list))
    }

    fn revoke_token(&self, id: String, at: Timestamp) -> Answer<'_, bool> {
        Box::pin(self.write(move |tx| token::revoke(tx, &id, at)))
    }

    fn secret(&self, name: String, fresh: Vec<u8>) -> Answer<'_, Vec<u8>> {
        Box::pin(self.write(move |tx| token::secret(tx, &name, &fresh)))
    }

    fn secrets(&self, names: Vec<String>) -> Answer<'_, Vec<Option<Vec<u8>>>> {
        Box::pin(self.readers.read(move |db| token::secrets(db, &names)))
    }

    fn replace_secret(
        &self,
        name: String,
        seen: Option<Vec<u8>>,
        fresh: Vec<u8>,
    ) -> Answer<'_, bool> {
        Box::pin(self.write(move |tx| token::replace_secret(tx, &name, seen.as_deref(), &fresh)))
    }

    fn sweep(&self, now: Timestamp, limit: usize) -> Answer<'_, usize> {
        Box::pin(self.write(move |tx| retention::sweep(tx, now, limit)))
    }

    fn forget(
        &self,
        stubs_before: Timestamp,
        firings_before: Timestamp,
        limit: usize,
    ) -> Answer<'_, usize> {
        Box::pin(self.write(move |tx| retention::forget(tx, stubs_before, firings_before, limit)))
    }

    fn compact(&self) -> Answer<'_, bool> {
        Box::pin(self.compact_a_little())
    }

    fn expiries(&self, runs: Vec<RunId>) -> Answer<'_, Vec<Option<Timestamp>>> {
        Box::pin(self.readers.read(move |db| query::expiries(db, &runs)))
    }

    fn stub(&self, run: RunId) -> Answer<'_, Option<Stub>> {
        Box::pin(self.readers.read(move |db| query::stub(db, run)))
    }

    fn figures(&self) -> Answer<'_, Figures> {
        Box::pin(self.readers.read(query::figures))
    }

    fn probe(&self) -> Answer<'_, ()> {
        Box::pin(async {
            self.write(|tx| Ok(tx.prepare_cached(PROBE)?.execute([])?)).await?;
            self.readers.read(query::figures).await?;
            Ok(())
        })
    }

    fn ddl(&self) -> String {
        migrate::ddl()
    }

    fn close(&self) -> Answer<'_, ()> {
        Box::pin(async {
            self.close_all().await;
            Ok(())
        })
    }
}
