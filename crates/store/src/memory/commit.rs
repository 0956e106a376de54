//! A group of decisions, all under one lock and therefore all at once.

use std::sync::Arc;

use stepwell_core::id::{RunId, StepIndex};
use stepwell_core::run::Run;

use super::{RunEntry, Tables};
use crate::error::StoreError;
use crate::model::{
    Advance, Create, Epoch, GivenUp, Group, Item, KeyHolder, NewMessage, STALE_REPORTS_MAX, Signal,
    StaleReport, Verdict,
};
use crate::rows::moment_to_store;

/// The run that an item advances.
fn written(item: &Item) -> Option<RunId> {
    match item {
        Item::Advance(advance) => Some(advance.run.id()),
        Item::Create(_)
        | Item::Reschedule { .. }
        | Item::Audit(_)
        | Item::Forward(_)
        | Item::Batch(_) => None,
    }
}

/// It is the caller's own, or nobody's. In a store that is not shared every run is nobody's.
fn may_write(entry: &RunEntry, epoch: Epoch) -> bool {
    entry.owner.is_none_or(|owner| owner == epoch)
}

impl Tables {
    pub(super) fn commit(&mut self, group: Group) -> Result<Vec<Verdict>, StoreError> {
        let Group { epoch, items, answers, free } = group;
        match &mut self.sharing {
            Some(sharing) => sharing.fence(epoch)?,
            None if epoch.0 != self.epoch => {
                return Err(StoreError::Fenced { mine: epoch.0, current: self.epoch });
            }
            None => {}
        }
        let written: Vec<Option<RunId>> = items.iter().map(written).collect();
        let verdicts: Vec<Verdict> =
            items.into_iter().map(|item| self.commit_item(epoch, free, item)).collect();
        let stale = written.into_iter().zip(&verdicts).filter(|(_, it)| **it != Verdict::Done);
        let stale: Vec<RunId> = stale.filter_map(|(run, _)| run).collect();
        self.strike_off(epoch, answers, &stale);
        if free && verdicts.contains(&Verdict::Done) {
            self.tell(Some(epoch), &Signal::Free);
        }
        Ok(verdicts)
    }

    fn commit_item(&mut self, epoch: Epoch, free: bool, item: Item) -> Verdict {
        let owner = (self.sharing.is_some() && !free).then_some(epoch);
        match item {
            Item::Create(create) => self.create(owner, *create),
            Item::Advance(advance) => self.advance(epoch, *advance),
            Item::Reschedule { run, version, wake_at } => match self.runs.get_mut(&run) {
                Some(entry) if entry.run.version == version && may_write(entry, epoch) => {
                    entry.wake_at = wake_at;
                    Verdict::Done
                }
                Some(_) | None => Verdict::Stale,
            },
            Item::Audit(report) => self.audit(report),
            Item::Forward(input) => self.forward(input),
            Item::Batch(write) => self.write_batch(owner, *write),
        }
    }

    fn create(&mut self, owner: Option<Epoch>, create: Create) -> Verdict {
        let hindrance = self.hindrance_of(&create, 0).or_else(|| self.is_short_for(&create));
        if let Some(hindrance) = hindrance {
            return hindrance;
        }
        self.insert(owner, create);
        Verdict::Done
    }

    /// Why a run cannot begin, when so many others begin just before it.
    pub(super) fn hindrance_of(&self, create: &Create, begun_before: u32) -> Option<Verdict> {
        let header = &create.run.header;
        // The key goes first: a repeated request gets its answer even from a tenant that is full.
        let holder =
            create.key.and_then(|key| self.keys.get(&(header.tenant.clone(), key.hash)).copied());
        if let Some(holder) = holder {
            return Some(Verdict::Duplicate(holder));
        }
        if let Some(cap) = create.tenant_cap
            && header.parent.is_none()
            && !create.run.status.is_terminal()
        {
            let open = self.open_runs(&header.tenant) + begun_before;
            if open >= cap {
                return Some(Verdict::TenantFull { open });
            }
        }
        self.runs.contains_key(&create.run.id()).then_some(Verdict::Stale)
    }

    /// Inserts a run and the runs that its decision created. The cap is not asked for those: a
    /// compensation must run, however busy its tenant is.
    pub(super) fn insert(&mut self, owner: Option<Epoch>, create: Create) {
        self.number_run(&create);
        self.count(create.tally.as_ref());
        self.ledger.follow(&create.run, &create.credits);
        self.events.append(create.events);
        let run = create.run;
        let (id, ended) = (run.id(), run.status.is_terminal());
        if let Some(key) = create.key {
            let holder = KeyHolder {
                run: id,
                request_hash: key.request_hash,
                created_at: run.header.created_at,
            };
            self.keys.insert((run.header.tenant.clone(), key.hash), holder);
        }
        let entry = RunEntry {
            owner,
            wake_at: moment_to_store(None, run.wake_at(), ended),
            expires_at: create.expires_at.filter(|_| ended),
            history: vec![create.record],
            stale_reports: Vec::new(),
            run,
        };
        self.runs.insert(id, entry);
        self.follow(id, create.outbox, create.dead_letter);
        for child in create.children {
            self.insert(owner, child);
        }
    }

    fn advance(&mut self, epoch: Epoch, advance: Advance) -> Verdict {
        let id = advance.run.id();
        let shared = self.sharing.is_some();
        let Some(entry) = self
            .runs
            .get_mut(&id)
            .filter(|entry| entry.run.version == advance.from_version && may_write(entry, epoch))
        else {
            return Verdict::Stale;
        };
        entry.owner = shared.then_some(epoch);
        let ended = advance.run.status.is_terminal();
        self.ledger.follow(&advance.run, &advance.credits);
        self.events.append(advance.events);
        entry.wake_at = moment_to_store(entry.wake_at, advance.run.wake_at(), ended);
        entry.expires_at = advance.expires_at.filter(|_| ended);
        entry.run = with_unchanged_steps(&entry.run, advance.run, &advance.changed);
        entry.history.extend(advance.records);
        self.count(advance.tally.as_ref());
        self.follow(id, advance.outbox, advance.dead_letter);
        for child in advance.children {
            self.insert(shared.then_some(epoch), child);
        }
        Verdict::Done
    }

    /// Stores what follows a decision beside its run.
    fn follow(&mut self, run: RunId, outbox: Vec<NewMessage>, given_up: Option<Box<GivenUp>>) {
        let origin = self.origin(run).expect("whatever a run is followed by, it is stored first");
        self.promise(&origin, outbox);
        if let Some(given_up) = given_up {
            self.give_up(origin, *given_up);
        }
    }

    fn audit(&mut self, report: StaleReport) -> Verdict {
        let Some(entry) = self.runs.get_mut(&report.run) else { return Verdict::Stale };
        if entry.stale_reports.len() < STALE_REPORTS_MAX {
            entry.stale_reports.push(report);
        }
        Verdict::Done
    }
}

/// The run after a decision, with the steps that it did not touch as they are stored: whoever decided
/// may have left out of them what no decision asks for.
fn with_unchanged_steps(stored: &Run, mut decided: Arc<Run>, changed: &[StepIndex]) -> Arc<Run> {
    if !decided.is_one_of_many() {
        return decided;
    }
    let run = Arc::make_mut(&mut decided);
    for (index, step) in stored.indexed() {
        if !changed.contains(&index) && run.steps[index.position()] != *step {
            run.steps[index.position()] = step.clone();
        }
    }
    decided
}
