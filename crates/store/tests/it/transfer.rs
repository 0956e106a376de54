//! A store with batches and jobs under way, taken from SQLite to PostgreSQL.

use std::sync::Arc;

use stepwell_core::credit::{CreditState, Credits};
use stepwell_core::id::{BatchId, RunNumber, Tenant};
use stepwell_core::run::{BatchRole, Header};
use stepwell_core::terms::Terms;
use stepwell_store::conformance::batch_world::{
    ada, batch_header, decided_batch, detected, leave, leaving, opened, other_run,
};
use stepwell_store::conformance::world::{
    World, at, decided, failure, header, item, run_id, started, success, undoing,
};
use stepwell_store::conformance::{Subject, telling};
use stepwell_store::sqlite::{Options, SqliteStore};
use stepwell_store::transfer::{StepNames, transfer};
use stepwell_store::{
    Account, BatchWrite, Create, EventFilter, EventPlace, Events, Grant, Granted, LedgerLine,
    Member, NewRunbook, NewWorkflow, Numbered, Subscription,
};

use crate::postgres::Place;

/// A batch with a member under way, one whose failure is being undone, one who left, and a preparation.
async fn lives(world: &World) {
    let document = NewRunbook {
        name: "move".to_owned(),
        source: "name: move".to_owned(),
        overdue: stepwell_core::batch::Overdue::Ignore,
        rerun_init: true,
        created_at: at(0),
        created_by: "ada".to_owned(),
    };
    world.store.publish_runbook(document).await.unwrap();
    world.store.set_automation("move".to_owned(), true, "ada".to_owned(), at(4)).await.unwrap();
    world.store.note_keys("move".to_owned(), vec!["ada".to_owned()]).await.unwrap();
    world.store.reserve(Numbered::Member, 7).await.unwrap();
    let mut write = detected(batch_header(1), &[5, 6, 7]);
    write.runs = vec![other_run(BatchId(1), None, BatchRole::Init, 90)];
    let batch = world.decides(write).await;
    for number in [5, 6] {
        let run = world.member_run(number).await;
        world.stores(opened(&run, "prepare")).await;
    }
    let run = world.member_run(5).await;
    world.moves(&run, &success(&run)).await;
    let run = world.member_run(6).await;
    let mut failed = decided(&run, &failure(&run));
    let mut undo = undoing(run_id(6), 95);
    undo.membership = run.header.membership;
    failed.children = vec![started(undo)];
    world.takes(failed).await;
    let gone = decided_batch(&batch, &leave(1));
    let batch = world.decides(BatchWrite { removed: vec![leaving(7, "ada")], ..gone }).await;
    let pause = stepwell_core::batch::BatchCommand::Pause { by: ada() };
    world.decides(decided_batch(&batch, &pause)).await;
}

// whatever was true of a batch before the move is true after it.
#[tokio::test]
async fn batches_under_way_are_taken_along() {
    let Some(place) = Place::fresh() else { return };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("stepwell.db");
    let source = Arc::new(SqliteStore::open(&path, Options::default()).unwrap());
    let world = World::of(&Subject { store: source, reopen: None }).await;
    lives(&world).await;
    let batch = world.batch(1).await;
    let members: Vec<Member> = world.members(1).await;
    let runs = world.loads([5, 6, 7, 90, 95].map(run_id).to_vec()).await;
    let events = world.store.batch_events(None, 0, 9).await.unwrap();
    let runbooks = world.store.runbooks(None).await.unwrap();
    let automation = world.store.automation("move".to_owned()).await.unwrap();
    world.store.close().await.unwrap();
    drop(world);

    let nobody: StepNames =
        Box::new(|_, _| Err("no run here has a workflow of its own".to_owned()));
    let moved = transfer(&path, &place.url, nobody, |_| {}, std::future::pending()).await.unwrap();
    let moved = moved.expect("nobody stopped it").tables;
    for table in ["batch", "batch_phase", "batch_member", "batch_run", "step_spec", "runbook"] {
        assert!(moved.iter().any(|(name, rows)| *name == table && *rows > 0), "{table}");
    }
    let target = place.open().await;
    let world = World::of(&Subject { store: Arc::new(target), reopen: None }).await;
    assert_eq!(world.batch(1).await, batch);
    assert_eq!(world.members(1).await, members);
    assert_eq!(world.loads([5, 6, 7, 90, 95].map(run_id).to_vec()).await, runs);
    assert_eq!(world.store.batch_events(None, 0, 9).await.unwrap(), events);
    assert_eq!(world.store.runbooks(None).await.unwrap(), runbooks);
    assert_eq!(world.store.automation("move".to_owned()).await.unwrap(), automation);
    let run = world.store.numbered_run(RunNumber(6)).await.unwrap().map(|known| known.run);
    assert_eq!(run, Some(run_id(6)));
    assert_eq!(world.store.reserve(Numbered::Member, 1).await.unwrap(), 8, "numbers go on");
    let seen = world.store.seen_keys("move".to_owned(), vec!["ada".to_owned()]).await.unwrap();
    assert_eq!(seen, ["ada"]);
    let run = world.member_run(5).await;
    world.moves(&run, &success(&run)).await;
    assert_eq!(world.batch(1).await.phases[0].tally.succeeded, 1, "and they go on counting");
}

