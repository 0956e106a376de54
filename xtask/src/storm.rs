//! `cargo xtask storm`: three servers on one PostgreSQL, two thousand jobs, a minute of accidents.
//!
//! The tests run a short storm; this is the long one, with the program built as it is shipped.

use std::process::Command;

use crate::{Outcome, only, services, tree};

const TEST: &str = "fleet::storm::a_full_storm_of_a_minute_and_two_thousand_jobs";

/// Runs the full storm.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    only(&[], arguments)?;
    services::find_postgres()?;
    let status = Command::new("cargo")
        .args(["test", "--release", "--package", "stepwell", "--test", "it", "--"])
        .args([TEST, "--exact", "--ignored", "--nocapture"])
        .current_dir(tree::root())
        .status()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    if status.success() {
        return Ok(());
    }
    Err("the storm broke a promise; STEPWELL_TEST_SEED, printed above, gives the same accidents again"
        .to_owned())
}
