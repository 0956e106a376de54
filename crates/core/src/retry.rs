//! Retry policies: how often, and how long after.
//!
//! Jitter is drawn from the run's own id, not from a random source: the same run waits the same
//! time however often the decision is repeated, and different runs spread out.

use serde::{Deserialize, Serialize};

use crate::duration::Interval;
use crate::id::RunId;

/// How often a step, or a whole run, is tried, and how long it rests in between.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryPolicy {
    /// attempts in all, the first included; at least 1
    pub attempts_max: u32,
    /// the rest after a failed attempt
    pub delay: Delay,
    /// how far a delay may be moved either way, in percent of itself
    pub jitter_percent: u8,
}

/// The rest after attempt 1, 2, 3 …
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Delay {
    /// always the same; zero means at once
    Fixed(Interval),
    /// one for each attempt; the last one repeats
    List(Vec<Interval>),
    /// `first`, then `factor` times as long each time, up to `cap`
    Exponential {
        /// after attempt 1
        first: Interval,
        /// growth from one delay to the next
        factor: u32,
        /// never longer than this
        cap: Interval,
    },
}

impl RetryPolicy {
    /// One attempt, no retry.
    #[must_use]
    pub fn once() -> Self {
        Self::fixed(1, Interval::from_millis(0))
    }

    /// A number of attempts with the same rest between them.
    #[must_use]
    pub fn fixed(attempts_max: u32, interval: Interval) -> Self {
        Self { attempts_max, delay: Delay::Fixed(interval), jitter_percent: 0 }
    }

    /// The rest after `attempt` (counted from 1) of something in `run`; `salt` tells steps apart.
    #[must_use]
    pub fn delay_after(&self, attempt: u32, run: RunId, salt: u32) -> Interval {
        let plain = match &self.delay {
            Delay::Fixed(interval) => *interval,
            Delay::List(list) => {
                let position = (attempt.max(1) - 1) as usize;
                list.get(position).or(list.last()).copied().unwrap_or(Interval::from_millis(0))
            }
            Delay::Exponential { first, factor, cap } => {
                exponential(*first, *factor, *cap, attempt)
            }
        };
        jittered(plain, self.jitter_percent, run, salt, attempt)
    }
}

fn exponential(first: Interval, factor: u32, cap: Interval, attempt: u32) -> Interval {
    let growth = u64::from(factor).saturating_pow(attempt.max(1) - 1);
    Interval::from_millis(first.as_millis().saturating_mul(growth).min(cap.as_millis()))
}

fn jittered(plain: Interval, percent: u8, run: RunId, salt: u32, attempt: u32) -> Interval {
    let width = plain.as_millis().saturating_mul(u64::from(percent.min(100))) / 100;
    if width == 0 {
        return plain;
    }
    let mut seed = [0u8; 24];
    seed[..16].copy_from_slice(run.0.as_bytes());
    seed[16..20].copy_from_slice(&salt.to_be_bytes());
    seed[20..].copy_from_slice(&attempt.to_be_bytes());
    let draw = u64::from(crc32fast::hash(&seed)) % (2 * width + 1);
    Interval::from_millis(plain.as_millis() - width + draw)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(number: u128) -> RunId {
        RunId(uuid::Uuid::from_u128(number))
    }

    fn seconds(policy: &RetryPolicy, attempts: std::ops::RangeInclusive<u32>) -> Vec<u64> {
        attempts.map(|attempt| policy.delay_after(attempt, run(1), 0).as_millis() / 1000).collect()
    }

    // X-154, C-034: one policy object carries a fixed interval, a list of delays or an exponential with a cap.
    #[test]
    fn a_list_of_delays_repeats_its_last() {
        let list = [30, 120, 600, 1800].map(Interval::from_secs).to_vec();
        let policy = RetryPolicy { attempts_max: 9, delay: Delay::List(list), jitter_percent: 0 };
        assert_eq!(seconds(&policy, 1..=6), [30, 120, 600, 1800, 1800, 1800]);
    }

    //
    #[test]
    fn an_exponential_delay_stops_at_its_cap_and_never_overflows() {
        let delay = Delay::Exponential {
            first: Interval::from_secs(1),
            factor: 3,
            cap: Interval::from_secs(60),
        };
        let policy = RetryPolicy { attempts_max: u32::MAX, delay, jitter_percent: 0 };
        assert_eq!(seconds(&policy, 1..=6), [1, 3, 9, 27, 60, 60]);
        assert_eq!(policy.delay_after(u32::MAX, run(1), 0), Interval::from_secs(60));
    }

    #[test]
    fn jitter_is_the_same_for_the_same_run_and_stays_within_its_bounds() {
        let policy = RetryPolicy {
            attempts_max: 5,
            delay: Delay::Fixed(Interval::from_secs(100)),
            jitter_percent: 20,
        };
        let delays: Vec<u64> =
            (0..200).map(|n| policy.delay_after(1, run(n), 3).as_millis()).collect();
        assert!(delays.iter().all(|delay| (80_000..=120_000).contains(delay)));
        assert!(delays.iter().any(|delay| *delay != delays[0]), "different runs spread out");
        assert_eq!(policy.delay_after(1, run(7), 3).as_millis(), delays[7], "repeatable");
    }
}
