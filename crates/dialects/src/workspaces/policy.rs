//! What jobs are granted: attempts, signs of life, credits; and what one workspace agrees for itself.

use serde::Serialize;
use serde_json::Value;
use stepwell_core::credit::Restore;
use stepwell_core::duration::Interval;
use stepwell_core::retry::{Delay, RetryPolicy};
use stepwell_core::terms::Keeping;

use crate::fields::Field;
use crate::problem::Report;
use crate::rejection::{self, Rejection};

/// Attempts of a job, unless it says otherwise (C-009).
pub const ATTEMPTS_DEFAULT: u32 = 5;

/// The most attempts that a job may ask for.
pub const ATTEMPTS_MAX: u32 = 100;

/// The rest after attempt 1, 2, 3, and 4 and later, in seconds (C-034).
pub const DELAYS_SECS: [u64; 4] = [30, 120, 600, 1_800];

/// How far a rest is moved either way, so that jobs that failed together do not come back together.
const JITTER_PERCENT: u8 = 10;

/// What every job is granted, unless its request or its workflow says otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defaults {
    /// attempts, and the rest between them
    pub retry: RetryPolicy,
    /// how long a silent worker keeps a job, and how long a message may wait for a worker
    pub keeping: Keeping,
    /// when spent credits come back
    pub restore: Restore,
    /// credits are taken from the workspace's account; otherwise they are only counted
    pub charged: bool,
}

impl Default for Defaults {
    fn default() -> Self {
        let delays = DELAYS_SECS.map(Interval::from_secs).to_vec();
        Self {
            retry: RetryPolicy {
                attempts_max: ATTEMPTS_DEFAULT,
                delay: Delay::List(delays),
                jitter_percent: JITTER_PERCENT,
            },
            keeping: Keeping {
                lease: Interval::from_secs(5 * 60),
                unclaimed: Interval::from_secs(4 * 24 * 60 * 60),
            },
            restore: Restore::Never,
            charged: false,
        }
    }
}

/// What one workspace agrees for itself. Empty fields follow the settings of the installation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WorkspacePolicy {
    /// how long jobs that are completed or canceled are kept
    pub keep: Option<Interval>,
    /// how long dead jobs are kept
    pub keep_dead: Option<Interval>,
    /// when spent credits come back
    pub restore: Option<Restore>,
    /// jobs that have not ended, at a time
    pub jobs_open_max: Option<u32>,
}

/// The words for when spent credits come back.
pub const RESTORE: [(&str, Restore); 3] =
    [("never", Restore::Never), ("failed", Restore::Failed), ("unfinished", Restore::Unfinished)];

/// Shorter than this, a job would be gone before anybody has read how it ended.
const KEEP_MIN: Interval = Interval::from_secs(60);

/// Reads the policy of a workspace. What it does not say follows the installation.
///
/// # Errors
///
/// Every problem of its fields at once.
pub fn read(body: &[u8]) -> Result<WorkspacePolicy, Rejection> {
    let value = rejection::parse(body)?;
    let report = Report::new();
    let policy = Field::root(&value, &report).fields().map(|mut fields| {
        let keep = fields.optional("keep").and_then(|field| keep(&field));
        let keep_dead = fields.optional("keep_dead").and_then(|field| self::keep(&field));
        let restore = fields.optional("restore").and_then(|field| field.word(&RESTORE));
        let jobs_open_max = fields.optional_integer("jobs_open_max", 1..=u32::MAX);
        fields.finish();
        WorkspacePolicy { keep, keep_dead, restore, jobs_open_max }
    });
    report.finish(policy).map_err(Rejection::invalid)
}

fn keep(field: &Field<'_, Value>) -> Option<Interval> {
    let interval = field.interval()?;
    if interval >= KEEP_MIN {
        return Some(interval);
    }
    let problem = field
        .problem("out_of_range", format!("{interval} is out of range"))
        .help(format!("use {KEEP_MIN} to {}", Interval::MAX));
    field.report(problem);
    None
}
