//! A group of decisions: what is done, what is left out, and that nothing is half done.

use std::sync::Arc;

use stepwell_core::command::{Act, Command};
use stepwell_core::definition::CancelMode;
use stepwell_core::run::Run;
use stepwell_core::step::Outcome;

use super::Subject;
use super::world::{
    World, ack, all, at, decided, given_up, header, item, message, moved, report, run_id, started,
    success, undoing, woken,
};
use crate::error::StoreError;
use crate::model::{Advance, DeadLetterFilter, Epoch, Filter, Group, Item, StoredRun, Verdict};

/// After every decision the stored run is the decided one, and the history has its record.
pub async fn a_decision_is_stored_whole(subject: Subject) {
    let world = World::of(&subject).await;
    let mut create = started(header(1));
    let mut records = vec![create.record.clone()];
    create.outbox = vec![message("begun", at(0))];
    let mut run = Arc::clone(&create.run);
    world.stores(item(create)).await;
    assert_eq!(world.stored(run.id()).await, Some(StoredRun::of(&run)));

    type Decides = fn(&Arc<Run>) -> Advance;
    let life: [Decides; 5] = [
        |run| decided(run, &ack(run)),
        |run| decided(run, &report(run, Outcome::Incomplete)),
        woken,
        |run| decided(run, &success(run)),
        |run| decided(run, &success(run)),
    ];
    for decides in life {
        let advance = decides(&run);
        records.extend(advance.records.clone());
        run = world.takes(advance).await;
        assert_eq!(world.stored(run.id()).await, Some(StoredRun::of(&run)));
    }
    assert!(run.status.is_terminal());
    assert_eq!(world.store.history(run.id(), 0, 100).await.expect("history"), records);

    let by = Act::new("ada", "to see");
    let paused = world.begins(header(2)).await;
    let paused = world.moves(&paused, &Command::Pause { by: by.clone() }).await;
    let cancel = Command::Cancel { mode: Some(CancelMode::Drain), by };
    let cancelling = world.moves(&paused, &cancel).await;
    assert_eq!(world.stored(cancelling.id()).await, Some(StoredRun::of(&cancelling)));
}

/// An item that lost its race is left out with all that belongs to it; its neighbors are done.
pub async fn a_stale_item_does_not_cost_its_neighbors(subject: Subject) {
    let world = World::of(&subject).await;
    let first = world.begins(header(1)).await;
    let second = world.begins(header(2)).await;
    let mut lost = decided(&second, &success(&second));
    lost.children = vec![started(undoing(run_id(2), 9))];
    lost.outbox = vec![message("lost", at(0))];
    lost.dead_letter = Some(given_up("run_failed"));
    let second = world.moves(&second, &ack(&second)).await;

    let verdicts = world
        .commits(vec![
            moved(&first, &success(&first)),
            Item::Advance(Box::new(lost)),
            item(started(header(3))),
        ])
        .await;

    assert_eq!(verdicts, [Verdict::Done, Verdict::Stale, Verdict::Done]);
    assert_eq!(world.stored(run_id(1)).await.map(|run| run.version), Some(2));
    assert_eq!(world.stored(run_id(2)).await, Some(StoredRun::of(&second)));
    assert_eq!(world.store.history(run_id(2), 0, 9).await.expect("history").len(), 2);
    assert!(world.stored(run_id(3)).await.is_some());
    assert_eq!(world.stored(run_id(9)).await, None);
    assert_eq!(world.outbox(at(99), 9).await.due, []);
    let letters = world.store.dead_letters(DeadLetterFilter::default()).await;
    assert_eq!(letters.expect("letters"), []);
}

/// A decision on a run that does not exist is stale, and so are its audit and its wake.
pub async fn a_run_that_does_not_exist_is_stale(subject: Subject) {
    let world = World::of(&subject).await;
    let run = started(header(1)).run;
    let reschedule = Item::Reschedule { run: run_id(1), version: 1, wake_at: None };
    let report = super::lists::stale_report(1, 1);
    let verdicts =
        world.commits(vec![moved(&run, &success(&run)), reschedule, Item::Audit(report)]).await;
    assert_eq!(verdicts, [Verdict::Stale, Verdict::Stale, Verdict::Stale]);
    assert_eq!(world.stored(run_id(1)).await, None);
}

