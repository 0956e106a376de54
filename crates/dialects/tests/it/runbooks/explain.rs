//! Why a batch is where it is.

use expect_test::{Expect, expect};
use stepwell_core::batch::{BatchCommand, BatchMode};
use stepwell_core::run::RunStatus;
use stepwell_core::time::Timestamp;
use stepwell_dialects::runbooks::explain::explain;

use super::batch::{BatchWorld, at, by, made_at};

#[track_caller]
fn check(world: &BatchWorld, now: Timestamp, expected: Expect) {
    let init = world.init(3);
    let of_init = stepwell_core::explain::explain(&init.run, now);
    let told = explain(&world.batch, Some(&of_init), now);
    let mut text = format!("{}\n", told.summary);
    for wait in told.waits {
        text += &format!("- {}: {}", wait.waiting_for, wait.reason);
        text += &wait.advice.map_or_else(String::new, |advice| format!(" [{advice}]"));
        text.push('\n');
    }
    expected.assert_eq(&text);
}

/// A batch with two members that are counted, being prepared.
fn detected(mode: BatchMode) -> BatchWorld {
    let mut world = BatchWorld::new(mode);
    for number in [7, 8] {
        let member = world.member(number);
        world.count(None, &member.run);
    }
    world
}

#[test]
fn a_batch_that_is_prepared_waits_for_its_first_init_step() {
    check(
        &detected(BatchMode::Scheduled),
        made_at(),
        expect![[r#"
            the batch of 2 members is being prepared
            - init: init step "create-batch-group": attempt 1 is in pool "worker-01"; no worker has acknowledged it yet [see that a worker of this pool is running]
        "#]],
    );
}

#[test]
fn a_manual_batch_waits_for_a_person() {
    check(
        &detected(BatchMode::Manual),
        made_at(),
        expect![[r#"
        the batch of 2 members has not begun
        - advance: a person must move a manual batch on [advance the batch]
    "#]],
    );
}

#[test]
fn a_batch_between_two_phases_waits_for_the_time_of_the_next() {
    let mut world = detected(BatchMode::Scheduled);
    world.tell(made_at(), &BatchCommand::Check { init: Some(RunStatus::Succeeded) });
    check(
        &world,
        made_at(),
        expect![[r#"
        the batch of 2 members is under way; 0 of 3 phases are over
        - time: phase "pre-notification" (T-5d) is due at 2026-01-10T08:00:00.000Z
    "#]],
    );
}

#[test]
fn a_phase_waits_for_the_members_that_are_in_it_and_a_sweep_goes_first() {
    let mut world = detected(BatchMode::Scheduled);
    world.tell(made_at(), &BatchCommand::Check { init: Some(RunStatus::Succeeded) });
    let due = at("2026-01-10T08:00:00Z");
    world.tell(due, &BatchCommand::Check { init: None });
    check(
        &world,
        due,
        expect![[r#"
            the batch of 2 members is under way; 0 of 3 phases are over
            - work: phase "pre-notification" is being opened for every member; done up to member 0
            - members: 2 of 2 members are still in phase "pre-notification" [GET /api/batches/42/steps with this phase lists what they wait for]
            - time: phase "prepare" (T-4h) is due at 2026-01-15T04:00:00.000Z
        "#]],
    );
    world.swept();
    world.tell(due, &BatchCommand::Pause { by: by() });
    world.swept();
    check(
        &world,
        due,
        expect![[r#"
            the batch of 2 members is paused; 0 of 3 phases are over
            - resume: the batch is paused: no phase begins [resume the batch]
            - members: 2 of 2 members are still in phase "pre-notification" [GET /api/batches/42/steps with this phase lists what they wait for]
            - time: phase "prepare" (T-4h) is due at 2026-01-15T04:00:00.000Z
        "#]],
    );
}

#[test]
fn a_batch_that_has_ended_waits_for_nothing() {
    let mut world = detected(BatchMode::Scheduled);
    world.tell(made_at(), &BatchCommand::Cancel { by: by() });
    world.swept();
    check(
        &world,
        made_at(),
        expect![[r#"
        the batch was cancelled at 2026-01-05T08:00:00.000Z; 3 of 3 phases are over
    "#]],
    );
}
