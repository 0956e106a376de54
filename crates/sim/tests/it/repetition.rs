//! The same seed is the same world.

use stepwell_sim::faults::Kind;
use stepwell_sim::plan::Options;
use stepwell_sim::world::run;

#[test]
fn the_same_seed_gives_the_same_events() {
    for seed in 1..=25 {
        let (first, again) = (run(&Options::of(seed)), run(&Options::of(seed)));
        assert_eq!(first.hash, again.hash, "seed {seed}");
        assert_eq!(first.events, again.events, "seed {seed}");
    }
}

#[test]
fn different_seeds_give_different_worlds() {
    let hashes: std::collections::BTreeSet<u64> =
        (1..=10).map(|seed| run(&Options::of(seed)).hash).collect();
    assert_eq!(hashes.len(), 10);
}

#[test]
fn what_is_switched_off_does_not_happen() {
    let calm = Options { kinds: Some([Kind::CommitLost].into()), ..Options::of(4) };
    let outcome = run(&calm);
    assert!(outcome.faults.keys().all(|kind| *kind == Kind::CommitLost), "{:?}", outcome.faults);
    let bounded = Options { faults_max: Some(3), ..Options::of(4) };
    assert_eq!(run(&bounded).faults.values().sum::<u64>(), 3);
}
