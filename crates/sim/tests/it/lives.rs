//! The decision core alone, asked anything at any moment.

use stepwell_sim::lives::live;
use stepwell_sim::oracle::Arrows;

#[test]
fn whatever_is_asked_of_a_run_the_second_opinion_agrees() {
    let mut arrows = Arrows::default();
    for seed in 0..3_000 {
        let life = live(seed);
        assert_eq!(life.violation, None, "life {seed}");
        arrows.merge(&life.arrows);
    }
    let ((steps, of_steps), (runs, of_runs)) = (arrows.steps_covered(), arrows.runs_covered());
    assert!(steps + 2 >= of_steps, "{steps} of {of_steps}: {:#?}", arrows.differences());
    assert!(runs + 2 >= of_runs, "{runs} of {of_runs}: {:#?}", arrows.differences());
    let undrawn = arrows.differences().into_iter().find(|line| line.starts_with("not drawn"));
    assert_eq!(undrawn, None, "the machine takes no arrow that the table does not draw");
}
