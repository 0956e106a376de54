//! A second opinion: the life of a run's steps, told from its history alone.
//!
//! Written apart from `core::decide` and smaller than it, on purpose. It is given facts, one after
//! the other, and says which rule a fact breaks; it never says what should happen next.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use serde_json::Value;
use stepwell_core::definition::StepSpec;
use stepwell_core::duration::Interval;
use stepwell_core::entry::{Entry, OperationKind, Record};
use stepwell_core::id::{LeaseId, StepIndex};
use stepwell_core::run::{Header, RunStatus};
use stepwell_core::step::SkipReason;
use stepwell_core::time::Timestamp;

mod given;
mod items;
mod kept;
mod order;
mod rest;

pub(super) use rest::least_rest;

use super::made::Made;
use super::rules::{
    ATTEMPTS_GAPLESS, CANCEL_STARTS_NOTHING, LIVE_LEASE_COUNTS, MOMENTS_IN_RANGE, NEVER_EARLY,
    ORDER_OF_STEPS, OUTCOME_AS_MODELED, PAUSE_STARTS_NOTHING, RESULT_WAS_MADE, TERMINAL_STAYS,
    TIMED_OUT_WAS_LIVE, TRIES_BOUNDED, UNDO_ONCE, Violation,
};

/// Whether a fact is possible.
pub(crate) type Verdict = Result<(), Violation>;

/// A run as its history tells it.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) header: Arc<Header>,
    pub(crate) steps: Vec<StepModel>,
    pub(crate) ended: Option<RunStatus>,
    pub(crate) paused: bool,
    pub(crate) cancelled: bool,
    pub(crate) last_at: Option<Timestamp>,
    started: bool,
    /// a step failed for good in a workflow that then cancels the rest
    rest_is_lost: bool,
    gates: BTreeSet<String>,
    attempt: u32,
    /// attempts of the whole run that a worker has taken
    begun: u32,
    /// the message of the attempt waits for a worker
    queued: bool,
    retry_at: Option<Timestamp>,
    /// what a person said about a step in the record that is being read
    operated: Option<(StepIndex, OperationKind)>,
    /// the record that is being read starts the run
    starting: bool,
    /// the record that is being read makes the workflow longer
    adopting: bool,
    /// the steps that were expanded, with the positions of their items
    items: Vec<(StepIndex, Range<usize>)>,
    /// the variables that were set
    outputs: BTreeMap<String, Value>,
}

/// A step as its history tells it.
#[derive(Clone, Debug, Default)]
pub(crate) struct StepModel {
    pub(crate) stage: Stage,
    pub(crate) attempt: u32,
    /// a worker said that it has the newest attempt
    pub(crate) acked: bool,
    /// when whoever keeps the newest attempt must be done
    deadline: Option<Timestamp>,
    /// its worker asked for no other attempt before
    not_before: Option<Timestamp>,
    tries: u32,
    polling_since: Option<Timestamp>,
    undone: bool,
    /// what an item's worker returned
    result: Option<Value>,
}

/// Where a step stands, in fewer words than the kernel has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stage {
    #[default]
    Waiting,
    Ready,
    /// its items are steps of their own
    Expanded,
    /// a directive is out; given up at `until`
    Leased {
        lease: LeaseId,
        until: Timestamp,
    },
    /// between two questions of a poll
    Resting {
        until: Timestamp,
    },
    /// between two attempts; without a moment it waits for the whole run
    Retrying {
        until: Option<Timestamp>,
    },
    Succeeded,
    Failed,
    Cancelled,
    Skipped {
        lets_pass: bool,
    },
}

impl Stage {
    pub(crate) fn has_ended(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Cancelled | Self::Skipped { .. })
    }
}

impl Model {
    pub(crate) fn new(header: Arc<Header>) -> Self {
        let steps = vec![StepModel::default(); header.specs().len()];
        Self {
            header,
            steps,
            ended: None,
            paused: false,
            cancelled: false,
            last_at: None,
            started: false,
            rest_is_lost: false,
            gates: BTreeSet::new(),
            attempt: 1,
            begun: 0,
            queued: true,
            retry_at: None,
            operated: None,
            starting: false,
            adopting: false,
            items: Vec::new(),
            outputs: BTreeMap::new(),
        }
    }

