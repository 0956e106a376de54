//! When faults have ended: everything that can end does, soon, and without a storm.

use stepwell_connectors::bus::Depth;
use stepwell_core::entry::{Entry, Record};
use stepwell_core::id::{RunId, StepIndex};
use stepwell_core::time::Timestamp;

use super::Oracle;
use super::model::{Model, Stage};
use super::rules::{BUS_EMPTIES, DUE_ROW, EVERY_RUN_ENDS, NO_STORM, NOTHING_FORGOTTEN, Violation};

/// What was about to time out when the faults ended may still do so.
const GRACE_MS: i64 = 90_000;

/// Commits that one step may cost when nothing goes wrong: acks, questions, attempts, wakes.
const COMMITS_A_STEP: u64 = 60;

impl Oracle {
    /// Faults have ended, and a healthy instance has begun.
    pub fn quiet_from(&mut self, at: Timestamp) {
        self.quiet_since = Some((at, self.commits));
    }

    /// Runs that could go on, and have not ended.
    #[must_use]
    pub fn unfinished(&self) -> Vec<RunId> {
        let open = self.runs.iter().filter(|(_, w)| w.model.ended.is_none() && !w.model.is_held());
        open.map(|(id, _)| *id).collect()
    }

    /// The time that was left has passed.
    pub fn all_have_ended(&mut self) {
        let unfinished = self.unfinished();
        let detail = || {
            let id = unfinished[0];
            let stages = self.runs.get(&id).map(|watched| watched.model.stages());
            format!("{} runs have not, such as {id}: {stages:?}", unfinished.len())
        };
        let verdict = EVERY_RUN_ENDS.check(unfinished.is_empty(), detail);
        self.judge(verdict);
        let verdict = self.no_storm();
        self.judge(verdict);
    }

    fn no_storm(&self) -> Result<(), Violation> {
        let Some((_, commits_before)) = self.quiet_since else { return Ok(()) };
        let steps: usize = self.runs.values().map(|watched| watched.model.steps.len()).sum();
        let (spent, allowed) = (self.commits - commits_before, 200 + COMMITS_A_STEP * steps as u64);
        NO_STORM.check(spent <= allowed, || format!("it took {spent} commits for {steps} steps"))
    }

    /// In the quiet phase whatever was dispatched reaches a worker that answers at once. An attempt
    /// that times out all the same, and that no worker ever claimed to have, was forgotten on its way.
    pub(super) fn nothing_forgotten(
        &self,
        model: &Model,
        record: &Record,
    ) -> Result<(), Violation> {
        let Some((since, _)) = self.quiet_since else { return Ok(()) };
        for entry in &record.entries {
            let (Entry::StepTimedOut { step, error } | Entry::AttemptFailed { step, error, .. }) =
                entry
            else {
                continue;
            };
            let late_ms = record.at.as_millis() - since.as_millis();
            let allowed_ms = GRACE_MS + self.skew_max_ms;
            let claimed = model.steps[step.position()].acked;
            let in_vain = matches!(error.code.as_str(), "attempt_timed_out" | "unclaimed");
            let forgotten = in_vain && late_ms > allowed_ms && !claimed;
            NOTHING_FORGOTTEN.check(!forgotten, || forgotten_words(model, *step, record))?;
        }
        Ok(())
    }

    /// Asked once at the end: whatever waits for a moment is found by it.
    pub fn found_by_moment(&mut self, far: Timestamp, found: &[RunId]) {
        for (id, watched) in &self.runs {
            let waits = watched.model.ended.is_none()
                && watched.replayed.wake_at().is_some_and(|at| at <= far);
            if waits && !found.contains(id) {
                let violation = DUE_ROW.broken(format!("run {id} waits, and is not found"));
                self.judge(Err(violation));
                return;
            }
        }
    }

    /// The bus when nothing is left to do.
    pub fn bus_is_empty(&mut self, depths: &[Depth]) {
        let left = depths.iter().find(|d| d.ready + d.delayed + d.in_flight > 0 || d.overflowed);
        self.judge(BUS_EMPTIES.check(left.is_none(), || format!("{left:?} is left")));
    }
}

fn forgotten_words(model: &Model, step: StepIndex, record: &Record) -> String {
    let stage: Option<&Stage> = model.steps.get(step.position()).map(|step| &step.stage);
    format!("step {} of {} timed out at {}: {stage:?}", step.0, model.header.id, record.at)
}
