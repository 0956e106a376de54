//! The way of a batch from its detection to its end.

use expect_test::expect;
use stepwell_core::batch::{BatchCommand, BatchMode, BatchStatus, Init};
use stepwell_core::run::RunStatus;

use super::world::{
    DAY, World, before_t0, begin_init, begin_phase, cancel, check, init_is, join, move_to, pause,
    resume, t0, timeline,
};

// A-050: the whole way of a batch that is prepared first.
#[test]
fn a_batch_is_detected_prepared_active_and_completed() {
    let mut world = World::of(BatchMode::Scheduled, &timeline(1, true));
    assert_eq!(world.batch.status, BatchStatus::Detected);
    world.check(
        BatchCommand::Detect,
        expect![[r#"
            detected
            init dispatched run=1 version=1
            -> start init run=1"#]],
    );
    world.members(10);
    assert_eq!(world.batch.status, BatchStatus::InitDispatched);
    world.check(
        init_is(RunStatus::Succeeded),
        expect![[r#"
            init succeeded
            active"#]],
    );
    for (minutes, gate) in [(5 * DAY, "prepare@1"), (DAY, "move@1"), (0, "cutover@1")] {
        world.comes_to(minutes);
        world.ends(gate, 10);
    }
    world.check_status(expect![
        "active; prepare@1 completed; move@1 completed; cutover@1 completed"
    ]);
    world.all_end();
    world.check(check(), expect!["ended completed"]);
    assert_eq!(world.batch.ended_at, Some(t0()));
    assert!(world.batch.is_settled());
}

// A-051
#[test]
fn a_batch_without_init_is_active_at_once() {
    let mut world = World::of(BatchMode::Scheduled, &timeline(1, false));
    world.check(
        BatchCommand::Detect,
        expect![[r#"
            detected
            active"#]],
    );
    assert_eq!((world.batch.status, world.batch.init), (BatchStatus::Active, Init::Absent));
}

// A-051, A-056, X-071: nothing begins in a batch that could not be prepared.
#[test]
fn a_batch_whose_init_fails_has_failed_and_its_phases_are_skipped() {
    for end in [RunStatus::Failed, RunStatus::Cancelled] {
        let mut world = World::detected(&timeline(1, true));
        world.check(
            init_is(end),
            expect![[r#"
                init failed
                prepare@1 skipped
                move@1 skipped
                cutover@1 skipped
                every member: cancel
                ended failed"#]],
        );
        assert!(!world.batch.is_settled(), "its members are still to be stopped");
        world.sweeps();
        assert!(world.batch.is_settled());
    }
}

// A-056: every step of init must have succeeded; a run that is under way has not.
#[test]
fn a_batch_waits_until_its_init_has_ended() {
    let mut world = World::detected(&timeline(1, true));
    let under_way = RunStatus::ALL.into_iter().filter(|status| !status.is_terminal());
    for status in under_way {
        world.check(init_is(status), expect!["nothing"]);
    }
    world.check(check(), expect!["nothing"]);
}

// A-052: neither its time nor somebody who keeps the time elsewhere begins a phase before init is
// done.
#[test]
fn no_phase_begins_in_a_batch_that_is_not_active() {
    let mut world = World::detected(&timeline(1, true));
    world.now = before_t0(0);
    world.check(init_is(RunStatus::Running), expect!["nothing"]);
    assert_eq!(world.batch.wake_at(), None, "there is nothing to wake it for");
    world.check(
        begin_phase(100),
        expect!["refused: the batch is init_dispatched; its phases begin when it is active"],
    );
    world.does(init_is(RunStatus::Succeeded));
    world.check_status(expect![
        "active; prepare@1 dispatched; move@1 dispatched; cutover@1 dispatched"
    ]);
}

// A-059, A-063: a message may come twice.
#[test]
fn a_word_that_comes_twice_changes_nothing() {
    let mut world = World::detected(&timeline(1, true));
    world.check(BatchCommand::Detect, expect!["nothing"]);
    world.check(begin_init(), expect!["nothing"]);
    world.does(init_is(RunStatus::Succeeded));
    world.check(begin_init(), expect!["nothing"]);
    world.check(init_is(RunStatus::Failed), expect!["nothing"]);
    world.does(begin_phase(100));
    world.check(begin_phase(100), expect!["nothing"]);
    world.check(begin_phase(999), expect!["refused: the batch has no phase 999"]);
}

// X-047: between two moments nobody need look.
#[test]
fn a_batch_is_woken_when_its_next_phase_is_due() {
    let mut world = World::detected(&timeline(1, false));
    assert_eq!(world.batch.wake_at(), Some(before_t0(5 * DAY)));
    world.comes_to(5 * DAY);
    assert_eq!(world.batch.wake_at(), Some(before_t0(DAY)));
    world.does(pause());
    world.sweeps();
    assert_eq!(world.batch.wake_at(), None);
    world.does(resume());
    assert_eq!(world.batch.wake_at(), Some(world.now), "something must be done to every member");
}

#[test]
fn members_that_join_and_leave_are_counted() {
    let mut world = World::of(BatchMode::Scheduled, &timeline(1, false));
    world.check(join(3), expect!["3 joined"]);
    world.does(BatchCommand::Remove { members: 1, by: crate::world::somebody() });
    world.batch.tally.failed = 1;
    assert_eq!((world.batch.joined, world.batch.removed), (3, 1));
    assert_eq!(world.batch.active_members(), 1);
}

// A-121: what has ended never changes.
#[test]
fn nothing_is_asked_of_a_batch_that_has_ended() {
    let mut world = World::detected(&timeline(1, false));
    world.does(cancel());
    world.sweeps();
    let commands = [
        pause(),
        resume(),
        begin_init(),
        begin_phase(100),
        join(1),
        move_to(before_t0(DAY)),
        super::world::advance(),
        BatchCommand::Remove { members: 1, by: crate::world::somebody() },
        super::world::adopt(timeline(2, false), stepwell_core::batch::Overdue::Ignore, false),
    ];
    for command in commands {
        let refusal = world.asks(&command).unwrap_err();
        assert_eq!(refusal.code(), "batch_ended", "{command:?}");
    }
    world.check(BatchCommand::Detect, expect!["nothing"]);
    world.check(check(), expect!["nothing"]);
}
