//! The store's contract, each call on a connection of its own.

use std::sync::Arc;

use serde_json::Value;
use stepwell_core::batch::Batch;
use stepwell_core::duration::Interval;
use stepwell_core::id::{BatchId, MemberId, RunId, RunNumber, Tenant};
use stepwell_core::run::BatchRole;
use stepwell_core::time::Timestamp;
use tokio::sync::mpsc;

use super::listen::{self, Word};
use super::load::Depth;
use super::{
    PostgresStore, batch, credit, dead_letter, document, event, lease, ledger, list, load, member,
    migrate, outbox, ownership, query, retention, runbook, submission, subscription, tenant_policy,
    token, trigger,
};
use crate::model::*;
use crate::{Answer, Store};

/// Lends a connection, does something with it, and gives it back.
macro_rules! on_a_connection {
    ($store:expr, |$db:ident| $work:expr) => {
        Box::pin(async move {
            let mut loan = $store.lend().await?;
            let $db = &mut *loan;
            let answer = $work.await?;
            Ok(loan.done(answer))
        })
    };
}

impl Store for PostgresStore {
    fn kind(&self) -> &'static str {
        "postgres"
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn open_epoch(&self, instance: &str) -> Answer<'_, Epoch> {
        let instance = instance.to_owned();
        on_a_connection!(self, |db| ownership::open_epoch(db, &instance))
    }

    fn heartbeat(&self, epoch: Epoch, stats: Value) -> Answer<'_, Pulse> {
        on_a_connection!(self.signs, |db| ownership::heartbeat(db, epoch, &stats))
    }

    fn reclaim(&self, epoch: Epoch, silence: Interval, limit: usize) -> Answer<'_, Reclaimed> {
        on_a_connection!(self, |db| ownership::reclaim(db, epoch, silence, limit))
    }

    fn hand_over(&self, from: Epoch, runs: Vec<RunId>, to: Epoch) -> Answer<'_, Vec<RunId>> {
        Box::pin(async move {
            let mut db = self.lend().await?;
            let given = ownership::hand_over(&mut db, from, runs, to).await?;
            if !given.is_empty() {
                self.tell(Word::to(to, from, Signal::Given));
            }
            Ok(db.done(given))
        })
    }

    fn retire(&self, epoch: Epoch) -> Answer<'_, ()> {
        Box::pin(async move {
            let mut db = self.lend().await?;
            ownership::retire(&mut db, epoch).await?;
            // Said here and waited for: the process is about to end.
            let free = Word::to_all(Some(epoch), Signal::Free);
            listen::say(&mut db, self.schema(), vec![free]).await?;
            db.done(Ok(()))
        })
    }

    fn instances(&self) -> Answer<'_, Vec<Instance>> {
        on_a_connection!(self, |db| ownership::instances(db))
    }

    fn inputs(&self, epoch: Epoch, limit: usize) -> Answer<'_, Vec<Input>> {
        on_a_connection!(self, |db| ownership::inputs(db, epoch, limit))
    }

    fn listen(&self, epoch: Epoch) -> Answer<'_, mpsc::Receiver<Signal>> {
        Box::pin(listen::listen(Arc::clone(&self.opener), epoch, self.closed.subscribe()))
    }

    fn tell(&self, from: Epoch, signal: Signal) -> Answer<'_, ()> {
        self.tell(Word::to_all(Some(from), signal));
        Box::pin(async { Ok(()) })
    }

    fn commit(&self, group: Group) -> Answer<'_, Vec<Verdict>> {
        Box::pin(self.commit_group(group))
    }

    fn load(&self, runs: Vec<RunId>) -> Answer<'_, Vec<StoredRun>> {
        on_a_connection!(self, |db| load::load(db, &runs, Depth::Whole))
    }

    fn load_open(&self, runs: Vec<RunId>) -> Answer<'_, Vec<StoredRun>> {
        on_a_connection!(self, |db| load::load(db, &runs, Depth::Open))
    }

    fn due(&self, owner: Epoch, now: Timestamp, limit: usize) -> Answer<'_, Due> {
        on_a_connection!(self, |db| load::due(db, owner, now, limit))
    }

    fn queued(
        &self,
        owner: Epoch,
        pool: String,
        after: Option<QueueKey>,
        limit: usize,
    ) -> Answer<'_, Vec<Queued>> {
        on_a_connection!(self, |db| load::queued(db, owner, &pool, after, limit))
    }

    fn queued_pools(&self, owner: Epoch) -> Answer<'_, Vec<String>> {
        on_a_connection!(self, |db| load::queued_pools(db, owner))
    }

    fn publish_workflow(&self, document: NewWorkflow) -> Answer<'_, WorkflowDocument> {
        on_a_connection!(self, |db| document::publish(db, document))
    }

    fn workflow(&self, name: String, version: Option<u32>) -> Answer<'_, Option<WorkflowDocument>> {
        on_a_connection!(self, |db| document::find(db, &name, version))
    }

    fn protocol(&self, request_type: String) -> Answer<'_, Option<WorkflowDocument>> {
        on_a_connection!(self, |db| document::find_protocol(db, &request_type))
    }

    fn workflows(&self) -> Answer<'_, Vec<WorkflowDocument>> {
        on_a_connection!(self, |db| document::list(db))
    }

    fn by_key(&self, tenant: Tenant, hash: KeyHash) -> Answer<'_, Option<KeyHolder>> {
        on_a_connection!(self, |db| query::key_holder(db, &tenant, &hash))
    }

    fn runs(&self, filter: Filter, page: Page) -> Answer<'_, Vec<RunSummary>> {
        on_a_connection!(self, |db| list::runs(db, &filter, page))
    }

    fn history(&self, run: RunId, after_version: u64, limit: usize) -> Answer<'_, Vec<Record>> {
        on_a_connection!(self, |db| query::history(db, run, after_version, limit))
    }

    fn beginnings(&self, runs: Vec<RunId>, limit: usize) -> Answer<'_, Vec<Vec<Record>>> {
        on_a_connection!(self, |db| query::beginnings(db, &runs, limit))
    }

    fn stale_reports(&self, run: RunId) -> Answer<'_, Vec<StaleReport>> {
        on_a_connection!(self, |db| query::stale_reports(db, run))
    }

    fn compensations(&self, run: RunId) -> Answer<'_, Vec<RunSummary>> {
        on_a_connection!(self, |db| list::compensations(db, run))
    }

    fn dead_letters(&self, filter: DeadLetterFilter) -> Answer<'_, Vec<DeadLetter>> {
        on_a_connection!(self, |db| dead_letter::list(db, &filter))
    }

    fn settle_dead_letter(&self, id: i64, settlement: Settlement) -> Answer<'_, bool> {
        on_a_connection!(self, |db| dead_letter::settle(db, id, &settlement))
    }

    fn settle_dead_letters(&self, settlements: Vec<(i64, Settlement)>) -> Answer<'_, Vec<bool>> {
        on_a_connection!(self, |db| dead_letter::settle_all(db, &settlements))
    }

    fn outbox(&self, now: Timestamp, keep: Interval, limit: usize) -> Answer<'_, Outgoing> {
        on_a_connection!(self, |db| outbox::due(db, now, keep, limit))
    }

    fn settle_outbox(&self, settlements: Vec<OutboxSettlement>) -> Answer<'_, ()> {
        on_a_connection!(self, |db| outbox::settle(db, &settlements))
    }

    fn submit(&self, submissions: Vec<NewSubmission>) -> Answer<'_, Vec<bool>> {
        Box::pin(async move {
            let mut db = self.lend().await?;
            let taken_in = submission::submit(&mut db, &submissions).await?;
            let mut queues: Vec<String> = submissions.into_iter().map(|it| it.queue).collect();
            queues.sort_unstable();
            queues.dedup();
            if taken_in.contains(&true) {
                for queue in queues {
                    self.tell(Word::to_all(None, Signal::Submitted { queue }));
                }
            }
            Ok(db.done(taken_in))
        })
    }

    fn receive(
        &self,
        queue: String,
        now: Timestamp,
        keep: Interval,
        limit: usize,
    ) -> Answer<'_, Received> {
        on_a_connection!(self, |db| submission::receive(db, &queue, now, keep, limit))
    }

    fn settle_submissions(&self, settlements: Vec<SubmissionSettlement>) -> Answer<'_, ()> {
        on_a_connection!(self, |db| submission::settle(db, &settlements))
    }

    fn reserve(&self, kind: Numbered, count: u32) -> Answer<'_, i64> {
        on_a_connection!(self, |db| lease::reserve(db, kind, count))
    }

    fn lease(
        &self,
        name: String,
        holder: String,
        now: Timestamp,
        until: Timestamp,
    ) -> Answer<'_, bool> {
        on_a_connection!(self, |db| lease::take(db, &name, &holder, now, until))
    }

    fn publish_runbook(&self, document: NewRunbook) -> Answer<'_, RunbookDocument> {
        on_a_connection!(self, |db| runbook::publish(db, document))
    }

    fn runbook(&self, name: String, version: Option<u32>) -> Answer<'_, Option<RunbookDocument>> {
        on_a_connection!(self, |db| runbook::find(db, &name, version))
    }

    fn runbooks(&self, name: Option<String>) -> Answer<'_, Vec<RunbookDocument>> {
        on_a_connection!(self, |db| runbook::list(db, name.as_deref()))
    }

    fn deactivate_runbook(&self, name: String, version: u32) -> Answer<'_, bool> {
        on_a_connection!(self, |db| runbook::deactivate(db, &name, version))
    }

    fn note_runbook(&self, id: i64, error: Option<String>, at: Timestamp) -> Answer<'_, ()> {
        on_a_connection!(self, |db| runbook::note(db, id, error.as_deref(), at))
    }

    fn overdue_applied(&self, id: i64) -> Answer<'_, ()> {
        on_a_connection!(self, |db| runbook::overdue_applied(db, id))
    }

    fn automation(&self, runbook: String) -> Answer<'_, Option<Automation>> {
        on_a_connection!(self, |db| runbook::automation(db, &runbook))
    }

    fn set_automation(
        &self,
        runbook: String,
        enabled: bool,
        actor: String,
        at: Timestamp,
    ) -> Answer<'_, Automation> {
        on_a_connection!(self, |db| runbook::set_automation(db, &runbook, enabled, &actor, at))
    }

    fn batch(&self, id: BatchId) -> Answer<'_, Option<Batch>> {
        on_a_connection!(self, |db| batch::find(db, id))
    }

    fn batches(&self, filter: BatchFilter, slice: Slice) -> Answer<'_, Listed<Batch>> {
        on_a_connection!(self, |db| batch::list(db, &filter, slice))
    }

    fn members(&self, filter: MemberFilter, slice: Slice) -> Answer<'_, Listed<Member>> {
        on_a_connection!(self, |db| member::list(db, &filter, slice))
    }

    fn removals_dispatched(&self, members: Vec<MemberId>, at: Timestamp) -> Answer<'_, ()> {
        on_a_connection!(self, |db| member::removals_dispatched(db, &members, at))
    }

    fn keys_in_batches(&self, runbook: String) -> Answer<'_, Vec<(String, BatchId)>> {
        on_a_connection!(self, |db| member::keys_in_batches(db, &runbook))
    }

    fn seen_keys(&self, runbook: String, present: Vec<String>) -> Answer<'_, Vec<String>> {
        on_a_connection!(self, |db| runbook::seen_keys(db, &runbook, &present))
    }

    fn note_keys(&self, runbook: String, keys: Vec<String>) -> Answer<'_, ()> {
        on_a_connection!(self, |db| runbook::note_keys(db, &runbook, &keys))
    }

    fn batch_runs(
        &self,
        batch: BatchId,
        role: Option<BatchRole>,
        member: Option<MemberId>,
    ) -> Answer<'_, Vec<BatchRun>> {
        on_a_connection!(self, |db| batch::runs(db, batch, role, member))
    }

    fn numbered_run(&self, number: RunNumber) -> Answer<'_, Option<BatchRun>> {
        on_a_connection!(self, |db| batch::numbered(db, number))
    }

    fn batch_events(
        &self,
        batch: Option<BatchId>,
        after: i64,
        limit: usize,
    ) -> Answer<'_, Vec<BatchEvent>> {
        on_a_connection!(self, |db| batch::events(db, batch, after, limit))
    }

    fn put_trigger(&self, trigger: Trigger) -> Answer<'_, bool> {
        on_a_connection!(self, |db| trigger::put(db, &trigger))
    }

    fn triggers(&self, filter: TriggerFilter) -> Answer<'_, Vec<Trigger>> {
        on_a_connection!(self, |db| trigger::list(db, &filter))
    }

    fn delete_trigger(&self, tenant: Tenant, name: String) -> Answer<'_, bool> {
        on_a_connection!(self, |db| trigger::delete(db, &tenant, &name))
    }

    fn due_triggers(
        &self,
        now: Timestamp,
        limit: usize,
    ) -> Answer<'_, (Vec<Trigger>, Option<Timestamp>)> {
        on_a_connection!(self, |db| trigger::due(db, now, limit))
    }

    fn progress_triggers(&self, progress: Vec<TriggerProgress>) -> Answer<'_, Vec<bool>> {
        on_a_connection!(self, |db| trigger::progress(db, &progress))
    }

    fn firings(
        &self,
        tenant: Tenant,
        trigger: String,
        outcome: Option<FiringOutcome>,
        limit: usize,
    ) -> Answer<'_, Vec<Firing>> {
        on_a_connection!(self, |db| trigger::firings(db, &tenant, &trigger, outcome, limit))
    }

    fn known_firings(
        &self,
        tenant: Tenant,
        trigger: String,
        keys: Vec<String>,
    ) -> Answer<'_, Vec<bool>> {
        on_a_connection!(self, |db| trigger::known(db, &tenant, &trigger, &keys))
    }

    fn tenant_policies(&self) -> Answer<'_, Vec<(Tenant, TenantPolicy)>> {
        on_a_connection!(self, |db| tenant_policy::list(db))
    }

    fn set_tenant_policy(&self, tenant: Tenant, policy: Option<TenantPolicy>) -> Answer<'_, ()> {
        on_a_connection!(self, |db| tenant_policy::set(db, &tenant, policy.as_ref()))
    }

    fn account(&self, tenant: Tenant) -> Answer<'_, Account> {
        on_a_connection!(self, |db| credit::account(db, &tenant))
    }

    fn grant(&self, grant: Grant) -> Answer<'_, Granted> {
        on_a_connection!(self, |db| credit::grant(db, &grant))
    }

    fn ledger(
        &self,
        tenant: Tenant,
        run: Option<RunId>,
        before: Option<i64>,
        limit: usize,
    ) -> Answer<'_, Vec<LedgerLine>> {
        on_a_connection!(self, |db| credit::ledger(db, &tenant, run, before, limit))
    }

    fn fold_ledger(&self, before: Timestamp, limit: usize) -> Answer<'_, usize> {
        on_a_connection!(self, |db| ledger::fold(db, before, limit))
    }

    fn events(&self, filter: EventFilter, after: EventPlace, limit: usize) -> Answer<'_, Events> {
        on_a_connection!(self, |db| event::after(db, &filter, after, limit))
    }

    fn sweep_events(&self, before: Timestamp, limit: usize) -> Answer<'_, usize> {
        on_a_connection!(self, |db| event::sweep(db, before, limit))
    }

    fn put_subscription(&self, subscription: Subscription) -> Answer<'_, ()> {
        on_a_connection!(self, |db| subscription::put(db, &subscription))
    }

    fn subscriptions(&self) -> Answer<'_, Vec<Subscription>> {
        on_a_connection!(self, |db| subscription::list(db))
    }

    fn delete_subscription(&self, id: String) -> Answer<'_, bool> {
        on_a_connection!(self, |db| subscription::delete(db, &id))
    }

    fn create_token(&self, token: TokenRecord) -> Answer<'_, ()> {
        on_a_connection!(self, |db| token::create(db, &token))
    }

    fn token(&self, id: String) -> Answer<'_, Option<TokenRecord>> {
        on_a_connection!(self, |db| token::find(db, &id))
    }

    fn tokens(&self) -> Answer<'_, Vec<TokenRecord>> {
        on_a_connection!(self, |db| token::list(db))
    }

    fn revoke_token(&self, id: String, at: Timestamp) -> Answer<'_, bool> {
        on_a_connection!(self, |db| token::revoke(db, &id, at))
    }

    fn secret(&self, name: String, fresh: Vec<u8>) -> Answer<'_, Vec<u8>> {
        on_a_connection!(self, |db| token::secret(db, &name, &fresh))
    }

    fn secrets(&self, names: Vec<String>) -> Answer<'_, Vec<Option<Vec<u8>>>> {
        on_a_connection!(self, |db| token::secrets(db, &names))
    }

    fn replace_secret(
        &self,
        name: String,
        seen: Option<Vec<u8>>,
        fresh: Vec<u8>,
    ) -> Answer<'_, bool> {
        on_a_connection!(self, |db| token::replace_secret(db, &name, seen.as_deref(), &fresh))
    }

    fn sweep(&self, now: Timestamp, limit: usize) -> Answer<'_, usize> {
        on_a_connection!(self, |db| retention::sweep(db, now, limit))
    }

    fn forget(
        &self,
        stubs_before: Timestamp,
        firings_before: Timestamp,
        limit: usize,
    ) -> Answer<'_, usize> {
        on_a_connection!(self, |db| retention::forget(db, stubs_before, firings_before, limit))
    }

    fn expiries(&self, runs: Vec<RunId>) -> Answer<'_, Vec<Option<Timestamp>>> {
        on_a_connection!(self, |db| query::expiries(db, &runs))
    }

    fn stub(&self, run: RunId) -> Answer<'_, Option<Stub>> {
        on_a_connection!(self, |db| query::stub(db, run))
    }

    fn figures(&self) -> Answer<'_, Figures> {
        on_a_connection!(self, |db| query::figures(db))
    }

    fn probe(&self) -> Answer<'_, ()> {
        on_a_connection!(self, |db| query::probe(db))
    }

    fn ddl(&self) -> String {
        migrate::ddl(self.schema())
    }

    fn migrate(&self) -> Answer<'_, Vec<String>> {
        Box::pin(async {
            // Not given back: it may take more time now than others should.
            let mut db = self.lend().await?;
            migrate::migrate(&mut db, &self.opener.place, true).await
        })
    }

    fn close(&self) -> Answer<'_, ()> {
        Box::pin(async {
            self.closed.send_replace(true);
            self.committers.close().await;
            self.readers.close().await;
            self.signs.close().await;
            Ok(())
        })
    }
}
