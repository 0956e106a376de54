//! A batch that a person moves from phase to phase.

use expect_test::expect;
use stepwell_core::batch::{BatchStatus, Overdue};
use stepwell_core::run::RunStatus;

use super::world::{
    DAY, World, adopt, advance, before_t0, begin_init, begin_phase, check, init_is, move_to, pause,
    timeline,
};

// A-132, A-133, X-078: first the preparation, then one phase a call.
#[test]
fn a_person_moves_a_batch_to_its_init_and_then_from_phase_to_phase() {
    let mut world = World::manual(&timeline(1, true));
    assert_eq!(world.batch.status, BatchStatus::Detected);
    world.check(
        advance(),
        expect![[r#"
            advanced
            every member: refresh
            init dispatched run=1 version=1
            -> start init run=1"#]],
    );
    world.sweeps();
    world.check(
        advance(),
        expect!["refused: init is still under way; advance again when it is over"],
    );
    world.does(init_is(RunStatus::Succeeded));
    world.check(
        advance(),
        expect![[r#"
            advanced
            prepare@1 dispatched by operator
            every member: open prepare@1"#]],
    );
    assert_eq!(world.batch.current_phase.as_deref(), Some("prepare"));
    world.sweeps();
    world.check(
        advance(),
        expect![[r#"refused: phase "prepare" is still under way; advance again when it is over"#]],
    );
    for (gate, next) in [("prepare@1", "move"), ("move@1", "cutover")] {
        world.ends(gate, 10);
        world.does(advance());
        world.sweeps();
        assert_eq!(world.batch.current_phase.as_deref(), Some(next));
    }
    world.ends("cutover@1", 10);
    world.check(
        advance(),
        expect!["refused: every phase of the batch has begun; there is nothing left to advance to"],
    );
    world.all_end();
    world.check(check(), expect!["ended completed"]);
}

// X-078: without init, the first call begins the first phase.
#[test]
fn a_batch_without_init_turns_active_with_the_first_call() {
    let mut world = World::manual(&timeline(1, false));
    world.check(
        advance(),
        expect![[r#"
            advanced
            every member: refresh
            active
            prepare@1 dispatched by operator
            every member: open prepare@1"#]],
    );
}

// A-130, A-131: no moment begins a phase.
#[test]
fn time_alone_moves_no_manual_batch() {
    let mut world = World::manual(&timeline(1, false));
    assert!(world.batch.phases.iter().all(|phase| phase.due_at.is_none()));
    world.now = before_t0(-100 * DAY);
    world.check(check(), expect!["nothing"]);
    world.does(advance());
    world.sweeps();
    world.ends("prepare@1", 10);
    world.check(check(), expect!["nothing"]);
    assert_eq!((world.batch.wake_at(), world.batch.start), (None, None));
}

// X-040: what is shown as the start is the moment of the first call.
#[test]
fn a_manual_batch_starts_when_a_person_first_moves_it_on() {
    let mut world = World::manual(&timeline(1, false));
    assert_eq!(world.batch.start_shown(), None);
    let first = world.now;
    world.does(advance());
    world.sweeps();
    world.ends("prepare@1", 10);
    world.now = before_t0(0);
    world.check(
        advance(),
        expect![[r#"
            advanced
            move@1 dispatched by operator
            every member: open move@1"#]],
    );
    assert_eq!((world.batch.start_shown(), world.batch.start), (Some(first), None));
}

// X-069, X-078: a phase that nobody is left for is passed over, and the next one is meant.
#[test]
fn a_call_passes_over_phases_that_nobody_is_left_for() {
    let mut world = World::manual(&timeline(1, false));
    world.phase_mut("prepare@1").tally.open = 0;
    world.check(
        advance(),
        expect![[r#"
            advanced
            every member: refresh
            active
            prepare@1 skipped
            move@1 dispatched by operator
            every member: open move@1"#]],
    );
    world.sweeps();
    world.ends("move@1", 0);
    world.members(0);
    world.check(
        advance(),
        expect![[r#"
            advanced
            cutover@1 skipped"#]],
    );
}

// X-078
#[test]
fn only_a_manual_batch_is_moved_on_by_a_person() {
    let mut world = World::detected(&timeline(1, false));
    world.check(
        advance(),
        expect!["refused: only a manual batch is advanced by hand; this one follows its timeline"],
    );
    let mut manual = World::manual(&timeline(1, true));
    manual.check(
        move_to(before_t0(0)),
        expect!["refused: a manual batch has no T-0 to move; advance it instead"],
    );
    manual.does(pause());
    for command in [advance(), begin_init()] {
        manual.check(command, expect!["refused: the batch is paused; resume it first"]);
    }
}

// A-053, A-063: a scheduler that is kept elsewhere says the same with messages.
#[test]
fn a_manual_batch_may_be_moved_by_messages_too() {
    let mut world = World::manual(&timeline(1, true));
    world.check(
        begin_init(),
        expect![[r#"
            advanced
            every member: refresh
            init dispatched run=1 version=1
            -> start init run=1"#]],
    );
    world.does(init_is(RunStatus::Succeeded));
    world.sweeps();
    world.check(
        begin_phase(101),
        expect![[r#"
            move@1 dispatched by operator
            every member: open move@1"#]],
    );
}

// X-077
#[test]
fn a_manual_batch_stays_with_its_version() {
    let mut world = World::manual(&timeline(1, true));
    world.check(adopt(timeline(2, true), Overdue::Rerun, true), expect!["nothing"]);
    assert_eq!(world.batch.runbook_version, 1);
}
