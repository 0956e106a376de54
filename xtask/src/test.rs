//! `cargo xtask test`: the one command that a newcomer and CI run.
//!
//! The steps run in order and the first failure ends the run: a later step would only bury its
//! message. What was not run is listed at the end, with the reason.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::services::{self, Services};
use crate::{Outcome, diagram, fuzz, only, sim, tidy, trace, tree};

/// One thing that must hold.
struct Step {
    name: &'static str,
    /// Skipped by `--quick`.
    slow: bool,
    run: fn(&mut Services) -> Outcome<Done>,
}

/// How a step ended that did not fail.
pub(crate) enum Done {
    Passed,
    /// With the reason.
    Skipped(String),
}

/// How a step ended.
struct Report {
    name: &'static str,
    elapsed: Duration,
    outcome: Outcome<Done>,
}

fn steps() -> Vec<Step> {
    let quick = |name, run| Step { name, slow: false, run };
    let slow = |name, run| Step { name, slow: true, run };
    vec![
        quick("format", |_| format()),
        quick("lints", |_| lints()),
        quick("tidy", |_| tidy::run(&[]).map(|()| Done::Passed)),
        quick("diagram", |_| drawing()),
        quick("browser", |_| services::browser()),
        quick("postgres", Services::start_postgres),
        quick("tests", tests),
        slow("release build", |_| cargo(&["build", "--release", "--package", "stepwell"])),
        slow("simulator", |_| sim::run(&worlds()).map(|()| Done::Passed)),
        slow("fuzz", |_| {
            fuzz::if_asked().map(|skipped| skipped.map_or(Done::Passed, Done::Skipped))
        }),
        quick("trace", |_| trace::run(&traced()).map(|()| Done::Passed)),
    ]
}

/// What must be covered by now. Outside brokers and their variables (A-193, A-219 …, B-012), an
/// identity provider (A-168 …), the cloud worker with its functions (A-177 …) and deployment
/// (A-223 …, D-056 …) come later.
fn traced() -> Vec<String> {
    let later =
        "A-001..A-004, A-168, A-170..A-171, A-173, A-175..A-191, A-193, A-219..A-223, A-225..A-249";
    let required = ["--require", "A", "--except", later];
    let also = ["--require", "B", "--except", "B-012", "--require", "C"];
    let commands = ["--require", "D", "--except", "D-056..D-060"];
    required.into_iter().chain(also).chain(commands).map(str::to_owned).collect()
}

/// A fixed number of worlds, each from its own seed, so that the verdict does not depend on the
/// machine: a minute on a slow one.
fn worlds() -> Vec<String> {
    ["--seed", "1", "--worlds", "2000"].map(str::to_owned).to_vec()
}

/// Runs every step; with `--quick`, all but the slow ones.
pub(crate) fn run(arguments: &[String]) -> Outcome {
    only(&["--quick"], arguments)?;
    let steps = steps();
    let mut services = Services::default();
    let mut reports = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        println!("==> {}/{} {}", index + 1, steps.len(), step.name);
        let report = report(step, &mut services, !arguments.is_empty());
        println!("    {} {}", step.name, verdict(&report));
        let failed = report.outcome.is_err();
        reports.push(report);
        if failed {
            break;
        }
    }
    conclude(&steps, &reports)
}

fn report(step: &Step, services: &mut Services, quick: bool) -> Report {
    let begin = Instant::now();
    let outcome = if quick && step.slow {
        Ok(Done::Skipped("it is slow, and --quick was asked for".to_owned()))
    } else {
        (step.run)(services)
    };
    Report { name: step.name, elapsed: begin.elapsed(), outcome }
}

fn verdict(report: &Report) -> String {
    match &report.outcome {
        Ok(Done::Passed) => format!("passed in {:.1} s", report.elapsed.as_secs_f32()),
        Ok(Done::Skipped(reason)) => format!("skipped: {reason}"),
        Err(message) => format!("FAILED in {:.1} s: {message}", report.elapsed.as_secs_f32()),
    }
}

