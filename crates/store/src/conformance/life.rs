//! The store itself: figures, closing, opening again.

use std::sync::Arc;

use super::Subject;
use super::world::{
    World, ack, all, at, depth, given_up, header, item, key, message, run_id, started,
};
use crate::error::StoreError;
use crate::model::{Create, DeadLetterFilter, Figures, Filter, Group, StoredRun, Verdict};

/// The figures follow every commit, and count compensations as open too.
pub async fn figures_follow_every_commit(subject: Subject) {
    let world = World::of(&subject).await;
    assert_eq!(world.store.figures().await.expect("figures"), Figures::default());
    let create = Create {
        outbox: vec![message("begun", at(0))],
        dead_letter: Some(given_up("odd")),
        children: vec![started(super::world::undoing(run_id(1), 2))],
        ..started(header(1))
    };
    let run = Arc::clone(&create.run);
    world.stores(item(create)).await;
    let figures = Figures {
        runs_open: 2,
        dead_letters: 1,
        dead_letters_by_reason: vec![depth("odd", 1)],
        outbox: 1,
    };
    assert_eq!(world.store.figures().await.expect("figures"), figures);
    world.finishes(run).await;
    assert_eq!(world.store.figures().await.expect("figures").runs_open, 1);
    world.store.probe().await.expect("the store takes writes");
}

/// A closed store does nothing more, and can be closed again.
pub async fn a_closed_store_refuses_politely(subject: Subject) {
    let world = World::of(&subject).await;
    let store = &world.store;
    store.close().await.expect("closed");
    store.close().await.expect("closed again");
    let group = Group::of(world.epoch, vec![item(started(header(1)))]);
    assert!(matches!(store.commit(group).await, Err(StoreError::Unavailable { .. })));
    let read = store.load(vec![run_id(1)]).await;
    assert!(matches!(read, Err(StoreError::Unavailable { .. })), "{read:?}");
    assert!(store.probe().await.is_err());
}

/// A store that is opened again has everything, and is in nobody's hands.
pub async fn everything_is_there_after_a_restart(subject: Subject) {
    let Some(reopen) = &subject.reopen else { return };
    let world = World::of(&subject).await;
    let create = Create {
        key: Some(key(b'k', b'r')),
        tenant_cap: Some(1),
        outbox: vec![message("begun", at(0))],
        dead_letter: Some(given_up("odd")),
        ..started(header(1))
    };
    let run = Arc::clone(&create.run);
    world.stores(item(create)).await;
    let run = world.moves(&run, &ack(&run)).await;
    let history = world.store.history(run_id(1), 0, 9).await.expect("history");
    world.store.close().await.expect("closed");

    let store = reopen().await.expect("opened again");
    let again = World::of(&Subject { store, reopen: None }).await;
    assert!(again.epoch > world.epoch);
    assert_eq!(again.stored(run_id(1)).await, Some(StoredRun::of(&run)));
    assert_eq!(again.store.history(run_id(1), 0, 9).await.expect("history"), history);
    assert_eq!(again.lists(Filter::default(), all()).await, [run_id(1)]);
    assert_eq!(again.outbox(at(0), 9).await.due.len(), 1);
    let letters = again.store.dead_letters(DeadLetterFilter::default()).await.expect("letters");
    assert_eq!(letters.len(), 1);
    let repeated = Create { key: Some(key(b'k', b'r')), ..started(header(2)) };
    let full = Create { tenant_cap: Some(1), ..started(header(3)) };
    let verdicts = again.commits(vec![item(repeated), item(full)]).await;
    assert!(matches!(verdicts[..], [Verdict::Duplicate(_), Verdict::TenantFull { open: 1 }]));
}
