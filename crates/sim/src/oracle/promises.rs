//! What clients were promised, what went to the bus, and what lists show.

use stepwell_connectors::bus::{Message, MessageId};
use stepwell_core::id::{LeaseId, RunId, StepIndex, Tenant};
use stepwell_store::{KeyHash, RunSummary, StoredRun};
use uuid::Uuid;

use super::rules::{
    ACCEPTED_EXISTS, APPLIED_IS_STORED, ONE_LEASE_A_MESSAGE, ONE_RUN_A_KEY, OPEN_RUNS_COUNTED,
    PUBLISHED_WAS_COMMITTED, STALE_CHANGES_NOTHING, TENANTS_APART, Violation,
};
use super::watch::Watched;
use super::{Oracle, Probe};

/// A request that was answered as accepted.
#[derive(Clone, Debug)]
pub struct Promise {
    /// the run
    pub run: RunId,
    /// whose
    pub tenant: Tenant,
    /// under which key, for which request
    pub key: Option<(KeyHash, KeyHash)>,
}

impl Oracle {
    /// A client was told yes; `stored` is what the store has at that moment.
    pub fn accepted(&mut self, promise: Promise, stored: Option<&StoredRun>) {
        let verdict = exists(&promise, stored);
        self.judge(verdict);
        let verdict = self.one_run_a_key(&promise);
        self.judge(verdict);
        self.promises.push(promise);
    }

    /// Somebody was told that a run is now at this version.
    pub fn applied(&mut self, run: RunId, version: u64) {
        let known = self.known_version(run);
        self.judge(APPLIED_IS_STORED.check(known >= version, || {
            format!("run {run} was said to be at version {version}, and is at {known}")
        }));
    }

    /// What was promised, to be looked up at the end.
    #[must_use]
    pub fn promises(&self) -> Vec<Promise> {
        self.promises.clone()
    }

    /// A promise is looked up again.
    pub fn kept(&mut self, promise: &Promise, stored: Option<&StoredRun>) {
        self.judge(exists(promise, stored));
    }

    fn one_run_a_key(&self, promise: &Promise) -> Result<(), Violation> {
        let Some((hash, request)) = promise.key else { return Ok(()) };
        let same_key = self.promises.iter().filter(|earlier| {
            earlier.tenant == promise.tenant && earlier.key.is_some_and(|(key, _)| key == hash)
        });
        for earlier in same_key {
            let same_request = earlier.key.is_some_and(|(_, earlier)| earlier == request);
            ONE_RUN_A_KEY.check(same_request && earlier.run == promise.run, || {
                format!("{} and {} were made under one key", earlier.run, promise.run)
            })?;
        }
        Ok(())
    }

    /// A message was handed to the bus.
    pub fn published(&mut self, message: &Message) {
        let Ok(lease) = Uuid::from_slice(&message.body).map(LeaseId) else { return };
        let verdict = self.was_committed(message.id, lease);
        self.judge(verdict);
        let verdict = self.message_is_needed(lease);
        self.judge(verdict);
        let first = *self.messages.entry(message.id).or_insert(lease);
        self.judge(ONE_LEASE_A_MESSAGE.check(first == lease, || {
            format!("message {} carried {first} and {lease}", message.id)
        }));
    }

    fn was_committed(&self, id: MessageId, lease: LeaseId) -> Result<(), Violation> {
        let named = (RunId(Uuid::from_u128(id.run)), u16::try_from(id.step).ok(), id.attempt);
        let known = self.leases.get(&lease);
        let same =
            known.is_some_and(|(run, step, attempt)| named == (*run, Some(step.0), *attempt));
        PUBLISHED_WAS_COMMITTED
            .check(same, || format!("message {id} carries {lease}, which is {known:?}"))
    }

    /// The bus gave a directive up; the engine may say so.
    pub fn gave_up(&mut self, lease: LeaseId, error: stepwell_core::step::StepError) {
        self.saw(Probe::DeadLettered);
        let outcome =
            stepwell_core::step::Outcome::Failed { error, retryable: true, retry_after: None };
        self.made.add(lease, outcome);
    }

    /// The step and attempt of a lease that was ever given.
    #[must_use]
    pub fn lease(&self, lease: LeaseId) -> Option<(RunId, StepIndex, u32)> {
        self.leases.get(&lease).copied()
    }

    /// A list of one tenant's runs.
    pub fn listed(&mut self, tenant: &Tenant, page: &[RunSummary]) {
        let foreign = page.iter().find(|summary| summary.tenant != *tenant);
        self.judge(TENANTS_APART.check(foreign.is_none(), || {
            format!("the list of {tenant} shows {:?}", foreign.map(|summary| &summary.tenant))
        }));
        let open = |run: &&RunSummary| !run.status.is_terminal();
        let shown = page.iter().filter(open).count();
        let counted = self.open_of(tenant);
        self.judge(OPEN_RUNS_COUNTED.check(foreign.is_some() || shown == counted, || {
            format!("{shown} open runs of {tenant} are listed, {counted} exist")
        }));
    }

    /// How many stale reports of a run are recorded, at the end.
    pub fn recorded(&mut self, run: RunId, stale_reports: usize) {
        let known = self.runs.get(&run).map_or(0, |watched| watched.stale_reports);
        self.judge(STALE_CHANGES_NOTHING.check(known == stale_reports, || {
            format!("{stale_reports} stale reports of {run} are recorded, {known} came")
        }));
    }

    /// The store's own figure of open runs.
    pub fn figured(&mut self, runs_open: u64) {
        let counted = self.open_runs().len() as u64;
        self.judge(OPEN_RUNS_COUNTED.check(counted == runs_open, || {
            format!("the store says {runs_open}, the histories say {counted}")
        }));
    }

    /// Runs of a tenant that somebody asked for and that have not ended.
    pub(super) fn open_of(&self, tenant: &Tenant) -> usize {
        self.asked_for(tenant).filter(|watched| watched.model.ended.is_none()).count()
    }

    /// Runs of a tenant that somebody asked for, ended ones included.
    pub(crate) fn ever_opened(&self, tenant: &Tenant) -> usize {
        self.asked_for(tenant).count()
    }

    fn asked_for(&self, tenant: &Tenant) -> impl Iterator<Item = &Watched> {
        self.runs.values().filter(move |watched| {
            let header = &watched.replayed.header;
            header.tenant == *tenant && header.parent.is_none()
        })
    }
}

fn exists(promise: &Promise, stored: Option<&StoredRun>) -> Result<(), Violation> {
    let tenant = stored.map(|stored| &stored.header.tenant);
    ACCEPTED_EXISTS.check(tenant == Some(&promise.tenant), || {
        format!("run {} of {} is stored for {tenant:?}", promise.run, promise.tenant)
    })
}
