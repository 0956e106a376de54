//! A schedule whose moment has come: note what is due, start what may start, note what became of it.

use serde_json::{Map, Value};
use stepwell_core::duration::Interval;
use stepwell_core::id::RunId;
use stepwell_core::time::Timestamp;
use stepwell_dialects::workspaces::trigger::{
    self as document, CatchUp as Mode, Overlap, ScheduleKind,
};
use stepwell_store::{Firing, FiringOutcome, Trigger, TriggerProgress};

use super::due::{self, CatchUp, Due};
use super::note;
use super::start::{Hindrance, Order, made_before, start_all};
use crate::error::EngineError;
use crate::intake::Intake;
use crate::shared::Shared;

/// Firings of one trigger that may wait for the end of the run before them.
const QUEUE_MAX: usize = 100;

/// Started firings whose runs may still go on: a person may have fired between two of the clock.
const LOOKED_AT: usize = 10;

/// When to look again at what waits, if no word comes.
const LOOK: Interval = Interval::from_secs(30);

/// The rest when the engine is busy or the store away.
const REST: Interval = Interval::from_secs(5);

/// A trigger at its turn.
pub(super) struct Turn<'a> {
    pub(super) shared: &'a Shared,
    pub(super) intake: &'a Intake,
    pub(super) trigger: &'a Trigger,
    pub(super) document: &'a document::Trigger,
    pub(super) schedule: &'a ScheduleKind,
}

/// What a turn has led to.
#[derive(Default)]
struct Outcome {
    firings: Vec<Firing>,
    error: Option<String>,
    /// the run whose end the next firing waits for
    waits_for: Option<RunId>,
    /// something waits: look again then, at the latest
    look_at: Option<Timestamp>,
}

