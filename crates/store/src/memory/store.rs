//! The store's contract on plain maps.

use std::future::ready;
use std::sync::atomic::Ordering;

use serde_json::Value;
use stepwell_core::batch::Batch;
use stepwell_core::duration::Interval;
use stepwell_core::id::{BatchId, MemberId, RunId, RunNumber, Tenant};
use stepwell_core::run::BatchRole;
use stepwell_core::time::Timestamp;
use tokio::sync::mpsc;

use super::event::oldest_first;
use super::{MemoryStore, RunEntry, Tables};
use crate::error::StoreError;
use crate::model::*;
use crate::{Answer, Store};

impl MemoryStore {
    /// Answers at once from under the lock.
    fn answer<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Tables) -> Result<T, StoreError>,
    ) -> Answer<'_, T> {
        Box::pin(ready(self.tables().and_then(|mut tables| work(&mut tables))))
    }
}

/// Passes operations on to the tables, which cannot fail.
macro_rules! ask {
    ($($name:ident($($arg:ident: $kind:ty),*) -> $answer:ty;)*) => {
        $(fn $name(&self, $($arg: $kind),*) -> Answer<'_, $answer> {
            self.answer(|tables| Ok(tables.$name($($arg),*)))
        })*
    };
}

impl Store for MemoryStore {
    fn kind(&self) -> &'static str {
        "memory"
    }

    fn is_shared(&self) -> bool {
        self.tables().is_ok_and(|tables| tables.sharing.is_some())
    }

    fn open_epoch(&self, instance: &str) -> Answer<'_, Epoch> {
        let instance = instance.to_owned();
        self.answer(|tables| {
            tables.epoch += 1;
            let epoch = Epoch(tables.epoch);
            if let Some(sharing) = &mut tables.sharing {
                sharing.join(epoch, &instance);
            }
            Ok(epoch)
        })
    }

    fn heartbeat(&self, epoch: Epoch, stats: Value) -> Answer<'_, Pulse> {
        self.answer(|tables| tables.heartbeat(epoch, stats))
    }

    fn reclaim(&self, epoch: Epoch, silence: Interval, limit: usize) -> Answer<'_, Reclaimed> {
        self.answer(|tables| tables.reclaim(epoch, silence, limit))
    }

    fn hand_over(&self, from: Epoch, runs: Vec<RunId>, to: Epoch) -> Answer<'_, Vec<RunId>> {
        self.answer(|tables| tables.hand_over(from, runs, to))
    }

    fn retire(&self, epoch: Epoch) -> Answer<'_, ()> {
        self.answer(|tables| {
            tables.retire(epoch);
            Ok(())
        })
    }

    fn instances(&self) -> Answer<'_, Vec<Instance>> {
        self.answer(|tables| Ok(tables.instances()))
    }

    fn inputs(&self, epoch: Epoch, limit: usize) -> Answer<'_, Vec<Input>> {
        self.answer(|tables| Ok(tables.inputs(epoch, limit)))
    }

    fn listen(&self, epoch: Epoch) -> Answer<'_, mpsc::Receiver<Signal>> {
        self.answer(|tables| Ok(tables.listen(epoch)))
    }

    fn tell(&self, from: Epoch, signal: Signal) -> Answer<'_, ()> {
        self.answer(|tables| {
            tables.tell(Some(from), &signal);
            Ok(())
        })
    }

    fn commit(&self, group: Group) -> Answer<'_, Vec<Verdict>> {
        self.answer(|tables| tables.commit(group))
    }

    fn load(&self, runs: Vec<RunId>) -> Answer<'_, Vec<StoredRun>> {
        self.answer(|tables| {
            let found = runs.iter().filter_map(|run| tables.runs.get(run));
            let stored =
                |entry: &RunEntry| StoredRun { owner: entry.owner, ..StoredRun::of(&entry.run) };
            Ok(found.map(stored).collect())
        })
    }

    fn due(&self, owner: Epoch, now: Timestamp, limit: usize) -> Answer<'_, Due> {
        self.answer(|tables| {
            let owned = tables.runs.iter().filter(|(_, entry)| tables.owns(owner, entry));
            let mut waits: Vec<(Timestamp, RunId)> =
                owned.filter_map(|(id, entry)| Some((entry.wake_at?, *id))).collect();
            waits.sort_unstable();
            let due = waits.iter().filter(|(at, _)| *at <= now);
            Ok(Due {
                runs: due.take(limit).map(|(_, id)| *id).collect(),
                next: waits.iter().map(|(at, _)| *at).find(|at| *at > now),
            })
        })
    }

    fn queued(
        &self,
        owner: Epoch,
        pool: String,
        after: Option<QueueKey>,
        limit: usize,
    ) -> Answer<'_, Vec<Queued>> {
        self.answer(|tables| {
            let mut queued: Vec<Queued> = tables
                .runs
                .values()
                .filter(|entry| tables.owns(owner, entry))
                .flat_map(|entry| queued_in(entry, &pool))
                .filter(|queued| after.is_none_or(|after| queued.key > after))
                .collect();
            queued.sort_unstable_by_key(|queued| queued.key);
            queued.truncate(limit);
            Ok(queued)
        })
    }

    fn queued_pools(&self, owner: Epoch) -> Answer<'_, Vec<String>> {
        self.answer(|tables| {
            let owned = tables.runs.values().filter(|entry| tables.owns(owner, entry));
            let mut pools: Vec<String> =
                owned.flat_map(RunEntry::queued).map(|(_, row)| row.pool).collect();
            pools.sort_unstable();
            pools.dedup();
            Ok(pools)
        })
    }

    fn publish_workflow(&self, document: NewWorkflow) -> Answer<'_, WorkflowDocument> {
        self.answer(|tables| {
            let version = match tables.newest_workflow(&document.name) {
                Some(newest) if newest.source == document.source => return Ok(newest.clone()),
                Some(newest) => newest.version + 1,
                None => 1,
            };
            let stored = document.with_version(version);
            tables.workflows.push(stored.clone());
            Ok(stored)
        })
    }

    fn workflow(&self, name: String, version: Option<u32>) -> Answer<'_, Option<WorkflowDocument>> {
        self.answer(|tables| {
            let mut found = tables.workflows.iter().rev().filter(|document| document.name == name);
            Ok(found.find(|found| version.is_none_or(|wanted| found.version == wanted)).cloned())
        })
    }

    fn protocol(&self, request_type: String) -> Answer<'_, Option<WorkflowDocument>> {
        self.answer(|tables| {
            let claims = |document: &&WorkflowDocument| {
                document.request_type.as_ref() == Some(&request_type)
            };
            let claimer = tables.workflows.iter().rev().find(claims);
            Ok(claimer.and_then(|claimer| tables.newest_workflow(&claimer.name)).cloned())
        })
    }

    fn workflows(&self) -> Answer<'_, Vec<WorkflowDocument>> {
        self.answer(|tables| {
            let mut names: Vec<&String> =
                tables.workflows.iter().map(|document| &document.name).collect();
            names.sort_unstable();
            names.dedup();
            Ok(names.into_iter().filter_map(|name| tables.newest_workflow(name)).cloned().collect())
        })
    }

    fn by_key(&self, tenant: Tenant, hash: KeyHash) -> Answer<'_, Option<KeyHolder>> {
        self.answer(|tables| Ok(tables.keys.get(&(tenant, hash)).copied()))
    }

    fn runs(&self, filter: Filter, page: Page) -> Answer<'_, Vec<RunSummary>> {
        self.answer(|tables| {
            let newest_first = tables.runs.values().rev();
            let found = newest_first
                .filter(|entry| page.before.is_none_or(|before| entry.run.id() < before))
                .filter(|entry| entry.matches(&filter));
            Ok(found.take(page.limit).map(|entry| RunSummary::of(&entry.run)).collect())
        })
    }

    fn history(&self, run: RunId, after_version: u64, limit: usize) -> Answer<'_, Vec<Record>> {
        self.answer(|tables| Ok(tables.history(run, after_version, limit)))
    }

    fn beginnings(&self, runs: Vec<RunId>, limit: usize) -> Answer<'_, Vec<Vec<Record>>> {
        self.answer(|tables| Ok(runs.iter().map(|run| tables.history(*run, 0, limit)).collect()))
    }

    fn stale_reports(&self, run: RunId) -> Answer<'_, Vec<StaleReport>> {
        self.answer(|tables| {
            Ok(tables.runs.get(&run).map(|entry| entry.stale_reports.clone()).unwrap_or_default())
        })
    }

    fn compensations(&self, run: RunId) -> Answer<'_, Vec<RunSummary>> {
        self.answer(|tables| {
            let undoes = |entry: &&RunEntry| {
                entry.run.header.parent.as_ref().is_some_and(|parent| parent.run == run)
            };
            let found = tables.runs.values().filter(undoes);
            Ok(found.map(|entry| RunSummary::of(&entry.run)).collect())
        })
    }

    fn dead_letters(&self, filter: DeadLetterFilter) -> Answer<'_, Vec<DeadLetter>> {
        self.answer(|tables| Ok(tables.dead_letters(&filter)))
    }

    fn outbox(&self, now: Timestamp, keep: Interval, limit: usize) -> Answer<'_, Outgoing> {
        self.answer(|tables| Ok(tables.outgoing(now, keep, limit)))
    }

    fn settle_outbox(&self, settlements: Vec<OutboxSettlement>) -> Answer<'_, ()> {
        self.answer(|tables| {
            settlements.into_iter().for_each(|settlement| tables.settle_message(settlement));
            Ok(())
        })
    }

    fn submit(&self, submissions: Vec<NewSubmission>) -> Answer<'_, Vec<bool>> {
        self.answer(|tables| Ok(tables.submit(submissions)))
    }

    fn receive(
        &self,
        queue: String,
        now: Timestamp,
        keep: Interval,
        limit: usize,
    ) -> Answer<'_, Received> {
        self.answer(|tables| Ok(tables.receive(&queue, now, keep, limit)))
    }

    fn settle_submissions(&self, settlements: Vec<SubmissionSettlement>) -> Answer<'_, ()> {
        self.answer(|tables| {
            tables.settle_submissions(settlements);
            Ok(())
        })
    }

    fn reserve(&self, kind: Numbered, count: u32) -> Answer<'_, i64> {
        self.answer(|tables| Ok(tables.reserve(kind, count)))
    }

    fn lease(
        &self,
        name: String,
        holder: String,
        now: Timestamp,
        until: Timestamp,
    ) -> Answer<'_, bool> {
        self.answer(|tables| Ok(tables.lease(name, holder, now, until)))
    }

    fn publish_runbook(&self, document: NewRunbook) -> Answer<'_, RunbookDocument> {
        self.answer(|tables| Ok(tables.runbooks.publish(document)))
    }

    fn runbook(&self, name: String, version: Option<u32>) -> Answer<'_, Option<RunbookDocument>> {
        self.answer(|tables| Ok(tables.runbooks.find(&name, version)))
    }

    fn runbooks(&self, name: Option<String>) -> Answer<'_, Vec<RunbookDocument>> {
        self.answer(|tables| Ok(tables.runbooks.list(name.as_deref())))
    }

    fn deactivate_runbook(&self, name: String, version: u32) -> Answer<'_, bool> {
        self.answer(|tables| Ok(tables.runbooks.deactivate(&name, version)))
    }

    fn note_runbook(&self, id: i64, error: Option<String>, at: Timestamp) -> Answer<'_, ()> {
        self.answer(|tables| {
            tables.runbooks.note(id, error, at);
            Ok(())
        })
    }

    fn overdue_applied(&self, id: i64) -> Answer<'_, ()> {
        self.answer(|tables| {
            tables.runbooks.overdue_applied(id);
            Ok(())
        })
    }

    fn automation(&self, runbook: String) -> Answer<'_, Option<Automation>> {
        self.answer(|tables| Ok(tables.runbooks.automation(&runbook)))
    }

    fn set_automation(
        &self,
        runbook: String,
        enabled: bool,
        actor: String,
        at: Timestamp,
    ) -> Answer<'_, Automation> {
        self.answer(|tables| Ok(tables.runbooks.set_automation(runbook, enabled, actor, at)))
    }

    fn batch(&self, id: BatchId) -> Answer<'_, Option<Batch>> {
        self.answer(|tables| Ok(tables.batches.batches.get(&id).cloned()))
    }

    fn batches(&self, filter: BatchFilter, slice: Slice) -> Answer<'_, Listed<Batch>> {
        self.answer(|tables| Ok(tables.list_batches(&filter, slice)))
    }

    fn members(&self, filter: MemberFilter, slice: Slice) -> Answer<'_, Listed<Member>> {
        self.answer(|tables| Ok(tables.list_members(&filter, slice)))
    }

    fn removals_dispatched(&self, members: Vec<MemberId>, at: Timestamp) -> Answer<'_, ()> {
        self.answer(|tables| {
            tables.removals_dispatched(&members, at);
            Ok(())
        })
    }

    fn keys_in_batches(&self, runbook: String) -> Answer<'_, Vec<(String, BatchId)>> {
        self.answer(|tables| Ok(tables.keys_in_batches(&runbook)))
    }

    fn seen_keys(&self, runbook: String, present: Vec<String>) -> Answer<'_, Vec<String>> {
        self.answer(|tables| Ok(tables.runbooks.seen_keys(&runbook, present)))
    }

    fn note_keys(&self, runbook: String, keys: Vec<String>) -> Answer<'_, ()> {
        self.answer(|tables| {
            tables.runbooks.note_keys(&runbook, keys);
            Ok(())
        })
    }

    fn batch_runs(
        &self,
        batch: BatchId,
        role: Option<BatchRole>,
        member: Option<MemberId>,
    ) -> Answer<'_, Vec<BatchRun>> {
        self.answer(|tables| Ok(tables.batch_runs(batch, role, member)))
    }

    fn numbered_run(&self, number: RunNumber) -> Answer<'_, Option<BatchRun>> {
        self.answer(|tables| Ok(tables.batches.runs.get(&number).copied()))
    }

    fn batch_events(
        &self,
        batch: Option<BatchId>,
        after: i64,
        limit: usize,
    ) -> Answer<'_, Vec<BatchEvent>> {
        self.answer(|tables| Ok(tables.batch_events(batch, after, limit)))
    }

    ask! {
        settle_dead_letter(id: i64, settlement: Settlement) -> bool;
        settle_dead_letters(settlements: Vec<(i64, Settlement)>) -> Vec<bool>;
        put_trigger(trigger: Trigger) -> bool;
        triggers(filter: TriggerFilter) -> Vec<Trigger>;
        delete_trigger(tenant: Tenant, name: String) -> bool;
        due_triggers(now: Timestamp, limit: usize) -> (Vec<Trigger>, Option<Timestamp>);
        progress_triggers(progress: Vec<TriggerProgress>) -> Vec<bool>;
        firings(
            tenant: Tenant, trigger: String, outcome: Option<FiringOutcome>, limit: usize
        ) -> Vec<Firing>;
        known_firings(tenant: Tenant, trigger: String, keys: Vec<String>) -> Vec<bool>;
        tenant_policies() -> Vec<(Tenant, TenantPolicy)>;
        set_tenant_policy(tenant: Tenant, policy: Option<TenantPolicy>) -> ();
        sweep(now: Timestamp, limit: usize) -> usize;
        forget(stubs_before: Timestamp, firings_before: Timestamp, limit: usize) -> usize;
        expiries(runs: Vec<RunId>) -> Vec<Option<Timestamp>>;
    }

    fn account(&self, tenant: Tenant) -> Answer<'_, Account> {
        self.answer(|tables| Ok(tables.ledger.account(&tenant)))
    }

    fn grant(&self, grant: Grant) -> Answer<'_, Granted> {
        self.answer(|tables| Ok(tables.ledger.grant(grant)))
    }

    fn ledger(
        &self,
        tenant: Tenant,
        run: Option<RunId>,
        before: Option<i64>,
        limit: usize,
    ) -> Answer<'_, Vec<LedgerLine>> {
        self.answer(|tables| Ok(tables.ledger.page(&tenant, run, before, limit)))
    }

    fn fold_ledger(&self, before: Timestamp, limit: usize) -> Answer<'_, usize> {
        self.answer(|tables| Ok(tables.ledger.fold(before, limit)))
    }

    fn events(&self, filter: EventFilter, after: EventPlace, limit: usize) -> Answer<'_, Events> {
        self.answer(|tables| Ok(tables.events.after(&filter, after, limit)))
    }

    fn sweep_events(&self, before: Timestamp, limit: usize) -> Answer<'_, usize> {
        self.answer(|tables| Ok(tables.events.sweep(before, limit)))
    }

    fn put_subscription(&self, subscription: Subscription) -> Answer<'_, ()> {
        self.answer(|tables| {
            tables.subscriptions.insert(subscription.id.clone(), subscription);
            Ok(())
        })
    }

    fn subscriptions(&self) -> Answer<'_, Vec<Subscription>> {
        self.answer(|tables| Ok(oldest_first(&tables.subscriptions)))
    }

    fn delete_subscription(&self, id: String) -> Answer<'_, bool> {
        self.answer(|tables| Ok(tables.subscriptions.remove(&id).is_some()))
    }

    fn create_token(&self, token: TokenRecord) -> Answer<'_, ()> {
        self.answer(|tables| {
            if tables.tokens.contains_key(&token.id) {
                return Err(StoreError::broken(format!("token {} exists", token.id)));
            }
            tables.tokens.insert(token.id.clone(), token);
            Ok(())
        })
    }

    fn token(&self, id: String) -> Answer<'_, Option<TokenRecord>> {
        self.answer(|tables| Ok(tables.tokens.get(&id).cloned()))
    }

    fn tokens(&self) -> Answer<'_, Vec<TokenRecord>> {
        self.answer(|tables| {
            let mut tokens: Vec<TokenRecord> = tables.tokens.values().cloned().collect();
            tokens.sort_by_key(|token| token.created_at);
            Ok(tokens)
        })
    }

    fn revoke_token(&self, id: String, at: Timestamp) -> Answer<'_, bool> {
        self.answer(|tables| {
            let valid = tables.tokens.get_mut(&id).filter(|token| token.revoked_at.is_none());
            Ok(valid.map(|token| token.revoked_at = Some(at)).is_some())
        })
    }

    fn secret(&self, name: String, fresh: Vec<u8>) -> Answer<'_, Vec<u8>> {
        self.answer(|tables| Ok(tables.secrets.entry(name).or_insert(fresh).clone()))
    }

    fn secrets(&self, names: Vec<String>) -> Answer<'_, Vec<Option<Vec<u8>>>> {
        self.answer(|tables| {
            Ok(names.iter().map(|name| tables.secrets.get(name).cloned()).collect())
        })
    }

    fn replace_secret(
        &self,
        name: String,
        seen: Option<Vec<u8>>,
        fresh: Vec<u8>,
    ) -> Answer<'_, bool> {
        self.answer(|tables| {
            let is_seen = tables.secrets.get(&name) == seen.as_ref();
            if is_seen {
                tables.secrets.insert(name, fresh);
            }
            Ok(is_seen)
        })
    }

    fn stub(&self, run: RunId) -> Answer<'_, Option<Stub>> {
        self.answer(|tables| Ok(tables.stubs.get(&run).cloned()))
    }

    fn figures(&self) -> Answer<'_, Figures> {
        self.answer(|tables| Ok(tables.figures()))
    }

    fn probe(&self) -> Answer<'_, ()> {
        self.answer(|_| Ok(()))
    }

    fn ddl(&self) -> String {
        String::new()
    }

    fn close(&self) -> Answer<'_, ()> {
        // Closing a closed store is no error.
        self.closed.store(true, Ordering::SeqCst);
        Box::pin(ready(Ok(())))
    }
}

fn queued_in(entry: &RunEntry, pool: &str) -> Vec<Queued> {
    let of_pool = entry.queued().filter(|(_, row)| row.pool == pool);
    let queued = of_pool.filter_map(|(step, row)| {
        let lease = entry.run.steps[step.position()].lease?;
        let key = QueueKey { rank: row.rank, run: entry.run.id(), step };
        Some(Queued {
            key,
            lease: lease.id,
            attempt: lease.attempt,
            poll: row.poll_count,
            lane: row.lane,
        })
    });
    queued.collect()
}
