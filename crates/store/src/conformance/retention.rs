//! Retention: what is deleted, what is left alone, what stays behind.

use std::sync::Arc;

use stepwell_core::id::Tenant;
use stepwell_core::run::{Run, RunStatus};

use super::Subject;
use super::lists::stale_report;
use super::world::{
    World, all, at, decided, depth, failure, given_up, header, item, key, message, run_id, started,
};
use crate::model::{Create, DeadLetterFilter, Figures, Filter, Item, Stub};

/// Stores a run that failed, with everything a run can have, to be deleted at this moment.
async fn ended(world: &World, number: u64, expires: Option<u64>) -> Arc<Run> {
    let name = u8::try_from(number).expect("few runs");
    let create = Create {
        key: Some(key(name, b'r')),
        outbox: vec![message("begun", at(0))],
        ..started(header(number))
    };
    let run = Arc::clone(&create.run);
    world.stores(item(create)).await;
    world.stores(Item::Audit(stale_report(number, 1))).await;
    let mut end = decided(&run, &failure(&run));
    end.dead_letter = Some(given_up("run_failed"));
    end.expires_at = expires.map(at);
    let run = Arc::clone(&end.run);
    world.stores(Item::Advance(Box::new(end))).await;
    run
}

/// Only ended runs whose time has come are deleted, with all that belongs to them; a stub stays.
pub async fn a_sweep_deletes_what_has_expired(subject: Subject) {
    let world = World::of(&subject).await;
    let gone = ended(&world, 1, Some(100)).await;
    ended(&world, 2, Some(101)).await;
    ended(&world, 3, None).await;
    world.begins(header(4)).await;
    assert_eq!(world.store.sweep(at(99), 9).await.expect("a sweep"), 0);
    assert_eq!(world.store.sweep(at(100), 9).await.expect("a sweep"), 1);

    assert_eq!(world.lists(Filter::default(), all()).await, [4, 3, 2].map(run_id));
    assert_eq!(world.stored(run_id(1)).await, None);
    assert_eq!(world.store.history(run_id(1), 0, 9).await.expect("history"), []);
    assert_eq!(world.store.stale_reports(run_id(1)).await.expect("reports"), []);
    let holder = |name: u8| world.store.by_key(Tenant::new("acme"), [name; 32]);
    assert_eq!(holder(1).await.expect("no key"), None);
    assert!(holder(2).await.expect("a key").is_some());
    let of_run = DeadLetterFilter { run: Some(run_id(1)), ..DeadLetterFilter::default() };
    assert_eq!(world.store.dead_letters(of_run).await.expect("letters"), []);
    let figures = Figures {
        runs_open: 1,
        dead_letters: 2,
        dead_letters_by_reason: vec![depth("run_failed", 2)],
        outbox: 2,
    };
    assert_eq!(world.store.figures().await.expect("figures"), figures);

    let stub = Stub {
        run: run_id(1),
        tenant: Tenant::new("acme"),
        workflow: "onboard".to_owned(),
        status: RunStatus::Failed,
        ended_at: gone.ended_at.expect("it has ended"),
        deleted_at: at(100),
    };
    assert_eq!(world.store.stub(run_id(1)).await.expect("a stub"), Some(stub));
    assert_eq!(world.store.stub(run_id(2)).await.expect("no stub"), None);
}

/// A sweep does as much as it is asked to, the longest overdue first.
pub async fn a_sweep_goes_in_small_chunks(subject: Subject) {
    let world = World::of(&subject).await;
    for (number, expires) in [(1, 30), (2, 10), (3, 20)] {
        ended(&world, number, Some(expires)).await;
    }
    assert_eq!(world.store.sweep(at(99), 2).await.expect("a sweep"), 2);
    assert_eq!(world.lists(Filter::default(), all()).await, [run_id(1)]);
    assert_eq!(world.store.sweep(at(99), 2).await.expect("a sweep"), 1);
    assert_eq!(world.store.sweep(at(99), 2).await.expect("a sweep"), 0);
}

/// A run that has not ended is never deleted, however old it is (C-042); an ended one says when it may be
/// (C-041).
pub async fn what_is_not_ended_never_expires(subject: Subject) {
    let world = World::of(&subject).await;
    let open = Create { expires_at: Some(at(1)), ..started(header(1)) };
    world.stores(item(open)).await;
    ended(&world, 2, Some(100)).await;
    ended(&world, 3, None).await;
    let asked = [1, 2, 3, 4].map(run_id).to_vec();
    let expiries = world.store.expiries(asked).await.expect("expiries");
    assert_eq!(expiries, [None, Some(at(100)), None, None]);
    assert_eq!(world.store.sweep(at(1_000_000_000), 9).await.expect("a sweep"), 1);
    assert_eq!(world.lists(Filter::default(), all()).await, [3, 1].map(run_id));
}

/// Stubs are forgotten in the end, oldest first; a batch needs those of its members.
pub async fn stubs_are_forgotten_in_the_end(subject: Subject) {
    let world = World::of(&subject).await;
    for (number, expires) in [(1, 10), (2, 20), (3, 30)] {
        ended(&world, number, Some(expires)).await;
        assert_eq!(world.store.sweep(at(expires), 9).await.expect("a sweep"), 1);
    }
    let forget = |before, limit| world.store.forget(at(before), at(0), limit);
    assert_eq!(forget(10, 9).await.expect("none is older"), 0);
    assert_eq!(forget(30, 1).await.expect("one at a time"), 1);
    assert_eq!(world.store.stub(run_id(1)).await.expect("no stub"), None);
    assert!(world.store.stub(run_id(2)).await.expect("a stub").is_some());
    assert_eq!(forget(30, 9).await.expect("the rest"), 1);
    assert!(world.store.stub(run_id(3)).await.expect("a stub").is_some());
}