impl Turn<'_> {
    /// Answers the run whose end is waited for, if any.
    pub(super) async fn take(&self) -> Result<Option<RunId>, EngineError> {
        let now = self.shared.now();
        let done_until = self.trigger.fired_until.unwrap_or(self.trigger.created_at);
        let due = due::due(&self.schedule.schedule, self.catch_up(), done_until, now);
        let mut waiting = self.waiting().await?;
        let planned = self.planned(&due, &waiting, now).await?;
        if !planned.is_empty() {
            let progress = TriggerProgress {
                // Whatever happens before it is noted that they have started, it is looked at again.
                next_at: Some(now),
                fired_until: Some(due.until),
                ..note::unmoved(self.trigger, planned.clone())
            };
            if !self.shared.note_trigger(progress).await? {
                return Ok(None);
            }
            let queued = planned.into_iter().filter(|it| it.outcome == FiringOutcome::Queued);
            waiting.extend(queued);
        }
        let outcome = self.start_waiting(waiting).await?;
        let next = self.schedule.schedule.next_after(due.until);
        let progress = TriggerProgress {
            next_at: [next, outcome.look_at].into_iter().flatten().min(),
            fired_until: Some(due.until),
            last_error: outcome.error,
            ..note::unmoved(self.trigger, outcome.firings)
        };
        self.shared.note_trigger(progress).await?;
        Ok(outcome.waits_for)
    }

    fn catch_up(&self) -> CatchUp {
        let all = self.schedule.catch_up_mode == Mode::All;
        CatchUp { window: self.schedule.catch_up, all }
    }

    /// Firings that wait, earliest first.
    async fn waiting(&self) -> Result<Vec<Firing>, EngineError> {
        let (tenant, name) = (self.trigger.tenant.clone(), self.trigger.name.clone());
        let limit = QUEUE_MAX + due::TURN;
        let queued = Some(FiringOutcome::Queued);
        let mut waiting = self.shared.store.firings(tenant, name, queued, limit).await?;
        waiting.sort_by(|one, other| {
            (one.scheduled_for, &one.key).cmp(&(other.scheduled_for, &other.key))
        });
        Ok(waiting)
    }

    /// What is due as firings: those to be made are queued. What was noted before stays as it is.
    async fn planned(
        &self,
        due: &Due,
        waiting: &[Firing],
        now: Timestamp,
    ) -> Result<Vec<Firing>, EngineError> {
        let firing = |at: Timestamp| note::queued(self.trigger, at.to_string(), Some(at), now);
        let (tenant, name) = (self.trigger.tenant.clone(), self.trigger.name.clone());
        let keys: Vec<String> = due.made.iter().map(ToString::to_string).collect();
        let known = match keys.is_empty() {
            true => Vec::new(),
            false => self.shared.store.known_firings(tenant, name, keys).await?,
        };
        let mut planned: Vec<Firing> = due
            .passed_over
            .iter()
            .map(|it| note::ended(firing(it.last), FiringOutcome::Skipped, it.reason.clone()))
            .collect();
        let fresh = due.made.iter().zip(known).filter(|(_, known)| !known).map(|(at, _)| *at);
        let mut queue = waiting.len();
        let mut goes_on = None;
        for at in fresh {
            if self.schedule.overlap == Overlap::Skip && goes_on.is_none() {
                goes_on = Some(self.goes_on().await?);
            }
            let hindered = match self.schedule.overlap {
                Overlap::Allow => None,
                Overlap::Skip if queue > 0 => Some("the firing before it waits".to_owned()),
                Overlap::Skip => goes_on.flatten().map(|run| format!("run {run} goes on")),
                Overlap::Queue => {
                    (queue >= QUEUE_MAX).then(|| format!("{QUEUE_MAX} firings wait already"))
                }
            };
            planned.push(match hindered {
                Some(why) => note::ended(firing(at), FiringOutcome::Skipped, why),
                None => {
                    queue += 1;
                    firing(at)
                }
            });
        }
        Ok(planned)
    }

    /// A run that an earlier firing has made and that has not ended.
    async fn goes_on(&self) -> Result<Option<RunId>, EngineError> {
        let (tenant, name) = (self.trigger.tenant.clone(), self.trigger.name.clone());
        let started = Some(FiringOutcome::Started);
        let firings = self.shared.store.firings(tenant, name, started, LOOKED_AT).await?;
        let ids: Vec<RunId> = firings.iter().filter_map(|firing| firing.run).collect();
        // One that retention has deleted has ended.
        let found = self.shared.runs(ids.clone()).await?;
        let open = |id: &RunId| found.get(id).is_some_and(|run| !run.status.is_terminal());
        Ok(ids.into_iter().find(open))
    }

    /// Starts what may start, earliest first.
    async fn start_waiting(&self, mut waiting: Vec<Firing>) -> Result<Outcome, EngineError> {
        let mut outcome = Outcome::default();
        if waiting.is_empty() {
            return Ok(outcome);
        }
        let now = self.shared.now();
        if self.schedule.overlap != Overlap::Allow
            && let Some(run) = self.goes_on().await?
        {
            if self.schedule.overlap == Overlap::Queue {
                return Ok(Outcome {
                    waits_for: Some(run),
                    look_at: Some(now.after(LOOK)),
                    ..outcome
                });
            }
            let skipped =
                |it| note::ended(it, FiringOutcome::Skipped, format!("run {run} goes on"));
            outcome.firings = waiting.into_iter().map(skipped).collect();
            return Ok(outcome);
        }
        let later = match self.schedule.overlap {
            Overlap::Allow => Vec::new(),
            // One at a time; the others wait for its end.
            Overlap::Skip | Overlap::Queue => waiting.split_off(1),
        };
        self.start(waiting, &mut outcome).await;
        if !later.is_empty() {
            outcome.waits_for = outcome.firings.iter().find_map(|firing| firing.run);
            outcome.look_soon(now.after(LOOK));
        }
        Ok(outcome)
    }

    async fn start(&self, waiting: Vec<Firing>, outcome: &mut Outcome) {
        let orders: Vec<Order<'_>> = waiting
            .iter()
            .map(|firing| Order {
                trigger: self.trigger,
                document: self.document,
                key: &firing.key,
                variables: variables(firing),
                input: Map::new(),
            })
            .collect();
        let answers = start_all(self.shared, self.intake, &orders).await;
        let now = self.shared.now();
        for (firing, answer) in waiting.iter().cloned().zip(answers) {
            match made_before(answer).map_err(Hindrance::from) {
                Ok(made) => outcome.firings.push(note::started(firing, made.run, now)),
                Err(Hindrance::Fault(error)) => {
                    tracing::warn!(trigger = self.trigger.name, %error, "firing_put_off");
                    outcome.error.clone_from(&self.trigger.last_error);
                    outcome.look_soon(now.after(REST));
                }
                Err(Hindrance::NotNow(why)) => self.put_off(firing, why, now, outcome),
                Err(Hindrance::Never(why)) => {
                    outcome.error = Some(why.clone());
                    outcome.firings.push(note::ended(firing, FiringOutcome::Failed, why));
                }
            }
        }
    }

    /// Tries again until the firing is too old to be made.
    fn put_off(&self, firing: Firing, why: String, now: Timestamp, outcome: &mut Outcome) {
        let meant_for = firing.scheduled_for.unwrap_or(firing.at);
        let until = meant_for.after(self.catch_up().age_max());
        outcome.error = Some(why.clone());
        if now >= until {
            let why = format!("{why}; given up, because its time was {meant_for}");
            outcome.firings.push(note::ended(firing, FiringOutcome::Failed, why));
            return;
        }
        outcome.look_soon(now.after(LOOK).min(until));
        let why = format!("{why}; it is tried again until {until}");
        outcome.firings.push(note::ended(firing, FiringOutcome::Queued, why));
    }
}

impl Outcome {
    fn look_soon(&mut self, at: Timestamp) {
        self.look_at = Some(self.look_at.map_or(at, |set| set.min(at)));
    }
}

/// What the templates of a schedule may ask for.
pub(super) fn variables(firing: &Firing) -> Map<String, Value> {
    let meant_for = firing.scheduled_for.unwrap_or(firing.at);
    Map::from_iter([("_scheduled_for".to_owned(), meant_for.to_string().into())])
}