/// Prints one line a step, and gives the failure back if there was one.
fn conclude(steps: &[Step], reports: &[Report]) -> Outcome {
    println!("\nSummary");
    for report in reports {
        println!("  {:<14} {}", report.name, verdict(report));
    }
    for step in &steps[reports.len()..] {
        println!("  {:<14} not run: an earlier step failed", step.name);
    }
    match reports.iter().find(|report| report.outcome.is_err()) {
        Some(failed) => Err(format!("the step `{}` failed; its messages are above", failed.name)),
        None => Ok(()),
    }
}

fn format() -> Outcome<Done> {
    with_component("rustfmt", "fmt", || cargo(&["fmt", "--all", "--check"]))
}

fn lints() -> Outcome<Done> {
    with_component("clippy", "clippy", || {
        cargo(&["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"])
    })
}

/// Runs every test, with the services that were started for them. One crate that fails does not keep
/// the others from being judged: cargo names all of them at the end.
fn tests(services: &mut Services) -> Outcome<Done> {
    // Many random timelines of batches; a plain `cargo test` lives through fewer.
    let timelines = ("STEPWELL_TIMELINES", "1000".to_owned());
    let everything = ["test", "--workspace", "--no-fail-fast"];
    cargo_with(&everything, services.environment().into_iter().chain([timelines]))
}

fn drawing() -> Outcome<Done> {
    if !tree::root().join(diagram::DRAWING).exists() {
        return Ok(Done::Skipped(format!("{} was not drawn yet", diagram::DRAWING)));
    }
    diagram::run(&["--check".to_owned()]).map(|()| Done::Passed)
}

/// Runs a step that needs a component of the toolchain, which is fetched if it is absent.
///
/// A machine that has neither the component nor a way to fetch it can still run the tests.
fn with_component(
    component: &str,
    subcommand: &str,
    step: impl FnOnce() -> Outcome<Done>,
) -> Outcome<Done> {
    let present = || succeeds("cargo", &[subcommand, "--version"]);
    if present() || (succeeds("rustup", &["component", "add", component]) && present()) {
        return step();
    }
    Ok(Done::Skipped(format!(
        "{component} is absent and `rustup component add {component}` failed"
    )))
}

pub(crate) fn succeeds(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(tree::root()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn cargo(arguments: &[&str]) -> Outcome<Done> {
    cargo_with(arguments, None)
}

fn cargo_with(
    arguments: &[&str],
    environment: impl IntoIterator<Item = (&'static str, String)>,
) -> Outcome<Done> {
    let status = Command::new("cargo")
        .args(arguments)
        .envs(environment)
        .current_dir(tree::root())
        .status()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    if status.success() {
        return Ok(Done::Passed);
    }
    Err(format!("`cargo {}` ended with {status}", arguments.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(slow: bool, run: fn(&mut Services) -> Outcome<Done>) -> Step {
        Step { name: "some step", slow, run }
    }

    fn report(step: &Step, quick: bool) -> Report {
        super::report(step, &mut Services::default(), quick)
    }

    #[test]
    fn quick_skips_slow_steps_and_says_so() {
        let slow = step(true, |_| Err("it ran".to_owned()));
        assert!(verdict(&report(&slow, true)).starts_with("skipped: it is slow"));
        assert!(report(&slow, false).outcome.is_err());
    }

    #[test]
    fn one_failed_step_fails_the_run_and_names_itself() {
        let steps = [step(false, |_| Ok(Done::Passed)), step(false, |_| Err("broken".to_owned()))];
        let reports: Vec<Report> = steps.iter().map(|step| report(step, false)).collect();
        assert!(verdict(&reports[1]).contains("broken"));
        assert!(conclude(&steps, &reports).is_err_and(|message| message.contains("some step")));
        assert_eq!(conclude(&steps[..1], &reports[..1]), Ok(()));
    }
}
