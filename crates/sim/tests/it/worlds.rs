//! Whole worlds, with everything going wrong, break no rule.

use stepwell_sim::oracle::Probe;
use stepwell_sim::plan::Options;
use stepwell_sim::report::Report;
use stepwell_sim::world::run;

#[test]
fn no_world_breaks_a_rule() {
    let mut report = Report::default();
    for seed in 1_000..1_080 {
        let options = Options::of(seed);
        report.add(&options, &run(&options));
    }
    assert!(report.broken.is_empty(), "{:#?}", report.broken);
    assert!(report.faults_in_all() > 8_000, "{} faults", report.faults_in_all());
    assert!(report.probes.len() * 10 > Probe::ALL.len() * 7, "{:?}", report.probes);
}

#[test]
fn a_world_without_faults_ends_with_every_run_done() {
    let calm = Options { kinds: Some([].into()), ..Options::of(9) };
    let outcome = run(&calm);
    assert_eq!(outcome.violation, None);
    assert_eq!(outcome.faults.len(), 0);
    assert!(outcome.runs > 0);
}
