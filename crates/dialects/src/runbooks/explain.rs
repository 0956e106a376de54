//! Why a batch is where it is, in words: what is waited for, until when, and what a person can do.

use serde::Serialize;
use stepwell_core::batch::{Batch, BatchMode, BatchStatus, Init, Phase, PhaseStatus, SweepKind};
use stepwell_core::explain::Explanation;
use stepwell_core::time::Timestamp;

use super::offset::Offset;
use super::status;
use crate::moment::Moment;

/// An answer to "why is this batch not moving?".
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BatchExplanation {
    /// the batch in one sentence
    pub summary: String,
    /// what it waits for, the nearest first
    pub waits: Vec<BatchWait>,
}

/// One thing that a batch waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BatchWait {
    /// `work`, `resume`, `advance`, `init`, `members`, `time` or `catch_up`
    pub waiting_for: &'static str,
    /// the phase it concerns
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// the same as a sentence
    pub reason: String,
    /// when it moves by itself at the latest
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Moment>,
    /// what a person can do
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

impl BatchWait {
    fn new(waiting_for: &'static str, reason: impl Into<String>) -> Self {
        Self { waiting_for, phase: None, reason: reason.into(), until: None, advice: None }
    }

    fn phase(mut self, phase: &Phase) -> Self {
        self.phase = Some(phase.name.clone());
        self
    }

    fn until(mut self, at: Option<Timestamp>) -> Self {
        self.until = at.map(Moment);
        self
    }

    fn advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }
}

/// Says why `batch` is where it is at `now`. `init` explains the run that prepares it, if one does.
#[must_use]
pub fn explain(batch: &Batch, init: Option<&Explanation>, now: Timestamp) -> BatchExplanation {
    let mut waits: Vec<BatchWait> = Vec::new();
    waits.extend(sweeping(batch));
    if !batch.status.is_terminal() {
        if batch.paused {
            let wait = BatchWait::new("resume", "the batch is paused: no phase begins");
            waits.push(wait.advice("resume the batch"));
        }
        waits.extend(beginning(batch, init));
        waits.extend(batch.phases.iter().filter_map(|phase| in_phase(batch, phase)));
        waits.extend(next_phase(batch, now));
        waits.extend(catching_up(batch));
    }
    BatchExplanation { summary: summary(batch), waits }
}

fn summary(batch: &Batch) -> String {
    let members = counted(batch.joined - batch.removed, "member");
    let ended = batch.current_phases().filter(|phase| phase.status.is_terminal()).count();
    let progress = format!("{ended} of {} are over", {
        counted(i64::try_from(batch.current_phases().count()).unwrap_or(i64::MAX), "phase")
    });
    let at = batch.ended_at.map_or_else(String::new, |at| format!(" at {at}"));
    match batch.status {
        BatchStatus::Detected => format!("the batch of {members} has not begun"),
        BatchStatus::InitDispatched => format!("the batch of {members} is being prepared"),
        BatchStatus::Active if batch.paused => {
            format!("the batch of {members} is paused; {progress}")
        }
        BatchStatus::Active => format!("the batch of {members} is under way; {progress}"),
        BatchStatus::Completed => format!("the batch was completed{at}; {progress}"),
        BatchStatus::Failed => format!("the batch failed{at}; {progress}"),
        BatchStatus::Cancelled => format!("the batch was cancelled{at}; {progress}"),
    }
}