/// A creation that was committed before, and is tried again, changes nothing.
pub async fn a_repeated_creation_is_stale(subject: Subject) {
    let world = World::of(&subject).await;
    let run = world.begins(header(1)).await;
    let run = world.moves(&run, &success(&run)).await;
    assert_eq!(world.commits(vec![item(started(header(1)))]).await, [Verdict::Stale]);
    assert_eq!(world.stored(run_id(1)).await, Some(StoredRun::of(&run)));
    assert_eq!(world.store.figures().await.expect("figures").runs_open, 1);
}

/// Whoever was taken over writes nothing, not even the items that would be sound.
pub async fn an_earlier_epoch_writes_nothing(subject: Subject) {
    if subject.store.is_shared() {
        // There it is silence that ends the right to write; see the cases of ownership.
        return;
    }
    let world = World::of(&subject).await;
    let before = world.epoch;
    let taken_over = World::of(&subject).await;
    assert!(taken_over.epoch > before);

    let group = Group::of(before, vec![item(started(header(1)))]);
    let refused = world.store.commit(group).await;
    assert!(
        matches!(refused, Err(StoreError::Fenced { mine, current })
            if Epoch(mine) == before && Epoch(current) == taken_over.epoch),
        "{refused:?}"
    );
    assert_eq!(world.lists(Filter::default(), all()).await, []);
    taken_over.begins(header(1)).await;
}

/// Several decisions on one run in one group come as several records.
pub async fn several_decisions_on_a_run_are_several_records(subject: Subject) {
    let world = World::of(&subject).await;
    let run = world.begins(header(1)).await;
    let one = decided(&run, &success(&run));
    let mut both = decided(&one.run, &success(&one.run));
    both.from_version = run.version;
    both.records = [one.records, both.records].concat();
    both.changed = [one.changed, both.changed].concat();
    let run = Arc::clone(&both.run);
    world.stores(Item::Advance(Box::new(both))).await;

    assert_eq!(world.stored(run_id(1)).await, Some(StoredRun::of(&run)));
    let history = world.store.history(run_id(1), 0, 9).await.expect("history");
    assert_eq!(history.iter().map(|record| record.version).collect::<Vec<_>>(), [1, 2, 3]);
}

/// Runs that a decision created are there with it.
pub async fn children_come_with_their_parent(subject: Subject) {
    let world = World::of(&subject).await;
    let run = world.begins(header(1)).await;
    let mut failed = decided(&run, &super::world::failure(&run));
    failed.children = vec![started(undoing(run_id(1), 2)), started(undoing(run_id(1), 3))];
    world.stores(Item::Advance(Box::new(failed))).await;

    let undoing = world.store.compensations(run_id(1)).await.expect("compensations");
    assert_eq!(undoing.iter().map(|run| run.id).collect::<Vec<_>>(), [run_id(2), run_id(3)]);
    assert_eq!(world.lists(Filter::default(), all()).await, [run_id(1)]);
    let everything = Filter { with_compensations: true, ..Filter::default() };
    assert_eq!(world.lists(everything, all()).await, [run_id(3), run_id(2), run_id(1)]);
}

/// Commits from many callers at once are each done once, and each gets its own answer.
pub async fn callers_at_once_each_get_their_own_answer(subject: Subject) {
    let world = World::of(&subject).await;
    let mut callers = tokio::task::JoinSet::new();
    for number in 0..64_u64 {
        let (store, epoch) = (Arc::clone(&world.store), world.epoch);
        callers.spawn(async move {
            // Every fourth repeats the creation of its neighbor.
            let create = started(header(number - number % 4 / 3));
            store.commit(Group::of(epoch, vec![item(create)])).await.expect("a commit")
        });
    }
    let verdicts: Vec<Verdict> = callers.join_all().await.into_iter().flatten().collect();
    assert_eq!(verdicts.iter().filter(|verdict| **verdict == Verdict::Done).count(), 48);
    assert_eq!(verdicts.iter().filter(|verdict| **verdict == Verdict::Stale).count(), 16);
    assert_eq!(world.lists(Filter::default(), all()).await.len(), 48);
}
