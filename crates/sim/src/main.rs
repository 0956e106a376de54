//! `cargo xtask sim`: many worlds, and one command for each that broke a rule.

use std::process::ExitCode;

use stepwell_sim::args::Args;
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
    if args.options.trace {
        return tell(&args);
    }
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
    if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Lives through one world, and tells it line by line.
fn tell(args: &Args) -> ExitCode {
    let outcome = world::run(&args.options);
    for line in &outcome.trace {
        println!("{line}");
    }
    println!("hash {:x}", outcome.hash);
    match outcome.violation {
        Some(violation) => {
            println!("BROKEN {violation}");
            ExitCode::FAILURE
        }
        None => ExitCode::SUCCESS,
    }
}

/// Says which rules were broken, and how to see it again in the smallest world that breaks one.
fn explain(report: &Report) {
    for (seed, violation) in &report.broken_lives {
        println!("life {seed} broke {violation}");
    }
    // Each thread may have met one before it heard of the other's; one is enough to begin with.
    if let Some((options, violation)) = report.broken.iter().min_by_key(|(o, _)| o.seed) {
        println!("seed {} broke {violation}", options.seed);
        match shrink(options) {
            Some(shrunk) => {
                if let Some(violation) = &shrunk.outcome.violation {
                    println!("  smallest: {violation}");
                }
                println!("  see it:   {}", shrunk.command());
            }
            None => println!("  it does not do so again: something is not determined by the seed"),
        }
    }
}
