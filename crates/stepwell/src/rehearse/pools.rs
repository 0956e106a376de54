//! How many workers a pool needs: what is asked of it in its busiest minute, and how much at once.

use std::collections::BTreeMap;

use serde::Serialize;
use stepwell_dialects::runbooks::Runbook;

use super::ledger::Job;
use super::summary::Scale;

const MINUTE_MS: i64 = 60_000;

/// What was asked of a pool of workers.
#[derive(Debug, Serialize)]
pub(super) struct PoolSummary {
    pub(super) worker_id: String,
    /// attempts and questions
    pub(super) jobs: usize,
    /// the most jobs that were under way at one moment
    pub(super) at_once_max: usize,
    /// when the minute began in which most jobs did
    pub(super) busiest_minute_s: i64,
    /// how many
    pub(super) jobs_in_busiest_minute: usize,
    /// what all its workers together spent on jobs
    pub(super) busy_s: i64,
}

/// What was asked of each pool, by name.
pub(super) fn pools(runbook: &Runbook, jobs: &[Job], scale: Scale) -> Vec<PoolSummary> {
    let mut by_pool: BTreeMap<&str, Vec<&Job>> = BTreeMap::new();
    for job in jobs {
        by_pool.entry(&job.place.step(runbook).worker_id).or_default().push(job);
    }
    by_pool.into_iter().map(|(pool, jobs)| pool_summary(pool, &jobs, scale)).collect()
}

fn pool_summary(pool: &str, jobs: &[&Job], scale: Scale) -> PoolSummary {
    let mut minutes: BTreeMap<i64, usize> = BTreeMap::new();
    for job in jobs {
        *minutes.entry(job.begun_ms.div_euclid(MINUTE_MS)).or_default() += 1;
    }
    // Of equal minutes the first.
    let busiest = minutes.into_iter().rev().max_by_key(|(_, count)| *count).unwrap_or_default();
    PoolSummary {
        worker_id: pool.to_owned(),
        jobs: jobs.len(),
        at_once_max: at_once_max(jobs),
        busiest_minute_s: scale.seconds(busiest.0 * MINUTE_MS),
        jobs_in_busiest_minute: busiest.1,
        busy_s: jobs.iter().map(|job| job.ended_ms - job.begun_ms).sum::<i64>() / 1_000,
    }
}

/// A worker that ends a job can begin another in the same moment.
fn at_once_max(jobs: &[&Job]) -> usize {
    let ends = jobs.iter().map(|job| (job.ended_ms, -1_i64));
    let begins = jobs.iter().map(|job| (job.begun_ms, 1_i64));
    let mut moments: Vec<(i64, i64)> = ends.chain(begins).collect();
    moments.sort_unstable();
    let under_way = moments.into_iter().scan(0, |count, (_, change)| {
        *count += change;
        Some(*count)
    });
    usize::try_from(under_way.max().unwrap_or(0)).unwrap_or(0)
}
