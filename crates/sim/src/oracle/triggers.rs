//! Triggers: what their firings make, and that none is forgotten.

use std::collections::BTreeMap;

use stepwell_core::duration::Interval;
use stepwell_core::id::{RunId, Tenant};
use stepwell_core::run::Header;
use stepwell_core::time::Timestamp;
use stepwell_dialects::workspaces::trigger::{CatchUp, Kind, ScheduleKind, Trigger};
use stepwell_store::{Firing, FiringOutcome};

use super::rules::{FIRES_ONCE, Violation};
use super::{Oracle, Probe};

/// A firing this late is on time, whatever its window.
const ON_TIME: Interval = Interval::from_secs(60);

/// When the faults have ended, a firing is noted this soon.
const SOON_MS: i64 = 3 * 60_000;

/// Whose trigger, and which.
type Name = (Tenant, String);

/// What is known of triggers.
#[derive(Debug, Default)]
pub(super) struct Triggers {
    /// schedules, and since when they are what they are
    schedules: BTreeMap<Name, (ScheduleKind, Option<Timestamp>)>,
    /// the run that was made under a key
    made: BTreeMap<(Tenant, String), RunId>,
}

impl Oracle {
    /// Somebody changes a trigger, and does not know yet whether it is changed.
    pub fn trigger_unknown(&mut self, name: &Name) {
        if let Some((_, since)) = self.triggers.schedules.get_mut(name) {
            *since = None;
        }
    }

    /// A trigger is what its document says.
    pub fn trigger_set(&mut self, name: &Name, document: &Trigger, now: Timestamp) {
        if let Kind::Schedule(schedule) = &document.kind {
            let since = document.enabled.then_some(now);
            self.triggers.schedules.insert(name.clone(), (schedule.clone(), since));
        }
    }

    /// A firing makes one run, whatever crashes and however often it is asked for.
    pub(super) fn made_by_trigger(&mut self, header: &Header) -> Result<(), Violation> {
        let by_trigger = header.actor.starts_with("trigger:") && header.resumes.is_none();
        let key = header.context.get("idempotency_key").and_then(serde_json::Value::as_str);
        let Some(key) = key.filter(|_| by_trigger) else { return Ok(()) };
        self.saw(Probe::Fired);
        let place = (header.tenant.clone(), key.to_owned());
        let before = self.triggers.made.insert(place, header.id);
        FIRES_ONCE.check(before.is_none(), || {
            format!("{key} made {} after it had made {before:?}", header.id)
        })
    }

    /// Somebody was told which run a firing has made.
    pub fn fired(&mut self, firing: &Firing) {
        let verdict = self.made_what_it_says(firing);
        self.judge(verdict);
    }

    fn made_what_it_says(&self, firing: &Firing) -> Result<(), Violation> {
        let Some(run) = firing.run else { return Ok(()) };
        let key = format!("trigger:{}:{}", firing.trigger, firing.key);
        let made = self.triggers.made.get(&(firing.tenant.clone(), key));
        FIRES_ONCE.check(made == Some(&run), || {
            format!("{} is said to have made {run}, and made {made:?}", firing.key)
        })
    }

    /// What became of a schedule, some time after the faults have ended.
    pub fn fired_whenever_due(&mut self, name: &Name, firings: &[Firing], now: Timestamp) {
        for firing in firings {
            self.fired(firing);
        }
        let Some((schedule, Some(since))) = self.triggers.schedules.get(name) else { return };
        // Whoever made it what it is may have believed that it was later.
        let from = since.as_millis() + self.skew_max_ms;
        let from = Timestamp::from_millis(from);
        let until = Timestamp::from_millis(now.as_millis() - SOON_MS);
        let due = if from < until {
            schedule.schedule.between(from, until, usize::MAX)
        } else {
            Vec::new()
        };
        let forgotten = due.into_iter().find(|moment| !is_noted(*moment, firings));
        let unkind = firings.iter().filter(|it| it.at >= from && is_passed_over(it));
        let unkind = unkind.into_iter().find(|it| !may_pass_over(schedule, it, firings));
        if firings.iter().any(is_passed_over) {
            self.saw(Probe::PassedOver);
        }
        self.judge(FIRES_ONCE.check(forgotten.is_none(), || {
            format!("{name:?} was due at {forgotten:?}, and nobody says what became of it")
        }));
        self.judge(FIRES_ONCE.check(unkind.is_none(), || {
            format!("{name:?} passed over {unkind:?} within its window")
        }));
    }
}

/// Its own row says what became of it, or one that speaks of those before it too.
fn is_noted(moment: Timestamp, firings: &[Firing]) -> bool {
    let later = firings.iter().filter(|it| it.scheduled_for.is_some_and(|at| at >= moment));
    let next = later.min_by_key(|it| it.scheduled_for);
    next.is_some_and(|it| it.scheduled_for == Some(moment) || is_passed_over(it))
}

fn is_passed_over(firing: &Firing) -> bool {
    let says = firing.reason.as_ref().is_some_and(|reason| reason.contains("passed over"));
    firing.outcome == FiringOutcome::Skipped && says
}

/// It was too old, or a later one was made in its place.
fn may_pass_over(schedule: &ScheduleKind, firing: &Firing, firings: &[Firing]) -> bool {
    let Some(meant_for) = firing.scheduled_for else { return true };
    let age = firing.at.since(meant_for);
    let replaced = schedule.catch_up_mode == CatchUp::Latest
        && firings.iter().any(|it| it.scheduled_for.is_some_and(|at| at > meant_for));
    age > schedule.catch_up.max(ON_TIME) || replaced
}
