//! Why a run is where it is, in words.
//!
//! Every wait is a row, so there is always an answer: what is waited for, since when, until when,
//! and what a person could do about it.

mod items;

use serde::Serialize;

use crate::definition::StepSpec;
use crate::id::StepIndex;
use crate::run::{Run, RunStatus};
use crate::step::{LeaseStage, PollTurn, SkipReason, Step, StepStatus};
use crate::time::Timestamp;

/// An answer to "why is this not moving?".
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// the run in one sentence
    pub summary: String,
    /// what each step that has not ended waits for; of a step with many items a few of them, those
    /// that look stuck first
    pub waits: Vec<Wait>,
}

/// What one step waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Wait {
    /// its id
    pub step: String,
    /// where it stands
    pub status: StepStatus,
    /// the stored word: `start`, `steps`, `gate`, `resume`, `items`, `turn`, `worker`, `poll`,
    /// `poll_answer`, `retry` or `run_retry`
    pub waiting_for: &'static str,
    /// the same as a sentence
    pub reason: String,
    /// when it moves by itself at the latest
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// what a person can do
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

impl Run {
    /// The word for what a step waits for; `None` when it has ended.
    #[must_use]
    pub fn waiting_for(&self, step: StepIndex) -> Option<&'static str> {
        let state = &self.steps[step.position()];
        match state.status {
            StepStatus::Waiting if self.is_item(step) => {
                Some(if self.paused { "resume" } else { "turn" })
            }
            StepStatus::Waiting if self.status == RunStatus::Created => Some("start"),
            StepStatus::Waiting | StepStatus::Expanded if self.waits_for_steps(step) => {
                Some("steps")
            }
            StepStatus::Waiting => Some("gate"),
            StepStatus::Expanded if self.waits_for_gate(step) => Some("gate"),
            StepStatus::Expanded => Some("items"),
            StepStatus::Ready => Some("resume"),
            StepStatus::Dispatched | StepStatus::Acked => Some("worker"),
            StepStatus::Polling => Some(match state.poll.map(|poll| poll.turn) {
                Some(PollTurn::Asked) => "poll_answer",
                Some(PollTurn::Held) => "resume",
                Some(PollTurn::Resting) | None => "poll",
            }),
            StepStatus::RetryWait if state.is_held() => Some("run_retry"),
            StepStatus::RetryWait => Some("retry"),
            StepStatus::Succeeded
            | StepStatus::Failed
            | StepStatus::TimedOut
            | StepStatus::Cancelled
            | StepStatus::Skipped => None,
        }
    }

    fn waits_for_steps(&self, step: StepIndex) -> bool {
        self.standing_before(step).iter().any(|before| !self.lets_pass(*before))
    }

    fn waits_for_gate(&self, step: StepIndex) -> bool {
        self.spec(step).gate.as_ref().is_some_and(|gate| !self.gates_open.contains(gate))
    }

    fn lets_pass(&self, before: StepIndex) -> bool {
        let step = &self.steps[before.position()];
        step.status == StepStatus::Succeeded
            || step.skip.is_some_and(SkipReason::lets_pass)
            || (step.status.is_terminal() && self.spec(before).continue_on_failure)
    }
}

/// Says why `run` is where it is at `now`.
#[must_use]
pub fn explain(run: &Run, now: Timestamp) -> Explanation {
    let told = run.own_steps().flat_map(|(index, _)| items::worth_telling(run, index));
    let waits = told.filter_map(|index| Some(wait(run, index, run.waiting_for(index)?, now)));
    Explanation { summary: summary(run, now), waits: waits.collect() }
}

fn summary(run: &Run, now: Timestamp) -> String {
    let ended = run.own_steps().filter(|(_, step)| step.status.is_terminal()).count();
    let progress = format!("{ended} of {} steps have ended", run.header.specs().len());
    match run.status {
        RunStatus::Created => "the run was created and has not been started yet".to_owned(),
        RunStatus::Succeeded => format!("the run succeeded; {progress}"),
        RunStatus::Cancelled => format!("the run was cancelled; {progress}"),
        RunStatus::Failed => match &run.error {
            Some(error) => format!("the run failed: {} ({})", error.message, error.code),
            None => "the run failed".to_owned(),
        },
        RunStatus::Cancelling => {
            format!("the run is being cancelled and waits for what is under way; {progress}")
        }
        RunStatus::RetryWait if run.paused => format!(
            "the run is paused; attempt {} of the whole run failed; resume it to go on",
            run.attempt
        ),
        RunStatus::RetryWait => format!(
            "attempt {} of the whole run failed; the next begins {}",
            run.attempt,
            run.retry_at.map_or_else(|| "when resumed".to_owned(), |at| moment(at, now))
        ),
        RunStatus::Ready | RunStatus::Running if run.paused => {
            format!("the run is paused; {progress}; resume it to go on")
        }
        RunStatus::Ready if run.keeping().is_some() => queued(run, now, &progress),
        RunStatus::Ready => format!("the run is ready; nothing was dispatched yet; {progress}"),
        RunStatus::Running => format!("the run is under way; {progress}"),
    }
}

