//! `cargo xtask sim`: many worlds, one after the other, on every core.

use std::process::ExitCode;

fn main() -> ExitCode {
    let seed: u64 = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(1);
    let n: u64 = std::env::args().nth(2).and_then(|a| a.parse().ok()).unwrap_or(1);
    let begin = std::time::Instant::now();
    let mut faults = 0;
    for s in seed..seed + n {
        let options =
            stepwell_sim::plan::Options { trace: n == 1, ..stepwell_sim::plan::Options::of(s) };
        let o = stepwell_sim::world::run(&options);
        faults += o.faults.values().sum::<u64>();
        if n == 1 {
            for l in &o.trace {
                println!("{l}");
            }
            println!("{:?}", o.faults);
        }
        println!(
            "seed {s} {:?} ms {} events {} commits {} runs {} hash {:x}",
            o.violation.map(|v| v.to_string()),
            o.simulated_ms,
            o.events,
            o.commits,
            o.runs,
            o.hash
        );
    }
    println!("{:?} faults {faults}", begin.elapsed());
    ExitCode::SUCCESS
}
