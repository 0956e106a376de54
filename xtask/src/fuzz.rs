//! `cargo xtask fuzz`: feeds every reader with whatever a coverage-guided fuzzer comes up with.
//!
//! Needs a nightly toolchain and cargo-fuzz, which the project must not depend on: without them it
//! says so and does nothing. Everybody else is served by `crates/sim/tests/it/readers.rs`, which
//! feeds the same readers with `fuzz/corpus` on every toolchain. What a run finds worth keeping is
//! left in `fuzz/target/found`; what shall serve everybody is copied from there to `fuzz/corpus`.

use std::fs;
use std::process::Command;

use crate::test::succeeds;
use crate::{Outcome, tree};

/// The targets in `fuzz/fuzz_targets`.
const TARGETS: [&str; 8] = [
    "condition",
    "envelope",
    "history",
    "interval",
    "runbook",
    "template",
    "workflow",
    "workspace",
];

/// How long each target runs when nothing is said.
const SECONDS: u32 = 60;

/// The setting that lets `cargo xtask test` run the fuzzer too, for so many seconds a target.
const SETTING: &str = "STEPWELL_FUZZ_SECONDS";

/// Runs every target for a while.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    let seconds = match arguments {
        [] => SECONDS,
        [flag, seconds] if flag == "--seconds" => parse(seconds)?,
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

/// Runs every target if the setting asks for it; otherwise gives the reason why not.
///
/// A fuzzer is built with a sanitizer, which takes minutes on a new machine: nobody waits for that
/// without having asked.
pub(crate) fn if_asked() -> Outcome<Option<String>> {
    let Ok(seconds) = std::env::var(SETTING) else {
        return Ok(Some(format!(
            "{SETTING} is not set; the tests have fed every reader with the kept corpus"
        )));
    };
    let seconds = parse(&seconds)?;
    match absent() {
        Some(reason) => Ok(Some(reason)),
        None => for_seconds(seconds).map(|()| None),
    }
}

fn parse(seconds: &str) -> Outcome<u32> {
    seconds.parse().map_err(|_| format!("{seconds:?} is not a number of seconds"))
}

/// Why the fuzzer cannot run here, if it cannot.
fn absent() -> Option<String> {
    if !succeeds("rustup", &["run", "nightly", "rustc", "--version"]) {
        return Some(
            "there is no nightly toolchain; `rustup toolchain install nightly` brings one"
                .to_owned(),
        );
    }
    if !succeeds("cargo", &["fuzz", "--version"]) {
        return Some("cargo-fuzz is absent; `cargo install cargo-fuzz` brings it".to_owned());
    }
    None
}

/// Runs every target for so many seconds each.
fn for_seconds(seconds: u32) -> Outcome {
    for target in TARGETS {
        let (found, kept) =
            (format!("fuzz/target/found/{target}"), format!("fuzz/corpus/{target}"));
        fs::create_dir_all(tree::root().join(&found))
            .map_err(|error| format!("cannot create {found}: {error}"))?;
        let time = format!("-max_total_time={seconds}");
        let status = Command::new("rustup")
            .args(["run", "nightly", "cargo", "fuzz", "run", target, &found, &kept, "--"])
            .args([&time, "-timeout=5", "-rss_limit_mb=2048", "-max_len=65536"])
            .args(["-verbosity=0", "-print_funcs=0"])
            .current_dir(tree::root())
            .status()
            .map_err(|error| format!("cannot run rustup: {error}"))?;
        if !status.success() {
            return Err(format!(
                "the fuzz target `{target}` found something; the input is in fuzz/artifacts/{target}, \
                 `cargo +nightly fuzz run {target} FILE` shows it again, and a copy in {kept} keeps it \
                 as a test"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_in_the_folder_is_run() {
        let files = fs::read_dir(tree::root().join("fuzz/fuzz_targets")).expect("it is listed");
        let mut names: Vec<String> = files
            .map(|file| file.expect("it is listed").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        assert_eq!(names, TARGETS.map(|target| format!("{target}.rs")));
    }

    #[test]
    fn a_length_that_is_no_number_is_refused() {
        assert_eq!(parse("7"), Ok(7));
        assert!(parse("a while").is_err_and(|message| message.contains("a while")));
    }
}
