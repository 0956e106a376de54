//! `cargo xtask sim`: the real engine in seeded worlds of faults.

use std::process::Command;

use crate::{Outcome, tree};

/// Runs the simulator, built for speed, with the arguments as they are.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let status = Command::new("cargo")
        .args(["run", "--quiet", "--release", "--package", "stepwell-sim", "--"])
        .args(arguments)
        .current_dir(tree::root())
        .status()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err("the simulator found something; see above".to_owned())
    }
}
