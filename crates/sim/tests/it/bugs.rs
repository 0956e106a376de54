//! Every planted bug is found, soon, and by a rule that names it.

use stepwell_sim::plan::Options;
use stepwell_sim::proof::prove_all;
use stepwell_sim::world::run;

#[test]
fn every_planted_bug_is_found_by_a_rule_that_names_it() {
    for proof in prove_all() {
        println!("{proof}");
        assert!(proof.holds(), "{proof}");
        let seed = proof.found.map(|(options, _)| options.seed).expect("it was found");
        assert_eq!(run(&Options::of(seed)).violation, None, "seed {seed} is sound without it");
    }
}
