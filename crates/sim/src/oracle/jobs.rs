//! Jobs of workspaces: their attempts, their workers, and what their ends are told.

use std::collections::{BTreeMap, BTreeSet};

use stepwell_core::definition::Part;
use stepwell_core::entry::{Entry, Record};
use stepwell_core::id::{LeaseId, StepIndex, Tenant};
use stepwell_core::run::{Dialect, Run};
use stepwell_core::step::{StepError, StepStatus};
use stepwell_store::{EventPlace, Events, LedgerLine, StoredEvent, StoredHeader};

use super::model::least_rest;
use super::rules::{
    END_TOLD_ONCE, KEPT_BY_ITS_OWN, LADDER_HOLDS, LOG_FOLLOWED, NOT_DONE_AGAIN, ONE_MESSAGE,
    Violation,
};
use super::{Observed, Oracle, Probe};

/// What is known of jobs beside their histories.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    /// leases under which a worker goes on, without a message
    without_message: BTreeSet<LeaseId>,
    /// words that were sent under a lease, and extensions that they brought
    words: BTreeMap<LeaseId, (u32, u32)>,
    /// leases whose price is booked
    pub(super) paid: BTreeSet<LeaseId>,
    /// every line that stood in a ledger, whether it is folded by now or not
    pub(super) lines: BTreeMap<Tenant, BTreeMap<i64, LedgerLine>>,
    /// the log as somebody follows it
    upto: EventPlace,
    followed: BTreeSet<EventPlace>,
}

/// Whether the end of such a run is told.
pub(crate) fn is_told(header: &StoredHeader) -> bool {
    header.dialect == Dialect::Workspaces && header.part == Part::Main
}

impl Oracle {
    /// Reads a record of a job, where `before` is what it was; elsewhere there is nothing to see.
    pub(super) fn job_goes_on(&mut self, before: &Run, record: &Record) -> Result<(), Violation> {
        if before.keeping().is_none() {
            return Ok(());
        }
        for entry in &record.entries {
            match entry {
                Entry::StepDispatched { step, .. } => {
                    let state = before.steps.get(step.position());
                    let is_done = state.is_some_and(|it| it.status == StepStatus::Succeeded);
                    NOT_DONE_AGAIN.check(!is_done, || format!("step {} was", step.0))?;
                }
                Entry::LeaseExtended { step, .. } => self.extended(before, *step, record)?,
                Entry::AttemptFailed { error, .. }
                | Entry::StepHeld { error, .. }
                | Entry::StepTimedOut { error, .. } => self.look_why(error),
                _ => {}
            }
        }
        ladder_holds(before, record)?;
        self.goes_on_without_message(before, record)?;
        self.spends(before, record)
    }

    fn look_why(&mut self, error: &StepError) {
        match error.code.as_str() {
            "lease_expired" => self.saw(Probe::LeaseRanOut),
            "attempt_timed_out" => self.saw(Probe::OutOfTime),
            "unclaimed" => self.saw(Probe::NobodyTookIt),
            _ => {}
        }
    }

    /// Whoever has this lease, or had it, has said something.
    pub fn heard(&mut self, lease: LeaseId) {
        self.jobs.words.entry(lease).or_default().0 += 1;
    }

    fn extended(
        &mut self,
        before: &Run,
        step: StepIndex,
        record: &Record,
    ) -> Result<(), Violation> {
        let lease = dispatched(record, step).or_else(|| lease_before(before, step));
        let Some(lease) = lease else { return Ok(()) };
        let (said, extended) = self.jobs.words.entry(lease).or_default();
        *extended += 1;
        KEPT_BY_ITS_OWN.check(extended <= said, || {
            format!("{lease} was extended {extended} times after {said} words")
        })
    }

    fn goes_on_without_message(&mut self, before: &Run, record: &Record) -> Result<(), Violation> {
        let acked = |step: &StepIndex| {
            record
                .entries
                .iter()
                .any(|it| matches!(it, Entry::StepAcked { step: it } if it == step))
        };
        let new: Vec<StepIndex> = record.entries.iter().filter_map(given_out).collect();
        let (kept, sent): (Vec<StepIndex>, Vec<StepIndex>) = new.into_iter().partition(acked);
        self.jobs.without_message.extend(kept.iter().filter_map(|step| dispatched(record, *step)));
        // Items that are made with this record come later than anything that `before` knows.
        let pool = |step: &StepIndex| {
            (step.position() < before.steps.len()).then(|| before.spec(*step).pool.clone())
        };
        let Some(free) = record.entries.iter().find_map(|entry| reported(record, entry)) else {
            return Ok(());
        };
        let idle = kept.is_empty()
            && pool(&free)
                .is_some_and(|free| sent.iter().any(|it| pool(it).as_ref() == Some(&free)));
        ONE_MESSAGE.check(!idle, || {
            format!("a message was sent for one of {sent:?} while who did {} was free", free.0)
        })
    }