fn grant() -> Grant {
    Grant {
        tenant: Tenant::new("acme"),
        amount: Credits::whole(9),
        actor: "ada".to_owned(),
        reason: "spring".to_owned(),
        key: Some("k".to_owned()),
        at: at(0),
    }
}

/// A job that costs something and tells of itself, and somebody who listens.
async fn costs_and_tells(world: &World) {
    let document = NewWorkflow {
        name: "onboard".to_owned(),
        request_type: None,
        source: "name: onboard".to_owned(),
        created_at: at(0),
        created_by: "ada".to_owned(),
    };
    world.store.publish_workflow(document).await.unwrap();
    world.store.grant(grant()).await.unwrap();
    let granted = Header { terms: Some(Arc::new(Terms::default())), ..header(1) };
    let reserved = CreditState::reserve(Credits::whole(4));
    let mut create = telling(granted, &["queued", "started"]);
    Arc::make_mut(&mut create.run).credits = Some(CreditState::default().after(&reserved));
    world.stores(item(Create { credits: vec![reserved], ..create })).await;
    let subscription = Subscription {
        id: "s".to_owned(),
        tenant: None,
        dialects: Vec::new(),
        kinds: vec!["queued".to_owned()],
        url: "https://receiver.example/hook".to_owned(),
        description: String::new(),
        enabled: true,
        actor: "ada".to_owned(),
        created_at: at(1),
    };
    world.store.put_subscription(subscription).await.unwrap();
}

/// What is known of that.
async fn known(world: &World) -> (Account, Vec<LedgerLine>, Events, Vec<Subscription>) {
    let (store, acme) = (&world.store, Tenant::new("acme"));
    (
        store.account(acme.clone()).await.unwrap(),
        store.ledger(acme, None, None, 9).await.unwrap(),
        store.events(EventFilter::default(), EventPlace(0), 9).await.unwrap(),
        store.subscriptions().await.unwrap(),
    )
}

// C-011, X-127: what runs cost before the move, they cost after it; and nobody who listens misses
// anything.
#[tokio::test]
async fn credits_and_events_are_taken_along() {
    let Some(place) = Place::fresh() else { return };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("stepwell.db");
    let source = Arc::new(SqliteStore::open(&path, Options::default()).unwrap());
    let world = World::of(&Subject { store: source, reopen: None }).await;
    costs_and_tells(&world).await;
    let (before, run) = (known(&world).await, world.stored(run_id(1)).await);
    world.store.close().await.unwrap();
    drop(world);

    let names: StepNames = Box::new(|_, _| Ok(vec!["first".to_owned(), "second".to_owned()]));
    let moved = transfer(&path, &place.url, names, |_| {}, std::future::pending()).await.unwrap();
    assert!(moved.is_some(), "nobody stopped it");
    let world = World::of(&Subject { store: Arc::new(place.open().await), reopen: None }).await;
    assert_eq!(known(&world).await, before);
    assert_eq!(world.stored(run_id(1)).await, run);
    let (account, lines, events, _) = before;
    assert_eq!(world.store.grant(grant()).await.unwrap(), Granted::Repeated(account));
    let more = Grant { key: None, ..grant() };
    world.store.grant(more).await.unwrap();
    world.stores(item(telling(header(2), &["queued"]))).await;
    let (_, later, _, _) = known(&world).await;
    assert!(later[0].id > lines[0].id, "numbers go on");
    let later = world.events(EventFilter::default(), events.upto, 9).await;
    assert_eq!(later.events.len(), 1, "places go on");
}
