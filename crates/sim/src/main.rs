//! `cargo xtask sim`: many worlds, and one command for each that broke a rule.

use std::process::ExitCode;

use stepwell_sim::args::{Args, Task};
use stepwell_sim::lives::live_telling;
use stepwell_sim::oracle::Violation;
use stepwell_sim::proof::prove_all;
use stepwell_sim::report::Report;
use stepwell_sim::runner::spend;
use stepwell_sim::shrink::shrink;
use stepwell_sim::world;

fn main() -> ExitCode {
    let args = match Args::read(std::env::args().skip(1)) {
        Ok(args) => args,
        Err(message) => {
            eprintln!("error: {message}");
            return ExitCode::FAILURE;
        }
    };
    let sound = match args.task {
        Task::Spend => spend_and_report(&args),
        Task::Tell => tell(&args),
        Task::TellLife(seed) => tell_life(seed),
        Task::Prove => show_proofs(),
    };
    if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn spend_and_report(args: &Args) -> bool {
    println!("seeds from        {:>10}", args.budget.seed);
    let report = spend(&args.budget, &args.options);
    print!("{report}");
    let restricted = args.options.kinds.is_some() || args.options.jobs.is_some();
    let gaps = if restricted || args.budget.core { Vec::new() } else { report.gaps() };
    for gap in &gaps {
        println!("too tame: {gap}");
    }
    explain(&report);
    let sound = report.broken.is_empty() && report.broken_lives.is_empty() && gaps.is_empty();
    println!("{}", if sound { "no rule was broken" } else { "FAILED" });
    sound
}

/// Lives through one world, and tells it line by line.
fn tell(args: &Args) -> bool {
    let outcome = world::run(&args.options);
    for line in &outcome.trace {
        println!("{line}");
    }
    println!("hash {:x}", outcome.hash);
    conclude(outcome.violation.as_ref())
}

/// Lives through one life, and tells it line by line.
fn tell_life(seed: u64) -> bool {
    let life = live_telling(seed, |line| println!("{line}"));
    conclude(life.violation.as_ref())
}

fn conclude(violation: Option<&Violation>) -> bool {
    match violation {
        Some(violation) => println!("BROKEN {violation}"),
        None => println!("no rule was broken"),
    }
    violation.is_none()
}

fn show_proofs() -> bool {
    let proofs = prove_all();
    for proof in &proofs {
        println!("{proof}");
    }
    let found = proofs.iter().filter(|proof| proof.holds()).count();
    println!("{found} of {} planted bugs were found by a rule that names them", proofs.len());
    found == proofs.len()
}

/// Says which rules were broken, and how to see it again in the smallest world that breaks one.
fn explain(report: &Report) {
    // Each thread may have met several before it heard of the other's; one is enough to begin with.
    if let Some((seed, violation)) = report.broken_lives.iter().min() {
        println!("life {seed} broke {violation}");
        println!("  see it:   cargo xtask sim --life {seed}");
    }
    if let Some((options, violation)) = report.broken.iter().min_by_key(|(o, _)| o.seed) {
        println!("seed {} broke {violation}", options.seed);
        match shrink(options) {
            Some(shrunk) => {
                if let Some(violation) = &shrunk.outcome.violation {
                    println!("  smallest: {violation}");
                }
                println!("  see it:   {}", shrunk.options.command());
            }
            None => println!("  it does not do so again: something is not determined by the seed"),
        }
    }
}
