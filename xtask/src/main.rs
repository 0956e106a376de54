//! Developer tasks: `cargo xtask <task>`.
//!
//! Nothing here is part of the program. `cargo xtask test` is the one command that a newcomer and
//! CI run; the other tasks are its parts, callable alone.

mod diagram;
mod functions;
mod fuzz;
mod requirement;
mod services;
mod sim;
mod source;
mod storm;
mod test;
mod tidy;
mod trace;
mod tree;

use std::process::ExitCode;

/// What a task gives back: a value, or a sentence that says what failed and what to do.
pub(crate) type Outcome<T = ()> = Result<T, String>;

const HELP: &str = "\
Usage: cargo xtask <task>

Tasks:
  test [--quick]      check format, lints, house rules, all tests and the trace; --quick skips slow steps
  trace [--json] [--require <group>]... [--except <ids>]...
                      compare the ids in docs/requirements.md with those the tests name;
                      --require D fails when an id of group D is missing, save those in --except D-056..D-060
  tidy                check the house rules of STYLE.md
  diagram [--check]   draw docs/state-machine.md from the table of arrows, or check that it is current
  fuzz [--seconds N]  feed every reader with what a fuzzer comes up with, N seconds each
  sim [options]       run the real engine in seeded worlds of faults; one minute without options
  storm               three servers on one PostgreSQL, 2,000 jobs and a minute of accidents
  help                print this text
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let task = arguments.first().map_or("help", String::as_str);
    let rest = arguments.get(1..).unwrap_or_default();
    let outcome = match task {
        "test" => test::run(rest),
        "trace" => trace::run(rest),
        "tidy" => tidy::run(rest),
        "diagram" => diagram::run(rest),
        "fuzz" => fuzz::run(rest),
        "sim" => sim::run(rest),
        "storm" => storm::run(rest),
        "help" | "--help" | "-h" => {
            print!("{HELP}");
            Ok(())
        }
        other => Err(format!("there is no task {other:?}; `cargo xtask help` lists them")),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Refuses arguments of a task that takes no others than `known`.
pub(crate) fn only(known: &[&str], arguments: &[String]) -> Outcome {
    match arguments.iter().find(|argument| !known.contains(&argument.as_str())) {
        Some(other) => Err(format!("unknown argument {other:?}; see `cargo xtask help`")),
        None => Ok(()),
    }
}
