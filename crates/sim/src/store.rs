//! The store as one instance reaches it: commits get lost, are written without a word, or take their
//! time; reads fail; a dead instance reaches nothing, a paused one waits.

mod known;
mod observed;
mod touched;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use stepwell_core::batch::Batch;
use stepwell_core::duration::Interval;
use stepwell_core::id::{BatchId, MemberId, RunId, RunNumber, Tenant};
use stepwell_core::run::BatchRole;
use stepwell_core::time::Timestamp;
use stepwell_store::memory::MemoryStore;
use stepwell_store::{
    Account, Answer, Automation, BatchEvent, BatchFilter, BatchRun, DeadLetter, DeadLetterFilter,
    Due, Epoch, EventFilter, EventPlace, Events, Figures, Filter, Firing, FiringOutcome, Grant,
    Granted, Group, Input, Instance, Item, KeyHash, KeyHolder, LedgerLine, Listed, Member,
    MemberFilter, NewRunbook, NewSubmission, NewWorkflow, Numbered, OutboxSettlement, Outgoing,
    Page, Pulse, QueueKey, Queued, Received, Reclaimed, Record, RunSummary, RunbookDocument,
    Settlement, Signal, Slice, StaleReport, Store, StoreError, StoredRun, Stub,
    SubmissionSettlement, Subscription, TenantPolicy, TokenRecord, Trigger, TriggerFilter,
    TriggerProgress, Verdict, WorkflowDocument,
};
use tokio::sync::mpsc;

use crate::bugs::{Bug, forget_missed, next_steps};
use crate::bus::SimBus;
use crate::chance::Chance;
use crate::faults::Kind;
use crate::life::Life;
use crate::oracle::{BatchSeen, Committed, Observed, Probe, Touched};
use crate::shared::Shared;

use known::Known;
use observed::{observe_books, observe_ends};
use touched::touched;

/// More than any history of a world has.
const ALL: usize = 100_000;

/// The store as one instance reaches it.
pub struct SimStore {
    shared: Arc<Shared>,
    life: Arc<Life>,
    bus: Arc<SimBus>,
}

impl SimStore {
    /// The way of one instance to the store.
    #[must_use]
    pub fn new(shared: Arc<Shared>, life: Arc<Life>, bus: Arc<SimBus>) -> Self {
        Self { shared, life, bus }
    }

    fn memory(&self) -> &MemoryStore {
        &self.shared.memory
    }

    fn has(&self, bug: Bug) -> bool {
        self.shared.has(bug)
    }

    /// Waits while the instance is paused; fails if it is dead, or the store is away.
    async fn reach(&self, kind: Kind) -> Result<(), StoreError> {
        if self.shared.is_out_of_reach(&self.life, Kind::StoreAway, kind).await {
            return Err(away("out of reach"));
        }
        Ok(())
    }

    /// A commit that is under way when its instance dies may still arrive, or not.
    async fn travel(&self) -> Result<(), StoreError> {
        if !self.shared.strikes(Kind::CommitSlow, &self.life) {
            return Ok(());
        }
        let mut chance = Chance::of(self.shared.plan.seed, &format!("slow {}", self.shared.now()));
        self.shared.clock.sleep_ms(chance.between(1, 20_000)).await;
        self.life.pass().await;
        if self.life.is_dead() && chance.permille(500) {
            return Err(away("it was lost with its instance"));
        }
        Ok(())
    }

    /// The instance dies here and now, if it must: nothing after this line happens.
    async fn die_of(&self, kind: Kind) {
        if !self.life.is_dead() && self.shared.strikes(kind, &self.life) {
            self.life.kill();
            self.shared.died.notify_one();
            std::future::pending::<()>().await;
        }
    }