    /// A message was handed to the bus.
    pub(super) fn message_is_needed(&self, lease: LeaseId) -> Result<(), Violation> {
        let kept = self.jobs.without_message.contains(&lease);
        ONE_MESSAGE.check(!kept, || format!("{lease} was with a worker, and was sent"))
    }

    /// The end of a job is told with the decision that ends it.
    pub(super) fn end_is_told(&self, observed: &Observed) -> Result<(), Violation> {
        let stored = &observed.stored;
        if !is_told(&stored.header) {
            return Ok(());
        }
        let expected = usize::from(stored.status.is_terminal());
        END_TOLD_ONCE.check(observed.ends_told == expected, || {
            let (run, status) = (stored.header.id, stored.status.word());
            format!("{run} is {status}, and was told to have ended {} times", observed.ends_told)
        })
    }

    /// Where whoever follows the log goes on.
    #[must_use]
    pub fn followed_upto(&self) -> EventPlace {
        self.jobs.upto
    }

    /// Whoever follows the log has read on.
    pub fn followed(&mut self, events: &Events) {
        let mut last = self.jobs.upto;
        for event in &events.events {
            let grows = event.place > last && event.place <= events.upto;
            self.judge(LOG_FOLLOWED.check(grows, || {
                format!("{:?} follows {last:?}, up to {:?}", event.place, events.upto)
            }));
            last = event.place;
            self.jobs.followed.insert(event.place);
        }
        self.jobs.upto = self.jobs.upto.max(events.upto);
    }

    /// The whole log, at the end.
    pub fn log_was_followed(&mut self, log: &[StoredEvent]) {
        let missed = log.iter().find(|event| !self.jobs.followed.contains(&event.place));
        let verdict = LOG_FOLLOWED.check(missed.is_none(), || format!("{missed:?} was missed"));
        self.judge(verdict);
        let mut ids = BTreeSet::new();
        let twice = log.iter().find(|event| !ids.insert(event_id(event)));
        let verdict = LOG_FOLLOWED.check(twice.is_none(), || format!("{twice:?} is there twice"));
        self.judge(verdict);
    }
}

fn event_id(event: &StoredEvent) -> String {
    let body: serde_json::Value = serde_json::from_str(&event.event.body).unwrap_or_default();
    body["id"].as_str().map_or_else(|| format!("{:?}", event.place), str::to_owned)
}

fn ladder_holds(before: &Run, record: &Record) -> Result<(), Violation> {
    let terms = before.header.terms.as_ref();
    let Some(policy) = terms.and_then(|terms| terms.run_retry.as_ref()) else { return Ok(()) };
    for entry in &record.entries {
        let (sound, what) = match entry {
            Entry::RunRetried { attempt } => {
                let counted = *attempt == before.attempt + 1 && *attempt <= policy.attempts_max;
                (counted, format!("attempt {attempt} follows {}", before.attempt))
            }
            Entry::RunRetryScheduled { retry_at, .. } => {
                let earliest = record.at.after(least_rest(policy, before.attempt));
                (*retry_at >= earliest, format!("it is tried at {retry_at}, not {earliest}"))
            }
            _ => continue,
        };
        LADDER_HOLDS.check(sound, || what)?;
    }
    Ok(())
}

fn given_out(entry: &Entry) -> Option<StepIndex> {
    match entry {
        Entry::StepDispatched { step, .. } => Some(*step),
        _ => None,
    }
}

/// The step that a worker has done, if that is what the entry says.
fn reported(record: &Record, entry: &Entry) -> Option<StepIndex> {
    let Entry::StepSucceeded { step, .. } = entry else { return None };
    let by_person = record.entries.iter().any(|it| matches!(it, Entry::StepOperated { .. }));
    (!by_person).then_some(*step)
}

/// The lease under which a step is given out in a record.
fn dispatched(record: &Record, wanted: StepIndex) -> Option<LeaseId> {
    record.entries.iter().find_map(|entry| match entry {
        Entry::StepDispatched { step, lease, .. } if *step == wanted => Some(*lease),
        _ => None,
    })
}

pub(super) fn lease_before(before: &Run, step: StepIndex) -> Option<LeaseId> {
    before.steps.get(step.position())?.lease.map(|lease| lease.id)
}

/// Steps that workers have done in a record, with the leases under which they did.
pub(super) fn done_under(before: &Run, record: &Record) -> Vec<LeaseId> {
    let done = record.entries.iter().filter_map(|entry| reported(record, entry));
    done.filter_map(|step| lease_before(before, step)).collect()
}