    /// Reads one record of the history.
    pub(crate) fn read(&mut self, record: &Record, made: &Made) -> Verdict {
        MOMENTS_IN_RANGE.check(self.last_at.is_none_or(|last| last <= record.at), || {
            format!("version {} is dated before the one it follows", record.version)
        })?;
        self.last_at = Some(record.at);
        self.operated = None;
        self.starting = false;
        self.adopting = false;
        for entry in &record.entries {
            TERMINAL_STAYS.check(self.ended.is_none(), || {
                format!("{} follows the end of the run", entry.word())
            })?;
            self.read_entry(entry, record.at, made)?;
        }
        for step in record.entries.iter().filter_map(Entry::step) {
            self.time_holds(step)?;
        }
        self.ended_exactly_when_all_steps_have()
    }

    fn read_entry(&mut self, entry: &Entry, at: Timestamp, made: &Made) -> Verdict {
        match entry.step() {
            Some(step) => {
                TERMINAL_STAYS.check(self.may_follow_end(step, entry), || {
                    format!("{} follows the end of step {}", entry.word(), step.0)
                })?;
                self.read_step(step, entry, at, made)
            }
            None => self.read_run(entry, at),
        }
    }

    fn may_follow_end(&self, step: StepIndex, entry: &Entry) -> bool {
        !self.stage(step).has_ended() || matches!(entry, Entry::CompensationStarted { .. })
    }

    fn read_run(&mut self, entry: &Entry, at: Timestamp) -> Verdict {
        match entry {
            Entry::RunStarted => {
                ORDER_OF_STEPS.check(!self.started, || "a run started twice".to_owned())?;
                self.started = true;
                self.starting = true;
            }
            Entry::OutputsCarried { outputs } => self.carry_outputs(outputs),
            Entry::InputRefreshed { input, special } => {
                self.refresh(input.as_deref(), special.as_deref());
            }
            Entry::WorkflowAdopted { workflow } => self.adopt(workflow)?,
            Entry::GateOpened { gate } => drop(self.gates.insert(gate.clone())),
            Entry::RunPaused { .. } => self.paused = true,
            Entry::RunResumed { .. } => self.paused = false,
            Entry::CancelRequested { .. } => {
                self.cancelled = true;
                self.retry_at = None;
            }
            Entry::RunRetryScheduled { retry_at, .. } => {
                MOMENTS_IN_RANGE
                    .check(*retry_at >= at, || "a retry lies in the past".to_owned())?;
                self.run_must_rest(at, *retry_at)?;
                self.retry_at = Some(*retry_at);
            }
            Entry::RunRetried { attempt } => self.run_retried(*attempt, at)?,
            Entry::RunSucceeded => self.end(RunStatus::Succeeded)?,
            Entry::RunFailed { .. } => self.end(RunStatus::Failed)?,
            Entry::RunCancelled => self.end(RunStatus::Cancelled)?,
            _ => {}
        }
        Ok(())
    }

    fn run_retried(&mut self, attempt: u32, at: Timestamp) -> Verdict {
        let is_due = |due: Timestamp| due <= at || self.is_retried_by_person();
        NEVER_EARLY.check(self.retry_at.is_some_and(is_due), || {
            format!("the run was retried at {at}, due {:?}", self.retry_at)
        })?;
        ATTEMPTS_GAPLESS.check(attempt == self.attempt + 1, || {
            format!("attempt {attempt} of the run follows attempt {}", self.attempt)
        })?;
        let allowed = self.run_retry().map_or(1, |policy| policy.attempts_max);
        TRIES_BOUNDED.check(attempt <= allowed, || format!("attempt {attempt} of {allowed}"))?;
        self.attempt = attempt;
        self.queued = true;
        self.retry_at = None;
        for step in &mut self.steps {
            if step.stage == (Stage::Retrying { until: None }) {
                step.tries = 0;
                step.stage = Stage::Retrying { until: Some(at) };
            }
        }
        Ok(())
    }

