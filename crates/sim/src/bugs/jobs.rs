//! Bugs of jobs: in their accounts, their attempts, and in what is told of them.

use std::sync::Arc;

use stepwell_core::credit::{CreditState, Credits, Movement, MovementKind, Restore};
use stepwell_core::duration::Interval;
use stepwell_core::effect::Directive;
use stepwell_core::entry::{Entry, Record};
use stepwell_core::retry::RetryPolicy;
use stepwell_core::run::Run;
use stepwell_core::time::Timestamp;
use stepwell_store::{Advance, Create, Group, Item, Trigger};

use super::Bug;

impl Bug {
    pub(super) fn spoil_new_job(self, create: &mut Create) {
        if self == Self::FireWithoutKey && create.run.header.actor.starts_with("trigger:") {
            create.key = None;
        }
        if self == Self::IgnoreBalance && !create.credits.is_empty() {
            // Only what a new run does first is compared with the balance.
            create.credits.insert(0, CreditState::reserve(Credits::ZERO));
            create.credits[0].kind = MovementKind::Released;
        }
    }

    pub(super) fn spoil_job(self, advance: &mut Advance, stored: Option<&Run>) {
        if advance.run.header.terms.is_none() {
            return;
        }
        match self {
            Self::ForgetRelease if says(advance, |entry| *entry == Entry::RunCancelled) => {
                advance.credits.retain(|it| it.kind != MovementKind::Released);
            }
            Self::SpendTwice => spend_twice(advance),
            Self::RestoreAlways => restore_always(advance),
            Self::ChargeTheFree => charge_the_free(advance),
            Self::ForgetEvent => advance.events.retain(|event| !tells_end(&event.kind)),
            Self::TellTwice => {
                let ends = advance.events.iter().filter(|event| tells_end(&event.kind));
                let ends: Vec<_> = ends.cloned().collect();
                advance.events.extend(ends);
            }
            Self::UncountedAttempt => forget_attempt(advance, stored),
            Self::HastyLadder => hurry(advance, |_| Interval::ZERO),
            Self::ForgetAskedRest => hurry(advance, by_policy),
            Self::KeepTooLong => keep_too_long(advance),
            _ => {}
        }
    }
}

/// What workers are given with the answers to the reports of a group.
pub(crate) fn next_steps(group: &Group) -> Vec<(Arc<Run>, Directive)> {
    let mut next = Vec::new();
    for item in &group.items {
        let Item::Advance(advance) = item else { continue };
        let entries = advance.records.iter().flat_map(|record| &record.entries);
        for entry in entries {
            let Entry::StepDispatched { step, .. } = entry else { continue };
            if advance.run.is_kept(*step)
                && let Some(directive) = advance.run.steps[step.position()].directive(*step)
            {
                next.push((Arc::clone(&advance.run), directive));
            }
        }
    }
    next
}

/// What was due more than a minute ago counts as done.
pub(crate) fn forget_missed(due: &mut [Trigger], now: Timestamp) {
    let lately = Timestamp::from_millis(now.as_millis() - 60_000);
    for trigger in due {
        trigger.fired_until = trigger.fired_until.map(|until| until.max(lately));
    }
}

fn tells_end(kind: &str) -> bool {
    kind == "workflow_run_completed"
}

fn says(advance: &Advance, what: impl Fn(&Entry) -> bool) -> bool {
    advance.records.iter().any(|record| record.entries.iter().any(&what))
}

/// Writes a movement into history, state and account alike, at a place of the last record.
fn move_too(advance: &mut Advance, place: usize, movement: Movement) {
    let Some(record) = advance.records.last_mut() else { return };
    record.entries.insert(place, Entry::CreditsMoved { movement });
    let run = Arc::make_mut(&mut advance.run);
    run.credits = run.credits.map(|credits| credits.after(&movement));
    if run.credit_terms().is_some_and(|terms| terms.charged) {
        advance.credits.push(movement);
    }
}

/// Where the last record says something.
fn place_of(advance: &Advance, what: impl Fn(&Entry) -> bool) -> Option<usize> {
    advance.records.last().and_then(|record| record.entries.iter().position(what))
}

fn spend_twice(advance: &mut Advance) {
    let is_spent = |entry: &Entry| matches!(entry, Entry::CreditsMoved { movement } if movement.kind == MovementKind::Spent);
    if advance.run.status.is_terminal() {
        return;
    }
    let Some(place) = place_of(advance, is_spent) else { return };
    let Some(credits) = advance.run.credits else { return };
    let Some(Entry::CreditsMoved { movement }) = entry_at(advance, place) else { return };
    move_too(advance, place + 1, credits.spend(movement.spent));
}

fn entry_at(advance: &Advance, place: usize) -> Option<Entry> {
    let record: &Record = advance.records.last()?;
    record.entries.get(place).cloned()
}

fn restore_always(advance: &mut Advance) {
    let is_end = |entry: &Entry| matches!(entry, Entry::RunFailed { .. } | Entry::RunCancelled);
    let never = advance.run.credit_terms().is_some_and(|it| it.restore == Restore::Never);
    if let Some(place) = place_of(advance, is_end).filter(|_| never)
        && let Some(movement) = advance.run.credits.and_then(CreditState::restore)
    {
        move_too(advance, place, movement);
    }
}

fn charge_the_free(advance: &mut Advance) {
    if advance.run.credit_terms().is_some_and(|terms| terms.charged) {
        return;
    }
    let entries = advance.records.iter().flat_map(|record| &record.entries);
    let moved = entries.filter_map(|entry| match entry {
        Entry::CreditsMoved { movement } => Some(*movement),
        _ => None,
    });
    advance.credits.extend(moved);
}

fn forget_attempt(advance: &mut Advance, stored: Option<&Run>) {
    let by_silence = stored
        .and_then(|run| run.error.as_ref())
        .is_some_and(|error| error.code == "lease_expired");
    if !by_silence {
        return;
    }
    let run = Arc::make_mut(&mut advance.run);
    for entry in advance.records.iter_mut().flat_map(|record| &mut record.entries) {
        if let Entry::RunRetried { attempt } = entry {
            *attempt -= 1;
            run.attempt -= 1;
        }
    }
}

fn hurry(advance: &mut Advance, rest: impl Fn(&Run) -> Interval) {
    let run = Arc::make_mut(&mut advance.run);
    for record in &mut advance.records {
        for entry in &mut record.entries {
            if let Entry::RunRetryScheduled { retry_at, .. } = entry {
                *retry_at = record.at.after(rest(run));
                run.retry_at = Some(*retry_at);
            }
        }
    }
}

fn by_policy(run: &Run) -> Interval {
    let rest = |policy: &RetryPolicy| policy.delay_after(run.attempt, run.id(), u32::MAX);
    run.run_retry().map_or(Interval::ZERO, rest)
}

fn keep_too_long(advance: &mut Advance) {
    let Some(keeping) = advance.run.keeping() else { return };
    let run = Arc::make_mut(&mut advance.run);
    for record in &mut advance.records {
        for entry in &mut record.entries {
            let Entry::LeaseExtended { step, expires_at } = entry else { continue };
            *expires_at = record.at.after(keeping.lease);
            let step = &mut run.steps[step.position()];
            if let Some(lease) = &mut step.lease {
                lease.expires_at = *expires_at;
                step.wake_at = Some(*expires_at);
            }
        }
    }
}