    async fn write(&self, group: Group) -> Result<Vec<Verdict>, StoreError> {
        if group.items.iter().any(|item| matches!(item, Item::Forward(_))) {
            self.shared.oracle().saw(Probe::Forwarded);
        }
        let touched: Vec<Touched> = group.items.iter().map(touched).collect();
        let epoch = group.epoch.0;
        let (group, count) = self.spoiled(group).await;
        let kept = group.items.len();
        let doubled = if self.has(Bug::PublishNext) { next_steps(&group) } else { Vec::new() };
        let mut verdicts = match self.memory().commit(group).await {
            Ok(verdicts) => verdicts,
            Err(error) => {
                if matches!(error, StoreError::Fenced { .. }) {
                    self.shared.note(&self.life, "fenced");
                    self.shared.oracle().saw(Probe::FencedCommit);
                }
                return Err(error);
            }
        };
        verdicts.resize(kept.max(count), Verdict::Done);
        self.tell(epoch, touched, &verdicts).await;
        self.bus.publish_too(&doubled).await;
        Ok(verdicts)
    }

    /// What is really written, if a bug is planted; and how many items the caller sent.
    async fn spoiled(&self, mut group: Group) -> (Group, usize) {
        let count = group.items.len();
        let Some(bug) = self.shared.plan.bug else { return (group, count) };
        if bug == Bug::PublishBeforeCommit {
            self.bus.publish_ahead(&group).await;
        }
        let ids = group.items.iter().filter_map(|item| touched(item).run).collect();
        let runs = self.memory().load(ids).await.unwrap_or_default();
        if bug == Bug::IgnoreOwner {
            for run in &runs {
                let (id, owner) = (run.header.id, run.owner.unwrap_or(group.epoch));
                let _ = self.memory().hand_over(owner, vec![id], group.epoch).await;
            }
        }
        bug.spoil(&mut group, &Known { runs, oracle: &self.shared.oracle() });
        if bug == Bug::HalfGroup {
            group.items.truncate(count.div_ceil(2));
        }
        (group, count)
    }

    /// Reads the changed runs back, and tells the oracle.
    async fn tell(&self, epoch: u64, touched: Vec<Touched>, verdicts: &[Verdict]) {
        let mut observed = Vec::new();
        let mut batches = BTreeSet::new();
        for item in &touched {
            for run in item.runs() {
                if let Some(seen) = self.observe(run).await {
                    batches.extend(seen.stored.header.membership.map(|it| it.batch));
                    observed.push((run, seen));
                }
            }
            batches.extend(item.batch);
        }
        let mut seen = Vec::new();
        for batch in batches {
            seen.extend(self.observe_batch(batch).await);
        }
        let books = observe_books(&self.shared, &observed).await;
        let items = touched.into_iter().zip(verdicts.iter().cloned()).collect();
        let committed = Committed { epoch, at: self.shared.now(), items, batches: seen, books };
        for (touched, verdict) in &committed.items {
            self.shared.note(&self.life, format_args!("{touched} {verdict:?}"));
            for run in touched.runs() {
                if let Some((_, seen)) = observed.iter().find(|(id, _)| *id == run) {
                    self.shared.note_records(run, &seen.records);
                }
            }
        }
        for event in committed.batches.iter().flat_map(|seen| &seen.events) {
            self.shared.note_batch(event);
        }
        self.shared.oracle().committed(&committed, |run| {
            observed.iter().find(|(id, _)| *id == run).map(|(_, seen)| seen.clone())
        });
    }

    async fn observe(&self, run: RunId) -> Option<Observed> {
        let known = self.shared.oracle().known_version(run);
        let mut stored = self.memory().load(vec![run]).await.ok()?.pop()?;
        // Who owns it is not part of what it is; the oracle keeps its own account of that.
        stored.owner = None;
        let records = self.memory().history(run, known, ALL).await.ok()?;
        let stale_reports = self.memory().stale_reports(run).await.ok()?.len();
        let ends_told = observe_ends(&self.shared, &stored.header).await;
        Some(Observed { stored, records, stale_reports, ends_told })
    }

