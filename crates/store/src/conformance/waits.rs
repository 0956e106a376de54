//! Moments: which runs are due, and that no moment is ever stored too late.

use stepwell_core::command::Command;
use stepwell_core::run::Header;
use stepwell_core::step::{Outcome, StepError};

use super::Subject;
use super::world::{World, at, header, report, run_id, success};
use crate::model::{Due, Item, Verdict};

/// The moment at which the first attempt of a run that was asked for at dawn is given up.
const LEASE_SECS: u64 = 900;

/// Runs come due earliest first, and the answer says when to look again.
pub async fn runs_come_due_earliest_first(subject: Subject) {
    let world = World::of(&subject).await;
    for (number, created) in [(1, 30), (2, 10), (3, 20), (4, 10)] {
        world.begins(Header { created_at: at(created), ..header(number) }).await;
    }
    let due = |seconds, limit| world.store.due(world.epoch, at(seconds), limit);
    let nothing = due(LEASE_SECS + 9, 9).await.expect("due");
    assert_eq!(nothing, Due { runs: vec![], next: Some(at(LEASE_SECS + 10)) });
    let some = due(LEASE_SECS + 20, 9).await.expect("due");
    assert_eq!(
        some,
        Due { runs: vec![run_id(2), run_id(4), run_id(3)], next: Some(at(LEASE_SECS + 30)) }
    );
    let cut = due(LEASE_SECS + 30, 2).await.expect("due");
    assert_eq!(cut, Due { runs: vec![run_id(2), run_id(4)], next: None });
}

/// A moment that moves away may stay stored; a reschedule puts the true one in its place.
pub async fn a_stored_moment_is_early_never_late(subject: Subject) {
    let world = World::of(&subject).await;
    let run = world.begins(header(1)).await;
    let run = world.moves(&run, &success(&run)).await;
    let moment = run.wake_at().expect("the second step is under way");
    assert!(moment > at(LEASE_SECS));

    let due = world.store.due(world.epoch, moment, 9).await.expect("due");
    assert_eq!(due.runs, [run_id(1)], "at its true moment a run is due");

    let reschedule = |version| Item::Reschedule { run: run_id(1), version, wake_at: run.wake_at() };
    let verdicts = world.commits(vec![reschedule(1)]).await;
    assert_eq!(verdicts, [Verdict::Stale], "only as it was loaded");
    world.stores(reschedule(run.version)).await;
    let due = world.store.due(world.epoch, at(LEASE_SECS), 9).await.expect("due");
    assert_eq!(due, Due { runs: vec![], next: Some(moment) });
}

/// A moment that comes nearer is stored at once.
pub async fn an_earlier_moment_is_stored_at_once(subject: Subject) {
    let world = World::of(&subject).await;
    let run = world.begins(header(1)).await;
    let error = StepError::new("busy", "the mailbox is busy");
    let failed = Outcome::Failed { error, retryable: true, retry_after: None };
    let run = world.moves(&run, &report(&run, failed)).await;
    let moment = run.wake_at().expect("the next attempt has a time");
    assert!(moment < at(LEASE_SECS));
    let due = world.store.due(world.epoch, moment, 9).await.expect("due");
    assert_eq!(due.runs, [run_id(1)]);
}

/// A run that begins to wait, having waited for nothing, is due at its moment.
pub async fn a_first_moment_is_stored(subject: Subject) {
    let world = World::of(&subject).await;
    let run = world.begins(header(1)).await;
    world.stores(Item::Reschedule { run: run_id(1), version: 1, wake_at: None }).await;
    let due = world.store.due(world.epoch, at(99_999), 9).await.expect("due");
    assert_eq!(due, Due::default());
    let run = world.moves(&run, &success(&run)).await;
    let moment = run.wake_at().expect("the second step is under way");
    assert_eq!(world.store.due(world.epoch, moment, 9).await.expect("due").runs, [run_id(1)]);
}

/// A run that has ended is never due.
pub async fn an_ended_run_waits_for_nothing(subject: Subject) {
    let world = World::of(&subject).await;
    let run = world.begins(header(1)).await;
    world.finishes(run).await;
    let cancelled = world.begins(header(2)).await;
    let by = stepwell_core::command::Act::new("ada", "enough");
    let mode = Some(stepwell_core::definition::CancelMode::Immediate);
    world.moves(&cancelled, &Command::Cancel { mode, by }).await;
    assert_eq!(world.store.due(world.epoch, at(9_999_999), 9).await.expect("due"), Due::default());
}
