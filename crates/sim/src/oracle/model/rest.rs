//! The least rest between two tries, worked out a second time.

use stepwell_core::duration::Interval;
use stepwell_core::id::StepIndex;
use stepwell_core::retry::{Delay, RetryPolicy};
use stepwell_core::step::StepError;
use stepwell_core::time::Timestamp;

use super::{Model, Stage, StepModel, Verdict};
use crate::oracle::made::Made;
use crate::oracle::rules::REST_BETWEEN_TRIES;

impl Model {
    /// Whoever failed may have asked for a rest.
    pub(super) fn ask_for_rest(
        &mut self,
        step: StepIndex,
        error: &StepError,
        at: Timestamp,
        made: &Made,
    ) -> Verdict {
        let (lease, _) = self.lease_of(step)?;
        self.model_mut(step).not_before = made.asked(lease, error).map(|rest| at.after(rest));
        Ok(())
    }

    /// A worker may ask for more than its policy does, and a bus may need more; nobody gets less.
    pub(super) fn step_must_rest(
        &self,
        step: StepIndex,
        at: Timestamp,
        retry_at: Timestamp,
    ) -> Verdict {
        let by_policy = least_rest(&self.spec(step).retry, self.model(step).tries);
        // Where one worker keeps an attempt, it is the whole run that rests.
        let earliest = if self.keeping().is_some() { at } else { at.after(by_policy) };
        let earliest = self.model(step).not_before.map_or(earliest, |asked| asked.max(earliest));
        REST_BETWEEN_TRIES.check(retry_at >= earliest, || {
            format!("step {} is tried again at {retry_at}, due no earlier than {earliest}", step.0)
        })
    }

    pub(super) fn run_must_rest(&self, at: Timestamp, retry_at: Timestamp) -> Verdict {
        let Some(policy) = self.run_retry() else { return Ok(()) };
        let by_policy = at.after(least_rest(policy, self.attempt));
        let held = |step: &&StepModel| step.stage == Stage::Retrying { until: None };
        let asked = self.steps.iter().filter(held).filter_map(|step| step.not_before).max();
        let earliest = asked.map_or(by_policy, |asked| asked.max(by_policy));
        REST_BETWEEN_TRIES.check(retry_at >= earliest, || {
            format!("the run is tried again at {retry_at}, due no earlier than {earliest}")
        })
    }
}

/// The rest after so many tries, if jitter takes all it may.
pub(in crate::oracle) fn least_rest(policy: &RetryPolicy, tries: u32) -> Interval {
    let place = tries.saturating_sub(1) as usize;
    let plain_ms = match &policy.delay {
        Delay::Fixed(rest) => rest.as_millis(),
        Delay::List(rests) => {
            let place = place.min(rests.len().saturating_sub(1));
            rests.get(place).map_or(0, |rest| rest.as_millis())
        }
        Delay::Exponential { first, factor, cap } => {
            let grown = std::iter::successors(Some(first.as_millis()), |rest| {
                Some(rest.saturating_mul(u64::from(*factor)))
            });
            grown.take(place + 1).last().unwrap_or(0).min(cap.as_millis())
        }
    };
    let kept_percent = 100 - u64::from(policy.jitter_percent.min(100));
    Interval::from_millis(plain_ms.saturating_mul(kept_percent) / 100)
}