/// What is being done to every member. It goes on by itself, and everything else waits for it.
fn sweeping(batch: &Batch) -> Option<BatchWait> {
    let sweep = batch.sweeps.front()?;
    let what = match &sweep.kind {
        SweepKind::Open { gate } => match batch.phases.iter().find(|phase| phase.gate == *gate) {
            Some(phase) => format!("phase {:?} is being opened for every member", phase.name),
            None => "a phase is being opened for every member".to_owned(),
        },
        SweepKind::Refresh => "every member is being told of T-0".to_owned(),
        SweepKind::Adopt { version, .. } => {
            format!("every member is being brought to version {version}")
        }
        SweepKind::Pause => "every member is being paused".to_owned(),
        SweepKind::Resume => "every member is being resumed".to_owned(),
        SweepKind::Cancel => "every member is being stopped".to_owned(),
    };
    let more: Vec<&str> = batch.sweeps.iter().skip(1).map(|it| status::sweep(&it.kind)).collect();
    let more = match more.is_empty() {
        true => String::new(),
        false => format!("; then {}", more.join(", ")),
    };
    let reason = format!("{what}; done up to member {}{more}", sweep.after);
    Some(BatchWait::new("work", reason))
}

fn beginning(batch: &Batch, init: Option<&Explanation>) -> Vec<BatchWait> {
    match (batch.status, batch.init) {
        (BatchStatus::Detected, _) if batch.header.mode == BatchMode::Manual => {
            let wait = BatchWait::new("advance", "a person must move a manual batch on");
            vec![wait.advice("advance the batch")]
        }
        (BatchStatus::InitDispatched, Init::Dispatched(_)) => {
            let of_step = |wait: &stepwell_core::explain::Wait| BatchWait {
                advice: wait.advice.clone(),
                ..BatchWait::new("init", format!("init step {:?}: {}", wait.step, wait.reason))
            };
            let waits = init.into_iter().flat_map(|init| &init.waits);
            // Init goes one step at a time: what comes later says nothing that is not known already.
            let first: Vec<BatchWait> = waits.take(1).map(of_step).collect();
            if first.is_empty() {
                return vec![BatchWait::new("init", "the batch is being prepared")];
            }
            first
        }
        _ => Vec::new(),
    }
}

/// A phase that has begun waits for the members that are still in it.
fn in_phase(batch: &Batch, phase: &Phase) -> Option<BatchWait> {
    if phase.status != PhaseStatus::Dispatched || phase.tally.open == 0 {
        return None;
    }
    let (open, all) = (phase.tally.open, phase.tally.members());
    let reason =
        format!("{open} of {} are still in phase {:?}", counted(all, "member"), phase.name);
    let id = batch.id();
    let advice = format!("GET /api/batches/{id}/steps with this phase lists what they wait for");
    Some(BatchWait::new("members", reason).phase(phase).advice(advice))
}

fn next_phase(batch: &Batch, now: Timestamp) -> Option<BatchWait> {
    if batch.status != BatchStatus::Active {
        return None;
    }
    let under_way = batch.phases.iter().any(|phase| phase.status == PhaseStatus::Dispatched);
    let waits = |phase: &&Phase| phase.status == PhaseStatus::Pending;
    let mut pending: Vec<&Phase> = batch.current_phases().filter(waits).collect();
    pending.sort_by_key(|phase| phase.due_at);
    let next = *pending.first()?;
    match next.due_at {
        None if under_way => None,
        None => {
            let reason = format!("phase {:?} begins when a person says so", next.name);
            Some(BatchWait::new("advance", reason).phase(next).advice("advance the batch"))
        }
        Some(due_at) => {
            let offset = Offset::from_minutes(next.offset_minutes).unwrap_or_default();
            let when = if due_at <= now { "has been due since" } else { "is due at" };
            let reason = format!("phase {:?} ({offset}) {when} {due_at}", next.name);
            Some(BatchWait::new("time", reason).phase(next).until(Some(due_at)))
        }
    }
}

/// Every phase is over, but somebody who joined late is still at it.
fn catching_up(batch: &Batch) -> Option<BatchWait> {
    let all_over = batch.phases.iter().all(|phase| phase.status.is_terminal());
    if batch.status != BatchStatus::Active || !all_over || batch.tally.open == 0 {
        return None;
    }
    let open = counted(batch.tally.open, "member");
    Some(BatchWait::new("catch_up", format!("every phase is over, and {open} still catch up")))
}

fn counted(count: i64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}
