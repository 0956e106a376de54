//! `cargo xtask fuzz`: feeds every reader with whatever a coverage-guided fuzzer comes up with.
//!
//! Needs a nightly toolchain and cargo-fuzz, which the project must not depend on: without them it
//! says so and does nothing. What the fuzzer found worth keeping stays in `fuzz/corpus`.

use std::process::Command;

use crate::test::succeeds;
use crate::{Outcome, tree};

/// The targets in `fuzz/fuzz_targets`.
const TARGETS: [&str; 5] = ["workflow", "template", "interval", "envelope", "history"];

/// How long each target runs when nothing is said.
const SECONDS: u32 = 60;

/// Runs every target for a while.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let seconds = match arguments {
        [] => SECONDS,
        [flag, seconds] if flag == "--seconds" => {
            seconds.parse().map_err(|_| format!("{seconds:?} is not a number of seconds"))?
        }
        _ => return Err("fuzz takes --seconds N and nothing else".to_owned()),
    };
    match absent() {
        Some(reason) => {
            println!("skipped: {reason}");
            Ok(())
        }
        None => for_seconds(seconds),
    }
}

/// Why the fuzzer cannot run here, if it cannot.
pub(crate) fn absent() -> Option<String> {
    if !succeeds("rustup", &["run", "nightly", "rustc", "--version"]) {
        return Some("there is no nightly toolchain".to_owned());
    }
    let present = || succeeds("cargo", &["fuzz", "--version"]);
    if present() || (succeeds("cargo", &["install", "--locked", "cargo-fuzz"]) && present()) {
        return None;
    }
    Some("cargo-fuzz is absent and could not be installed".to_owned())
}

/// Runs every target for so many seconds each.
pub(crate) fn for_seconds(seconds: u32) -> Outcome {
    for target in TARGETS {
        let time = format!("-max_total_time={seconds}");
        let status = Command::new("rustup")
            .args(["run", "nightly", "cargo", "fuzz", "run", target, "--"])
            .args([&time, "-timeout=5", "-rss_limit_mb=2048", "-max_len=65536", "-verbosity=0"])
            .current_dir(tree::root())
            .status()
            .map_err(|error| format!("cannot run rustup: {error}"))?;
        if !status.success() {
            return Err(format!(
                "the fuzz target `{target}` found something; the input is in fuzz/artifacts/{target}, \
                 and `cargo +nightly fuzz run {target} FILE` shows it again"
            ));
        }
    }
    Ok(())
}
