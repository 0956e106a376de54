//! What a rehearsal is told.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use stepwell_core::duration::Interval;

/// Members that are made up if nobody names any.
pub(super) const MEMBERS_DEFAULT: u32 = 100;

/// What `rehearse` is told.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    stepwell rehearse mailbox-migration.yaml --members 2000 --failure-rate 0.01 --svg timeline.svg\n  \
    stepwell rehearse mailbox-migration.yaml wave-7.csv --failure-rate move-mailbox=0.05 \
    --duration move-mailbox=4m\n  \
    stepwell rehearse mailbox-migration.yaml --members 500 --workers worker-02=20\n\n\
    A step is named as in the runbook, or as phase/step where several have the same name; init \
    steps\n\
    are init/step, and steps of a rollback are rollback/step. Every attempt takes from half to one \
    and\n\
    a half times its stated duration. The exit code is 0 if the batch completed, 1 if it failed.")]
pub(crate) struct RehearseArguments {
    /// The runbook
    #[arg(value_name = "RUNBOOK")]
    pub(super) runbook: PathBuf,
    /// The members, as a CSV file with the columns of the runbook; without it they are made up
    #[arg(value_name = "CSV", conflicts_with = "members")]
    pub(super) list: Option<PathBuf>,
    /// How many members to make up [default: 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(super) members: Option<u32>,
    /// T-0, such as 2026-08-01T06:00:00Z; only templates can tell the difference
    #[arg(long, value_name = "TIME")]
    pub(super) start: Option<jiff::Timestamp>,
    /// The share of attempts that fail, for all steps or for one; may be given several times
    #[arg(long, value_name = "[STEP=]SHARE")]
    pub(super) failure_rate: Vec<Stated<Share>>,
    /// How long an attempt takes, for all steps or for one; may be given several times
    /// [default: 5s]
    #[arg(long, value_name = "[STEP=]TIME")]
    pub(super) duration: Vec<Stated<Interval>>,
    /// How often a step that polls answers "not yet", for all steps or for one [default: 3]
    #[arg(long, value_name = "[STEP=]N")]
    pub(super) poll_rounds: Vec<Stated<u32>>,
    /// How many jobs a pool does at once, for all pools or for one [default: as many as there are]
    #[arg(long, value_name = "[POOL=]N")]
    pub(super) workers: Vec<Stated<u32>>,
    /// Another seed draws other failures; the same seed draws the same again
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(super) seed: u64,
    /// Look on: so many times faster than the wall clock, such as 3600 for an hour a second
    /// [default: as fast as it goes]
    #[arg(long, value_name = "FACTOR", value_parser = speed)]
    pub(super) speed: Option<f64>,
    /// Write a picture of the timeline
    #[arg(long, value_name = "FILE")]
    pub(super) svg: Option<PathBuf>,
}

/// A value for one step or pool, or for all.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stated<T> {
    /// which; `None`: all
    pub(super) name: Option<String>,
    pub(super) value: T,
}

impl<T> FromStr for Stated<T>
where
    T: FromStr,
    T::Err: ToString,
{
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // The value holds no equals sign, but a name may.
        let (name, value) = match text.rsplit_once('=') {
            Some((name, value)) => (Some(name.to_owned()), value),
            None => (None, text),
        };
        let value = value.parse().map_err(|error: T::Err| error.to_string())?;
        Ok(Self { name, value })
    }
}

/// A number from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Share(pub(super) f64);

impl FromStr for Share {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let share: Option<f64> = text.parse().ok();
        let share = share.filter(|share| (0.0..=1.0).contains(share));
        share.map(Self).ok_or("write a share from 0 to 1, such as 0.05")
    }
}

fn speed(text: &str) -> Result<f64, &'static str> {
    let speed: Option<f64> = text.parse().ok();
    let speed = speed.filter(|speed| speed.is_finite() && *speed > 0.0);
    speed.ok_or("write a number above 0, such as 3600 for an hour a second")
}