    fn read_step(&mut self, step: StepIndex, entry: &Entry, at: Timestamp, made: &Made) -> Verdict {
        match entry {
            Entry::StepCarried { result, .. } => {
                self.set_outputs(step, Some(result));
                self.set(step, Stage::Succeeded);
            }
            Entry::StepExpanded { items, .. } => self.expanded(step, items, at)?,
            Entry::StepGathered { .. } => self.gathered(step)?,
            Entry::StepReadied { .. } => {
                self.must_be_startable(step, at)?;
                PAUSE_STARTS_NOTHING.check(self.paused, || "ready, but not paused".to_owned())?;
                self.set(step, Stage::Ready);
            }
            Entry::StepDispatched { attempt, lease, expires_at, .. } => {
                self.dispatched(step, *attempt, at)?;
                self.set(step, Stage::Leased { lease: *lease, until: *expires_at });
            }
            Entry::LeaseExtended { expires_at, .. } => self.extended(step, *expires_at, at)?,
            Entry::AttemptPublished { .. } => drop(self.lease_of(step)?),
            Entry::StepAcked { .. } => self.taken(step, at)?,
            Entry::StepPolling { next_at, .. } => {
                let (lease, until) = self.lease_of(step)?;
                let lost = self.model(step).polling_since.is_some();
                RESULT_WAS_MADE.check(made.unfinished(lease) || lost || until <= at, || {
                    format!("nobody said that step {} is unfinished", step.0)
                })?;
                self.model_mut(step).polling_since.get_or_insert(at);
                self.set(step, Stage::Resting { until: *next_at });
            }
            Entry::PollDispatched { lease, wake_at, .. } => {
                self.must_be_due(step, at)?;
                self.must_be_free()?;
                self.set(step, Stage::Leased { lease: *lease, until: *wake_at });
            }
            Entry::PollHeld { wake_at, .. } => {
                self.must_be_due(step, at)?;
                PAUSE_STARTS_NOTHING.check(self.paused, || "held, but not paused".to_owned())?;
                // What is due when the run is resumed is due already.
                let _ = wake_at;
                self.set(step, Stage::Resting { until: at });
            }
            Entry::CompensationStarted { .. } => self.undone(step)?,
            Entry::StepOperated { operation, .. } => {
                self.operated = Some((step, *operation));
                if *operation == OperationKind::Retry {
                    let model = self.model_mut(step);
                    (model.tries, model.polling_since) = (0, None);
                    self.set(step, Stage::Retrying { until: Some(at) });
                }
            }
            _ => self.read_end(step, entry, at, made)?,
        }
        Ok(())
    }

    fn read_end(&mut self, step: StepIndex, entry: &Entry, at: Timestamp, made: &Made) -> Verdict {
        match entry {
            Entry::AttemptFailed { error, retry_at, counted, .. } => {
                self.attempt_ended(step, error, at, made)?;
                self.ask_for_rest(step, error, at, made)?;
                self.step_must_rest(step, at, *retry_at)?;
                let model = self.model_mut(step);
                model.polling_since = None;
                if !counted {
                    model.tries -= 1;
                }
                self.set(step, Stage::Retrying { until: Some(*retry_at) });
            }
            Entry::StepHeld { error, .. } => {
                self.attempt_ended(step, error, at, made)?;
                self.ask_for_rest(step, error, at, made)?;
                self.model_mut(step).polling_since = None;
                self.set(step, Stage::Retrying { until: None });
            }
            Entry::StepSucceeded { result, .. } => {
                if self.operated != Some((step, OperationKind::MarkSucceeded)) {
                    let (lease, _) = self.lease_of(step)?;
                    RESULT_WAS_MADE.check(made.succeeded(lease, result), || {
                        format!("{result} was not made for lease {lease} of step {}", step.0)
                    })?;
                }
                self.set_outputs(step, Some(result));
                self.set(step, Stage::Succeeded);
            }
            Entry::StepFailed { error, .. } => {
                match error.code.as_str() {
                    "item_failed" => self.failed_with_items(step)?,
                    "template_unresolved" | "for_each_not_a_list" | "for_each_too_many" => {
                        self.must_be_startable(step, at)?;
                    }
                    "condition_failed" => {
                        self.must_be_startable(step, at)?;
                        self.must_be_judged(step, None)?;
                    }
                    _ => self.attempt_ended(step, error, at, made)?,
                }
                self.failed(step);
            }
            Entry::StepTimedOut { error, .. } => {
                self.attempt_ended(step, error, at, made)?;
                self.failed(step);
            }
            Entry::StepCancelled { .. } => {
                let asked = self.cancelled || self.rest_is_lost || self.step_was_taken_over(step);
                OUTCOME_AS_MODELED
                    .check(asked, || format!("step {} was cancelled, and nobody asked", step.0))?;
                self.set(step, Stage::Cancelled);
            }
            Entry::StepSkipped { reason, .. } => self.skipped(step, *reason, at)?,
            _ => {}
        }
        Ok(())
    }