    async fn observe_batch(&self, id: BatchId) -> Option<BatchSeen> {
        let known = self.shared.oracle().known_event(id);
        let batch = self.memory().batch(id).await.ok()??;
        let all = Slice { offset: 0, limit: ALL };
        let members = self.memory().members(MemberFilter::of(id), all).await.ok()?.items;
        let events = self.memory().batch_events(Some(id), known, ALL).await.ok()?;
        Some(BatchSeen { batch, members, events })
    }
}

fn away(reason: &str) -> StoreError {
    StoreError::Unavailable { reason: reason.to_owned(), source: None }
}

/// What is written beside groups: lost on the way there, or on the way back.
macro_rules! note {
    ($($name:ident($($arg:ident: $kind:ty),*) -> $answer:ty;)*) => {
        $(fn $name(&self, $($arg: $kind),*) -> Answer<'_, $answer> {
            Box::pin(async move {
                self.reach(Kind::CommitLost).await?;
                self.die_of(Kind::CrashBeforeCommit).await;
                let answer = self.memory().$name($($arg),*).await?;
                self.die_of(Kind::CrashAfterCommit).await;
                if self.shared.strikes(Kind::CommitUnknown, &self.life) {
                    return Err(away("the answer was lost"));
                }
                Ok(answer)
            })
        })*
    };
}

macro_rules! read {
    ($($name:ident($($arg:ident: $kind:ty),*) -> $answer:ty;)*) => {
        $(fn $name(&self, $($arg: $kind),*) -> Answer<'_, $answer> {
            Box::pin(async move {
                self.reach(Kind::ReadFailed).await?;
                self.memory().$name($($arg),*).await
            })
        })*
    };
}

