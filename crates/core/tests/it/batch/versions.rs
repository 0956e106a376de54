//! A batch under way follows a newer version of its runbook.

use expect_test::expect;
use stepwell_core::batch::{BatchStatus, Init, Overdue};
use stepwell_core::run::RunStatus;

use super::world::{
    DAY, World, adopt, begin_phase, check, init_is, move_to, pause, t0, timeline, timeline_of,
};

/// Version 1: `prepare` is over, `move` is under way, `cutover` is to come.
fn under_way() -> World {
    let mut world = World::detected(&timeline(1, false));
    world.comes_to(DAY);
    world.ends("prepare@1", 10);
    world
}

// A-125, A-127, X-018, X-073: with `ignore`, nothing is done twice.
#[test]
fn what_is_past_due_is_passed_over_and_what_is_under_way_ends() {
    let mut world = under_way();
    world.check(
        adopt(timeline(2, false), Overdue::Ignore, false),
        expect![[r#"
            version 2
            cutover@1 superseded
            prepare@2 skipped
            move@2 skipped
            every member: adopt 2, superseded ["cutover@1"], skipped ["prepare@2", "move@2"]"#]],
    );
    world.sweeps();
    world.check_status(expect![
        "active; prepare@1 completed; move@1 dispatched; cutover@1 superseded; prepare@2 skipped; move@2 skipped; cutover@2 pending"
    ]);
    world.ends("move@1", 10);
    assert_eq!(world.phase("move@1").completed_at, Some(world.now));
}

// A-126, X-018, X-073: with `rerun`, what is past due is done again, and what is under way is
// superseded first.
#[test]
fn what_is_past_due_is_done_again() {
    let mut world = under_way();
    world.check(
        adopt(timeline(2, false), Overdue::Rerun, false),
        expect![[r#"
            version 2
            move@1 superseded
            cutover@1 superseded
            every member: adopt 2, superseded ["move@1", "cutover@1"], skipped []"#]],
    );
    world.sweeps();
    world.members(10);
    world.check(
        check(),
        expect![[r#"
            prepare@2 dispatched
            every member: open prepare@2
            move@2 dispatched
            every member: open move@2"#]],
    );
}

// X-075: it follows the newer version from here on, and its history keeps the old one.
#[test]
fn a_batch_points_to_the_version_that_it_follows() {
    let mut world = under_way();
    world.does(adopt(timeline(2, false), Overdue::Ignore, false));
    assert_eq!(world.batch.runbook_version, 2);
    let versions: Vec<u32> = world.batch.phases.iter().map(|phase| phase.version).collect();
    assert_eq!(versions, [1, 1, 1, 2, 2, 2]);
    world.check(adopt(timeline(2, false), Overdue::Ignore, false), expect!["nothing"]);
    world.check(adopt(timeline(1, false), Overdue::Rerun, true), expect!["nothing"]);
}

// A-128, X-076: no phase begins until the batch is prepared again.
#[test]
fn a_batch_may_be_prepared_again() {
    let mut world = World::detected(&timeline(1, true));
    world.does(init_is(RunStatus::Succeeded));
    world.check(
        adopt(timeline(2, true), Overdue::Ignore, true),
        expect![[r#"
            version 2
            prepare@1 superseded
            move@1 superseded
            cutover@1 superseded
            every member: adopt 2, superseded ["prepare@1", "move@1", "cutover@1"], skipped []
            init dispatched run=2 version=2
            -> start init run=2"#]],
    );
    world.sweeps();
    world.members(10);
    assert_eq!(world.batch.status, BatchStatus::InitDispatched);
    world.comes_to(0);
    world.check(
        begin_phase(200),
        expect!["refused: the batch is init_dispatched; its phases begin when it is active"],
    );
    world.does(init_is(RunStatus::Succeeded));
    world.check_status(expect![[
        "active; prepare@1 superseded; move@1 superseded; cutover@1 superseded; \
         prepare@2 dispatched; move@2 dispatched; cutover@2 dispatched"
    ]]);
}

// X-076: a preparation that fails fails the batch, also the second time.
#[test]
fn a_second_preparation_that_fails_fails_the_batch() {
    let mut world = World::detected(&timeline(1, true));
    world.does(init_is(RunStatus::Succeeded));
    world.does(adopt(timeline(2, true), Overdue::Ignore, true));
    world.does(init_is(RunStatus::Failed));
    assert_eq!(world.batch.status, BatchStatus::Failed);
}

// A-128: one preparation at a time.
#[test]
fn a_preparation_under_way_is_stopped_for_the_newer_one() {
    let mut world = World::detected(&timeline(1, true));
    let decision = world.does(adopt(timeline(2, true), Overdue::Ignore, true));
    assert_eq!(decision.effects.len(), 2, "one is stopped, one is started");
    let Init::Dispatched(run) = world.batch.init else { panic!("{:?}", world.batch.init) };
    assert_eq!(run.as_u128(), 2);
}

// A-129: without `rerun_init` no init runs for the newer version.
#[test]
fn a_batch_is_not_prepared_again_unless_that_is_wanted() {
    let mut world = under_way();
    let decision = world.does(adopt(timeline(2, true), Overdue::Rerun, false));
    assert_eq!(decision.effects, []);
    assert_eq!((world.batch.status, world.batch.init), (BatchStatus::Active, Init::Absent));
    let mut without = under_way();
    let decision = without.does(adopt(timeline(2, false), Overdue::Rerun, true));
    assert_eq!(decision.effects, [], "the newer version has no init");
}

// X-072: publishing a typo fix neither repeats a phase nor drops one that never had its turn.
#[test]
fn a_phase_that_was_held_up_keeps_its_turn() {
    let mut world = World::detected(&timeline(1, false));
    world.does(pause());
    world.comes_to(DAY);
    world.check(
        adopt(timeline(2, false), Overdue::Ignore, false),
        expect![[r#"
            version 2
            prepare@1 superseded
            move@1 superseded
            cutover@1 superseded
            every member: adopt 2, superseded ["prepare@1", "move@1", "cutover@1"], skipped []"#]],
    );
}

// A-125: the newer version may have other phases at other times.
#[test]
fn phases_of_the_newer_version_are_due_by_its_own_offsets() {
    let mut world = under_way();
    let newer = timeline_of(2, false, &[("check", 60), ("cutover", 0)]);
    world.does(adopt(newer, Overdue::Ignore, false));
    world.sweeps();
    world.members(10);
    world.does(move_to(t0()));
    world.comes_to(60);
    world.check_status(expect![
        "active; prepare@1 completed; move@1 dispatched; cutover@1 superseded; check@2 dispatched; cutover@2 pending"
    ]);
}

// A-113, X-065: whoever joins after the change does what the others did under the version before.
#[test]
fn a_member_who_joins_after_a_newer_version_misses_nothing() {
    let mut world = under_way();
    world.does(adopt(timeline(2, false), Overdue::Ignore, false));
    world.sweeps();
    let way = world.batch.catch_up();
    assert_eq!(way.versions, [1, 2]);
    assert_eq!(way.open, ["prepare@1", "move@1"]);
    assert_eq!(way.skipped, ["cutover@1", "prepare@2", "move@2"]);
}

// A-126: what was done again is done once by whoever joins after that.
#[test]
fn a_member_who_joins_after_a_rerun_does_what_is_newest() {
    let mut world = under_way();
    world.does(adopt(timeline(2, false), Overdue::Rerun, false));
    world.sweeps();
    world.members(10);
    world.does(check());
    let way = world.batch.catch_up();
    assert_eq!((way.versions, way.skipped), (vec![2], Vec::new()));
    assert_eq!(way.open, ["prepare@2", "move@2"]);
}