    /// The attempt, or polling as a whole, ended without success: who says so?
    fn attempt_ended(
        &self,
        step: StepIndex,
        error: &stepwell_core::step::StepError,
        at: Timestamp,
        made: &Made,
    ) -> Verdict {
        if error.code == "poll_timed_out" {
            let patience = self.spec(step).poll.map_or(Interval::ZERO, |poll| poll.timeout);
            let give_up_at = self.model(step).polling_since.map(|since| since.after(patience));
            return NEVER_EARLY.check(give_up_at.is_some_and(|due| due <= at), || {
                format!("polling of step {} was given up at {at}, due {give_up_at:?}", step.0)
            });
        }
        let (lease, until) = self.lease_of(step)?;
        if error.code == "attempt_timed_out" {
            let sound = until <= at && self.is_out_of_time(step, until);
            return TIMED_OUT_WAS_LIVE
                .check(sound, || format!("step {} timed out at {at}, due {until}", step.0));
        }
        if let Some(verdict) = self.ended_by_silence(step, error, until, at) {
            return verdict;
        }
        let unpolled = error.code == "poll_not_configured" && made.unfinished(lease);
        RESULT_WAS_MADE.check(unpolled || made.failed(lease, error), || {
            format!("failure {:?} was not made for lease {lease} of step {}", error, step.0)
        })
    }

    fn dispatched(&mut self, step: StepIndex, attempt: u32, at: Timestamp) -> Verdict {
        self.must_be_startable(step, at)?;
        self.must_be_free()?;
        self.must_be_done_itself(step)?;
        let allowed = self.tries_max(step);
        let model = self.model_mut(step);
        ATTEMPTS_GAPLESS.check(attempt == model.attempt + 1, || {
            format!("attempt {attempt} of step {} follows attempt {}", step.0, model.attempt)
        })?;
        model.attempt = attempt;
        model.acked = false;
        (model.deadline, model.not_before) = (None, None);
        model.tries += 1;
        model.polling_since = None;
        let tries = model.tries;
        TRIES_BOUNDED.check(tries <= allowed, || {
            format!("try {tries} of step {} where {allowed} are allowed", step.0)
        })
    }

    /// Its turn has come: from the start, after a pause, or after a rest that is over.
    fn must_be_startable(&self, step: StepIndex, at: Timestamp) -> Verdict {
        match self.stage(step) {
            Stage::Waiting if self.is_item(step) => self.item_must_be_next(step),
            Stage::Waiting => ORDER_OF_STEPS.check(self.started && self.may_start(step), || {
                format!("step {} started out of turn", step.0)
            }),
            Stage::Ready => Ok(()),
            Stage::Retrying { until } => NEVER_EARLY
                .check(until.is_some_and(|until| until <= at), || {
                    format!("step {} was tried again at {at}, due {until:?}", step.0)
                }),
            stage => {
                Err(LIVE_LEASE_COUNTS
                    .broken(format!("step {} started while it was {stage:?}", step.0)))
            }
        }
    }