impl Store for SimStore {
    fn kind(&self) -> &'static str {
        "simulated"
    }

    fn open_epoch(&self, instance: &str) -> Answer<'_, Epoch> {
        let instance = instance.to_owned();
        Box::pin(async move {
            self.reach(Kind::OpenFailed).await?;
            let epoch = self.memory().open_epoch(&instance).await?;
            self.shared.note(&self.life, format_args!("opened epoch {}", epoch.0));
            self.shared.oracle().opened(epoch.0);
            self.shared.oracle().beat(epoch.0, self.shared.now());
            Ok(epoch)
        })
    }

    fn is_shared(&self) -> bool {
        self.shared.plan.instances > 1
    }

    fn heartbeat(&self, epoch: Epoch, stats: Value) -> Answer<'_, Pulse> {
        Box::pin(async move {
            self.reach(Kind::HeartbeatLost).await?;
            let pulse = self.memory().heartbeat(epoch, stats).await?;
            self.shared.oracle().beat(epoch.0, self.shared.now());
            Ok(pulse)
        })
    }

    fn reclaim(&self, epoch: Epoch, silence: Interval, limit: usize) -> Answer<'_, Reclaimed> {
        Box::pin(async move {
            self.reach(Kind::ReadFailed).await?;
            let hasty = if self.has(Bug::HastyTakeover) { Interval::from_secs(0) } else { silence };
            let reclaimed = self.memory().reclaim(epoch, hasty, limit).await?;
            let now = self.shared.now();
            self.shared.oracle().reclaimed(epoch.0, &reclaimed.runs, silence, now);
            self.shared.oracle().buried(&reclaimed.dead);
            for run in &reclaimed.runs {
                self.shared.note(&self.life, format_args!("takes {run} over"));
            }
            self.die_of(Kind::CrashAfterCommit).await;
            Ok(reclaimed)
        })
    }

    fn hand_over(&self, from: Epoch, runs: Vec<RunId>, to: Epoch) -> Answer<'_, Vec<RunId>> {
        Box::pin(async move {
            self.reach(Kind::CommitLost).await?;
            let given = self.memory().hand_over(from, runs, to).await?;
            self.shared.oracle().handed_over(from.0, &given, to.0);
            for run in &given {
                self.shared.note(&self.life, format_args!("hands {run} over to epoch {}", to.0));
            }
            self.die_of(Kind::CrashAfterCommit).await;
            if self.shared.strikes(Kind::CommitUnknown, &self.life) {
                return Err(away("the answer was lost"));
            }
            Ok(given)
        })
    }

    fn load(&self, runs: Vec<RunId>) -> Answer<'_, Vec<StoredRun>> {
        Box::pin(async move {
            self.reach(Kind::ReadFailed).await?;
            let mut found = self.memory().load(runs).await?;
            if self.has(Bug::IgnoreOwner) {
                found.iter_mut().for_each(|run| run.owner = None);
            }
            Ok(found)
        })
    }

    fn inputs(&self, epoch: Epoch, limit: usize) -> Answer<'_, Vec<Input>> {
        Box::pin(async move {
            self.reach(Kind::ReadFailed).await?;
            if self.has(Bug::ForgetInputs) {
                return Ok(Vec::new());
            }
            self.memory().inputs(epoch, limit).await
        })
    }

    fn retire(&self, epoch: Epoch) -> Answer<'_, ()> {
        Box::pin(async move {
            self.reach(Kind::CommitLost).await?;
            self.memory().retire(epoch).await?;
            self.shared.oracle().retired(epoch.0);
            Ok(())
        })
    }

    fn listen(&self, epoch: Epoch) -> Answer<'_, mpsc::Receiver<Signal>> {
        Box::pin(async move {
            self.reach(Kind::ReadFailed).await?;
            let mut words = self.memory().listen(epoch).await?;
            let (mouth, ear) = mpsc::channel(1_024);
            let (shared, life) = (Arc::clone(&self.shared), Arc::clone(&self.life));
            tokio::spawn(async move {
                while let Some(word) = words.recv().await {
                    life.pass().await;
                    if !shared.strikes(Kind::SignalLost, &life) && mouth.send(word).await.is_err() {
                        return;
                    }
                }
            });
            Ok(ear)
        })
    }

    fn commit(&self, group: Group) -> Answer<'_, Vec<Verdict>> {
        Box::pin(async move {
            let items = group.items.len();
            if let Err(error) = self.reach(Kind::CommitLost).await {
                let told_done = self.has(Bug::AnswerBeforeCommit) && !self.life.is_dead();
                return if told_done { Ok(vec![Verdict::Done; items]) } else { Err(error) };
            }
            if items > 1 && self.shared.strikes(Kind::CommitBroken, &self.life) {
                self.shared.oracle().saw(Probe::GroupTakenApart);
                return Err(StoreError::Broken {
                    reason: "told to break".to_owned(),
                    source: None,
                });
            }
            self.travel().await?;
            self.die_of(Kind::CrashBeforeCommit).await;
            let verdicts = self.write(group).await?;
            self.die_of(Kind::CrashAfterCommit).await;
            if self.shared.strikes(Kind::CommitUnknown, &self.life) {
                return Err(away("the answer was lost"));
            }
            Ok(verdicts)
        })
    }

    fn due(&self, owner: Epoch, now: Timestamp, limit: usize) -> Answer<'_, Due> {
        Box::pin(async move {
            self.reach(Kind::ReadFailed).await?;
            if self.has(Bug::ForgetTimers) && !self.life.is_first() {
                return Ok(Due::default());
            }
            self.memory().due(owner, now, limit).await
        })
    }

    fn queued(
        &self,
        owner: Epoch,
        pool: String,
        after: Option<QueueKey>,
        limit: usize,
    ) -> Answer<'_, Vec<Queued>> {
        Box::pin(async move {
            self.reach(Kind::ReadFailed).await?;
            if self.has(Bug::DropOutbox) && !self.life.is_first() {
                return Ok(Vec::new());
            }
            self.memory().queued(owner, pool, after, limit).await
        })
    }

    fn runs(&self, mut filter: Filter, page: Page) -> Answer<'_, Vec<RunSummary>> {
        Box::pin(async move {
            self.reach(Kind::ReadFailed).await?;
            if self.has(Bug::TenantFilterMissing) {
                filter.tenant = None;
            }
            self.memory().runs(filter, page).await
        })
    }

    fn events(&self, filter: EventFilter, after: EventPlace, limit: usize) -> Answer<'_, Events> {
        Box::pin(async move {
            self.reach(Kind::ReadFailed).await?;
            let mut found = self.memory().events(filter, after, limit).await?;
            if self.has(Bug::SkipEvent) {
                found.upto.0 += 1;
            }
            Ok(found)
        })
    }

    fn due_triggers(
        &self,
        now: Timestamp,
        limit: usize,
    ) -> Answer<'_, (Vec<Trigger>, Option<Timestamp>)> {
        Box::pin(async move {
            self.reach(Kind::ReadFailed).await?;
            let (mut due, next) = self.memory().due_triggers(now, limit).await?;
            if self.has(Bug::IgnoreCatchUp) {
                forget_missed(&mut due, now);
            }
            Ok((due, next))
        })
    }

    fn progress_triggers(&self, mut progress: Vec<TriggerProgress>) -> Answer<'_, Vec<bool>> {
        Box::pin(async move {
            self.reach(Kind::CommitLost).await?;
            self.die_of(Kind::CrashBeforeCommit).await;
            if self.has(Bug::LoseFiring) {
                progress.iter_mut().for_each(|it| it.firings.clear());
            }
            let written = self.memory().progress_triggers(progress).await?;
            self.die_of(Kind::CrashAfterCommit).await;
            if self.shared.strikes(Kind::CommitUnknown, &self.life) {
                return Err(away("the answer was lost"));
            }
            Ok(written)
        })
    }

    fn batches(&self, filter: BatchFilter, slice: Slice) -> Answer<'_, Listed<Batch>> {
        Box::pin(async move {
            // Nothing goes wrong where nothing is asked for.
            if self.shared.plan.batches == 0 {
                return Ok(Listed { items: Vec::new(), total: 0 });
            }
            self.reach(Kind::ReadFailed).await?;
            self.memory().batches(filter, slice).await
        })
    }

    fn members(&self, filter: MemberFilter, slice: Slice) -> Answer<'_, Listed<Member>> {
        Box::pin(async move {
            self.reach(Kind::ReadFailed).await?;
            let goes_on = filter.after.is_some();
            let mut found = self.memory().members(filter, slice).await?;
            if goes_on && self.has(Bug::SkipMember) && found.items.len() > 1 {
                found.items.remove(0);
            }
            Ok(found)
        })
    }

    fn removals_dispatched(&self, members: Vec<MemberId>, at: Timestamp) -> Answer<'_, ()> {
        Box::pin(async move {
            self.reach(Kind::CommitLost).await?;
            self.die_of(Kind::CrashBeforeCommit).await;
            if !self.has(Bug::RemoveTwice) {
                self.memory().removals_dispatched(members, at).await?;
            }
            self.die_of(Kind::CrashAfterCommit).await;
            Ok(())
        })
    }

    fn lease(
        &self,
        name: String,
        holder: String,
        now: Timestamp,
        until: Timestamp,
    ) -> Answer<'_, bool> {
        Box::pin(async move {
            self.reach(Kind::CommitLost).await?;
            let granted = self.memory().lease(name.clone(), holder.clone(), now, until).await?;
            let granted = granted || self.has(Bug::ShareLease);
            if granted {
                let truth = self.shared.now();
                self.shared.oracle().leased(&name, &holder, until > now, truth);
            }
            self.die_of(Kind::CrashAfterCommit).await;
            if self.shared.strikes(Kind::CommitUnknown, &self.life) {
                return Err(away("the answer was lost"));
            }
            Ok(granted)
        })
    }

    note! {
        settle_dead_letters(settlements: Vec<(i64, Settlement)>) -> Vec<bool>;
        put_trigger(trigger: Trigger) -> bool;
        delete_trigger(tenant: Tenant, name: String) -> bool;
        set_tenant_policy(tenant: Tenant, policy: Option<TenantPolicy>) -> ();
        reserve(kind: Numbered, count: u32) -> i64;
        publish_runbook(document: NewRunbook) -> RunbookDocument;
        deactivate_runbook(name: String, version: u32) -> bool;
        note_runbook(id: i64, error: Option<String>, at: Timestamp) -> ();
        overdue_applied(id: i64) -> ();
        set_automation(runbook: String, enabled: bool, actor: String, at: Timestamp) -> Automation;
        seen_keys(runbook: String, present: Vec<String>) -> Vec<String>;
        note_keys(runbook: String, keys: Vec<String>) -> ();
        grant(grant: Grant) -> Granted;
        fold_ledger(before: Timestamp, limit: usize) -> usize;
        put_subscription(subscription: Subscription) -> ();
        delete_subscription(id: String) -> bool;
    }

    fn ddl(&self) -> String {
        String::new()
    }

    fn close(&self) -> Answer<'_, ()> {
        // The store outlives its instances.
        Box::pin(std::future::ready(Ok(())))
    }

    read! {
        instances() -> Vec<Instance>;
        tell(from: Epoch, signal: Signal) -> ();
        queued_pools(owner: Epoch) -> Vec<String>;
        publish_workflow(document: NewWorkflow) -> WorkflowDocument;
        workflow(name: String, version: Option<u32>) -> Option<WorkflowDocument>;
        protocol(request_type: String) -> Option<WorkflowDocument>;
        workflows() -> Vec<WorkflowDocument>;
        by_key(tenant: Tenant, hash: KeyHash) -> Option<KeyHolder>;
        history(run: RunId, after_version: u64, limit: usize) -> Vec<Record>;
        beginnings(runs: Vec<RunId>, limit: usize) -> Vec<Vec<Record>>;
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
        secrets(names: Vec<String>) -> Vec<Option<Vec<u8>>>;
        replace_secret(name: String, seen: Option<Vec<u8>>, fresh: Vec<u8>) -> bool;
        sweep(now: Timestamp, limit: usize) -> usize;
        forget(stubs_before: Timestamp, firings_before: Timestamp, limit: usize) -> usize;
        expiries(runs: Vec<RunId>) -> Vec<Option<Timestamp>>;
        triggers(filter: TriggerFilter) -> Vec<Trigger>;
        firings(tenant: Tenant, trigger: String, outcome: Option<FiringOutcome>, limit: usize)
            -> Vec<Firing>;
        known_firings(tenant: Tenant, trigger: String, keys: Vec<String>) -> Vec<bool>;
        tenant_policies() -> Vec<(Tenant, TenantPolicy)>;
        sweep_events(before: Timestamp, limit: usize) -> usize;
        account(tenant: Tenant) -> Account;
        ledger(tenant: Tenant, run: Option<RunId>, before: Option<i64>, limit: usize)
            -> Vec<LedgerLine>;
        subscriptions() -> Vec<Subscription>;
        stub(run: RunId) -> Option<Stub>;
        runbook(name: String, version: Option<u32>) -> Option<RunbookDocument>;
        runbooks(name: Option<String>) -> Vec<RunbookDocument>;
        automation(runbook: String) -> Option<Automation>;
        batch(id: BatchId) -> Option<Batch>;
        keys_in_batches(runbook: String) -> Vec<(String, BatchId)>;
        batch_runs(batch: BatchId, role: Option<BatchRole>, member: Option<MemberId>)
            -> Vec<BatchRun>;
        numbered_run(number: RunNumber) -> Option<BatchRun>;
        batch_events(batch: Option<BatchId>, after: i64, limit: usize) -> Vec<BatchEvent>;
        figures() -> Figures;
        probe() -> ();
    }
}