fn wait(run: &Run, index: StepIndex, word: &'static str, now: Timestamp) -> Wait {
    let (spec, step) = (run.spec(index), &run.steps[index.position()]);
    let (reason, advice) = match word {
        "start" => ("waits for the start of the run".to_owned(), None),
        "steps" => (format!("waits for {}", before(run, index)), None),
        "gate" => {
            let gate = spec.gate.as_deref().unwrap_or_default();
            (format!("stands behind gate {gate:?}, which is closed"), Some("open the gate"))
        }
        "resume" => ("could go on, but the run is paused".to_owned(), Some("resume the run")),
        "items" => (items::progress(run, index), None),
        "turn" => ("waits until fewer items of its step are under way".to_owned(), None),
        "worker" if run.keeping().is_some() => keeper(run, spec, step, now),
        "worker" => worker(&spec.pool, step),
        "poll" => ("the worker's last answer was: not finished yet".to_owned(), None),
        "poll_answer" => ("the worker was asked again whether it is finished".to_owned(), None),
        "run_retry" => ("waits for the next attempt of the whole run".to_owned(), None),
        _ => (retry(step), Some("retry the step to try again at once")),
    };
    let until = match word {
        "run_retry" => run.retry_at,
        "items" => items::next_moment(run, index),
        _ => step.wake_at,
    };
    Wait {
        step: run.step_id(index).into_owned(),
        status: step.status,
        waiting_for: word,
        reason,
        until: until.map(|at| moment(at, now)),
        advice: advice.map(str::to_owned),
    }
}

fn worker(pool: &str, step: &Step) -> (String, Option<&'static str>) {
    let attempt = step.attempt;
    let taken = step.lease.is_some_and(|lease| lease.stage == LeaseStage::Acked);
    if taken {
        return (format!("attempt {attempt} is with a worker of pool {pool:?}"), None);
    }
    (
        format!("attempt {attempt} is in pool {pool:?}; no worker has acknowledged it yet"),
        Some("see that a worker of this pool is running"),
    )
}

/// The message of an attempt is in a queue, and the run with it.
fn queued(run: &Run, now: Timestamp, progress: &str) -> String {
    let since = run.steps.iter().filter(|step| step.is_in_flight()).find_map(|it| it.dispatched_at);
    let since = since.map_or_else(String::new, |at| format!(" since {}", ago(at, now)));
    let (attempt, attempts_max) = (run.attempt, run.attempts_max());
    format!("attempt {attempt} of {attempts_max} waits for a worker{since}; {progress}")
}

/// Who has the step where one worker keeps an attempt, and what becomes of it in silence.
fn keeper(
    run: &Run,
    spec: &StepSpec,
    step: &Step,
    now: Timestamp,
) -> (String, Option<&'static str>) {
    let (attempt, pool) = (run.attempt, &spec.pool);
    let since = step.dispatched_at.map_or_else(|| "now".to_owned(), |at| ago(at, now));
    if step.status == StepStatus::Acked {
        let deadline = step.lease.and_then(|lease| lease.deadline);
        let extends = match deadline.map(|deadline| moment(deadline, now)) {
            None => "every sign of life extends its lease".to_owned(),
            Some(end) => {
                let limit = format!("the {} that the step may take end {end}", spec.timeout);
                format!("every sign of life extends its lease, but {limit}")
            }
        };
        let has = format!("the worker of pool {pool:?} that has attempt {attempt} of the run");
        return (format!("{has} is at it; {extends}"), None);
    }
    (
        format!(
            "the message of attempt {attempt} waits for a worker of pool {pool:?} since {since}"
        ),
        Some("see that a worker of this pool is running"),
    )
}

fn retry(step: &Step) -> String {
    let attempt = step.attempt;
    match &step.error {
        Some(error) => format!("attempt {attempt} failed: {} ({})", error.message, error.code),
        None => format!("attempt {attempt} was given up"),
    }
}

fn before(run: &Run, index: StepIndex) -> String {
    let names: Vec<String> = run
        .standing_before(index)
        .iter()
        .filter(|before| !run.lets_pass(**before))
        .map(|before| format!("{:?}", run.spec(*before).id))
        .collect();
    names.join(", ")
}

fn moment(at: Timestamp, now: Timestamp) -> String {
    if at <= now {
        format!("now (due since {at})")
    } else {
        format!("in {} ({at})", roughly(at.since(now).as_millis()))
    }
}

fn ago(at: Timestamp, now: Timestamp) -> String {
    format!("{at} ({} ago)", roughly(now.since(at).as_millis()))
}

/// A time as a person would say it: the two largest units that matter.
fn roughly(millis: u64) -> String {
    const UNITS: [(&str, u64); 4] = [("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)];
    // Somebody who waits does not want to come too early.
    let seconds = millis.div_ceil(1000);
    let largest = UNITS.iter().position(|(_, unit)| seconds >= *unit).unwrap_or(UNITS.len() - 1);
    let (name, unit) = UNITS[largest];
    let (whole, rest) = (seconds / unit, seconds % unit);
    match UNITS.get(largest + 1) {
        Some((small, part)) if rest / part > 0 => format!("{whole}{name} {}{small}", rest / part),
        Some(_) | None => format!("{whole}{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::roughly;

    #[test]
    fn a_wait_is_told_in_the_two_largest_units() {
        let told: Vec<String> =
            [400, 59_821, 60_000, 872_000, 93_600_000].into_iter().map(roughly).collect();
        assert_eq!(told, ["1s", "1m", "1m", "14m 32s", "1d 2h"]);
    }
}