    fn must_be_due(&self, step: StepIndex, at: Timestamp) -> Verdict {
        match self.stage(step) {
            Stage::Resting { until } | Stage::Leased { until, .. } => NEVER_EARLY
                .check(until <= at, || {
                    format!("step {} was asked again at {at}, due {until}", step.0)
                }),
            stage => {
                Err(LIVE_LEASE_COUNTS.broken(format!("step {} polls while {stage:?}", step.0)))
            }
        }
    }

    fn must_be_free(&self) -> Verdict {
        CANCEL_STARTS_NOTHING.check(!self.cancelled, || "an attempt began".to_owned())?;
        PAUSE_STARTS_NOTHING.check(!self.paused, || "an attempt began".to_owned())
    }

    fn lease_of(&self, step: StepIndex) -> Result<(LeaseId, Timestamp), Violation> {
        match self.stage(step) {
            Stage::Leased { lease, until } => Ok((lease, until)),
            stage => Err(LIVE_LEASE_COUNTS
                .broken(format!("step {} was answered while it was {stage:?}", step.0))),
        }
    }

    fn undone(&mut self, step: StepIndex) -> Verdict {
        let sound = self.stage(step) == Stage::Failed
            && !self.model(step).undone
            && self.spec(step).on_failure.is_some()
            && !self.cancelled;
        UNDO_ONCE.check(sound, || format!("step {} was undone", step.0))?;
        self.model_mut(step).undone = true;
        Ok(())
    }

    fn failed(&mut self, step: StepIndex) {
        self.rest_is_lost |= self.cancels_rest() && !self.spec(step).continue_on_failure;
        self.set(step, Stage::Failed);
    }

    fn skipped(&mut self, step: StepIndex, reason: SkipReason, at: Timestamp) -> Verdict {
        let unbegun = matches!(self.stage(step), Stage::Waiting | Stage::Expanded);
        let sound = match reason {
            SkipReason::Operator => self.operated == Some((step, OperationKind::Skip)),
            SkipReason::Dependency => unbegun && self.never_starts(self.own(step)),
            SkipReason::Superseded => self.may_be_passed_over(step),
            SkipReason::OtherItem => unbegun && self.is_lost_with_another(step),
            SkipReason::Condition => {
                self.must_be_startable(step, at)?;
                self.must_be_judged(step, Some(false))?;
                true
            }
        };
        ORDER_OF_STEPS.check(sound, || format!("step {} was skipped without reason", step.0))?;
        let lets_pass =
            matches!(reason, SkipReason::Operator | SkipReason::Condition | SkipReason::Superseded);
        self.set(step, Stage::Skipped { lets_pass });
        Ok(())
    }

    pub(crate) fn stages(&self) -> Vec<Stage> {
        self.steps.iter().map(|step| step.stage).collect()
    }

    /// It waits for a person: it is paused, or everything left stands behind a closed gate.
    pub(crate) fn is_held(&self) -> bool {
        let waits_for_gate = |step: StepIndex| match self.stage(step) {
            Stage::Waiting => true,
            // Its items may have been taken over from another run before its turn.
            Stage::Expanded => !self.may_start(step),
            stage => stage.has_ended(),
        };
        self.paused || self.indices().all(waits_for_gate)
    }

    fn indices(&self) -> impl Iterator<Item = StepIndex> + use<> {
        (0..self.steps.len()).map(StepIndex::at)
    }

    fn spec(&self, step: StepIndex) -> &StepSpec {
        &self.header.specs()[self.own(step).position()]
    }

    fn model(&self, step: StepIndex) -> &StepModel {
        &self.steps[step.position()]
    }

    fn model_mut(&mut self, step: StepIndex) -> &mut StepModel {
        &mut self.steps[step.position()]
    }

    fn stage(&self, step: StepIndex) -> Stage {
        self.model(step).stage
    }

    fn set(&mut self, step: StepIndex, stage: Stage) {
        self.model_mut(step).stage = stage;
    }
}
