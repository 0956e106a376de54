//! A person stops a batch.

use expect_test::expect;
use stepwell_core::batch::{BatchMode, BatchStatus, PhaseTally};
use stepwell_core::run::RunStatus;

use super::world::{DAY, World, cancel, check, init_is, pause, timeline};

// X-016: from wherever it stands.
#[test]
fn a_batch_is_cancelled_from_every_status_that_is_no_end() {
    let worlds = [
        World::of(BatchMode::Manual, &timeline(1, true)),
        World::detected(&timeline(1, true)),
        World::detected(&timeline(1, false)),
    ];
    let statuses = worlds.map(|mut world| {
        let before = world.batch.status;
        world.does(cancel());
        assert_eq!(world.batch.status, BatchStatus::Cancelled);
        before
    });
    use BatchStatus::{Active, Detected, InitDispatched};
    assert_eq!(statuses, [Detected, InitDispatched, Active]);
}

// X-017: what has not begun is skipped; what is under way settles by what its members came to.
#[test]
fn what_is_under_way_settles_and_what_is_not_is_skipped() {
    let mut world = World::detected(&timeline(1, false));
    world.comes_to(DAY);
    world.check(
        cancel(),
        expect![[r#"
            cancel requested
            cutover@1 skipped
            every member: cancel
            ended cancelled"#]],
    );
    assert!(!world.batch.is_settled());
    world.sweeps();
    world.phase_mut("prepare@1").tally =
        PhaseTally { succeeded: 4, cancelled: 6, ..PhaseTally::default() };
    world.phase_mut("move@1").tally = PhaseTally { cancelled: 10, ..PhaseTally::default() };
    world.check(
        check(),
        expect![[r#"
            prepare@1 completed
            move@1 failed"#]],
    );
    assert!(world.batch.is_settled());
    assert_eq!(world.batch.status, BatchStatus::Cancelled);
}

// X-017: its preparation is stopped too, and what comes of it counts no more.
#[test]
fn the_init_of_a_cancelled_batch_is_stopped() {
    let mut world = World::detected(&timeline(1, true));
    world.check(
        cancel(),
        expect![[r#"
            cancel requested
            prepare@1 skipped
            move@1 skipped
            cutover@1 skipped
            every member: cancel
            ended cancelled
            -> cancel init run=1"#]],
    );
    world.sweeps();
    for status in [RunStatus::Succeeded, RunStatus::Cancelled] {
        world.check(init_is(status), expect!["nothing"]);
    }
}

// X-017: asking again is an answer, not an error; a batch that has ended otherwise is not stopped.
#[test]
fn a_batch_is_cancelled_once() {
    let mut world = World::detected(&timeline(1, false));
    world.does(pause());
    world.does(cancel());
    assert!(!world.batch.paused, "what is stopped is not held");
    world.check(cancel(), expect!["nothing"]);
    let mut failed = World::detected(&timeline(1, true));
    failed.does(init_is(RunStatus::Failed));
    failed.check(cancel(), expect!["refused: the batch has ended as failed"]);
}
