//! Phases: when they begin, when they are over, and what they come to.

use expect_test::expect;
use stepwell_core::batch::{BatchStatus, MemberTally, PhaseStatus, PhaseTally};
use stepwell_core::duration::Interval;
use stepwell_core::id::MemberId;
use stepwell_core::time::Timestamp;

use super::world::{
    DAY, World, before_t0, begin_phase, check, join, later, move_to, pause, resume, t0, timeline,
};

// A-060: due when its moment has come, and not a millisecond before.
#[test]
fn a_phase_begins_at_its_moment() {
    let mut world = World::detected(&timeline(1, false));
    let due = before_t0(5 * DAY);
    world.now = Timestamp::from_millis(due.as_millis() - 1);
    world.check(check(), expect!["nothing"]);
    world.now = due;
    world.check(
        check(),
        expect![[r#"
            prepare@1 dispatched
            every member: open prepare@1"#]],
    );
    assert_eq!(world.phase("prepare@1").dispatched_at, Some(due));
    assert_eq!(world.batch.current_phase.as_deref(), Some("prepare"));
}

// A-063: a phase begins once.
#[test]
fn a_phase_that_has_begun_does_not_begin_again() {
    let mut world = World::detected(&timeline(1, false));
    world.comes_to(5 * DAY);
    world.check(check(), expect!["nothing"]);
    world.check(begin_phase(100), expect!["nothing"]);
    world.ends("prepare@1", 10);
    world.check(check(), expect!["nothing"]);
    world.check(begin_phase(100), expect!["nothing"]);
}

// X-064: all of them, in the order in which they are due.
#[test]
fn a_batch_that_is_detected_late_begins_with_all_that_is_due() {
    let mut world = World::detected(&timeline(1, false));
    world.now = before_t0(60);
    world.check(
        check(),
        expect![[r#"
            prepare@1 dispatched
            every member: open prepare@1
            move@1 dispatched
            every member: open move@1"#]],
    );
}

// A-061, A-122: one member that did all of it is enough.
#[test]
fn a_phase_is_completed_if_one_member_did_all_of_it() {
    let mut world = World::detected(&timeline(1, false));
    world.comes_to(DAY);
    world.ends("prepare@1", 1);
    world.ends("move@1", 0);
    world.check_status(expect!["active; prepare@1 completed; move@1 failed; cutover@1 pending"]);
    assert_eq!(world.phase("move@1").completed_at, Some(before_t0(DAY)));
}

// A-124: it is over when the last member is, however the last one came to it.
#[test]
fn a_phase_is_over_when_no_member_is_in_it() {
    let mut world = World::detected(&timeline(1, false));
    world.comes_to(5 * DAY);
    world.phase_mut("prepare@1").tally =
        PhaseTally { open: 1, succeeded: 7, failed: 1, cancelled: 1, ..PhaseTally::default() };
    world.check(check(), expect!["nothing"]);
    world.phase_mut("prepare@1").tally =
        PhaseTally { succeeded: 7, failed: 1, cancelled: 2, ..PhaseTally::default() };
    world.check(check(), expect!["prepare@1 completed"]);
}

// While its gate is still being opened, members that have not been told are not missing.
#[test]
fn no_phase_is_over_while_something_is_done_to_every_member() {
    let mut world = World::detected(&timeline(1, false));
    world.now = before_t0(5 * DAY);
    world.does(check());
    world.phase_mut("prepare@1").tally.open = 0;
    world.check(check(), expect!["nothing"]);
    let through = |member| stepwell_core::batch::BatchCommand::Swept { through: member };
    world.check(through(Some(MemberId(7))), expect!["done through member 7"]);
    world.check(through(Some(MemberId(7))), expect!["nothing"]);
    world.check(through(None), expect!["done for every member"]);
    world.check(through(None), expect!["nothing"]);
    world.check(check(), expect!["prepare@1 failed"]);
}

// X-069
#[test]
fn a_phase_that_nobody_is_left_for_is_skipped() {
    let mut world = World::detected(&timeline(1, false));
    world.comes_to(5 * DAY);
    world.ends("prepare@1", 0);
    world.members(0);
    world.now = before_t0(DAY);
    world.check(check(), expect!["move@1 skipped"]);
    // Also if the word comes from somebody who keeps the time elsewhere.
    world.check(begin_phase(102), expect!["cutover@1 skipped"]);
}

// A-123, X-070: failed only if a phase failed and none was completed.
#[test]
fn a_batch_has_failed_if_a_phase_failed_and_none_was_completed() {
    use PhaseStatus::{Completed, Failed, Skipped, Superseded};
    let cases = [
        ([Completed, Failed, Failed], BatchStatus::Completed),
        ([Completed, Completed, Completed], BatchStatus::Completed),
        ([Failed, Skipped, Superseded], BatchStatus::Failed),
        ([Failed, Failed, Completed], BatchStatus::Completed),
        ([Skipped, Skipped, Superseded], BatchStatus::Completed),
    ];
    for (phases, expected) in cases {
        let mut world = World::detected(&timeline(1, false));
        for (phase, status) in world.batch.phases.iter_mut().zip(phases) {
            phase.status = status;
        }
        world.all_end();
        world.does(check());
        assert_eq!(world.batch.status, expected, "{phases:?}");
    }
}

// X-066: a phase stays as it ended; the batch waits for whoever is still catching up.
#[test]
fn a_batch_waits_for_members_that_catch_up() {
    let mut world = World::detected(&timeline(1, false));
    world.comes_to(0);
    for gate in ["prepare@1", "move@1", "cutover@1"] {
        world.ends(gate, 10);
    }
    world.does(join(1));
    world.batch.tally = MemberTally { open: 1, succeeded: 10, ..MemberTally::default() };
    for phase in &mut world.batch.phases {
        phase.tally.open = 1;
    }
    world.check(check(), expect!["nothing"]);
    world.check_status(expect![
        "active; prepare@1 completed; move@1 completed; cutover@1 completed"
    ]);
    for phase in &mut world.batch.phases {
        phase.tally = PhaseTally { open: 0, failed: 1, ..phase.tally };
    }
    world.batch.tally = MemberTally { succeeded: 10, failed: 1, ..MemberTally::default() };
    world.check(check(), expect!["ended completed"]);
}

// A-113, A-114, X-065: what has begun is caught up with; what is to come is waited for.
#[test]
fn a_member_who_joins_late_goes_through_what_has_begun() {
    let mut world = World::detected(&timeline(1, false));
    assert_eq!(world.batch.catch_up().open, [""; 0]);
    world.comes_to(DAY);
    world.ends("prepare@1", 0);
    let way = world.batch.catch_up();
    assert_eq!((way.versions, way.open), (vec![1], vec!["prepare@1".into(), "move@1".into()]));
    assert_eq!(way.skipped, [""; 0]);
    world.phase_mut("prepare@1").status = PhaseStatus::Skipped;
    assert_eq!(world.batch.catch_up().skipped, ["prepare@1"]);
}

// A-020: the phases that have not begun move with T-0; what has begun stays as it is.
#[test]
fn a_moved_start_moves_what_has_not_begun() {
    let mut world = World::detected(&timeline(1, false));
    world.comes_to(5 * DAY);
    let moved = later(t0(), Interval::from_secs(7 * 24 * 3600));
    world.check(
        move_to(moved),
        expect![[r#"
            T-0 moved to 2025-03-22T00:00:00.000Z
            every member: refresh"#]],
    );
    assert_eq!(world.phase("prepare@1").due_at, Some(before_t0(5 * DAY)));
    assert_eq!(world.phase("move@1").due_at, Some(before_t0(-6 * DAY)));
    assert_eq!(world.phase("cutover@1").due_at, Some(moved));
    assert_eq!(world.batch.header.slot, Some(t0()), "its source still knows it by the old moment");
    world.check(move_to(moved), expect!["nothing"]);
    world.sweeps();
    assert_eq!(world.batch.wake_at(), Some(before_t0(-6 * DAY)));
    world.does(move_to(before_t0(5 * DAY)));
    world.sweeps();
    world.check(
        check(),
        expect![[r#"
            move@1 dispatched
            every member: open move@1
            cutover@1 dispatched
            every member: open cutover@1"#]],
    );
}

#[test]
fn no_phase_begins_while_a_batch_is_paused() {
    let mut world = World::detected(&timeline(1, false));
    world.check(
        pause(),
        expect![[r#"
            paused
            every member: pause"#]],
    );
    world.check(pause(), expect!["nothing"]);
    world.comes_to(DAY);
    world.check(begin_phase(100), expect!["refused: the batch is paused; resume it first"]);
    world.check_status(expect!["active; prepare@1 pending; move@1 pending; cutover@1 pending"]);
    world.check(
        resume(),
        expect![[r#"
            resumed
            every member: resume"#]],
    );
    world.check(resume(), expect!["nothing"]);
    world.does(check());
    world.check_status(expect![
        "active; prepare@1 dispatched; move@1 dispatched; cutover@1 pending"
    ]);
}
