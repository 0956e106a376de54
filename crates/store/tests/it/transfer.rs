//! A store with batches under way, taken from SQLite to PostgreSQL.

use std::sync::Arc;

use stepwell_core::id::{BatchId, RunNumber};
use stepwell_core::run::BatchRole;
use stepwell_store::conformance::Subject;
use stepwell_store::conformance::batch_world::{
    ada, batch_header, decided_batch, detected, leave, leaving, opened, other_run,
};
use stepwell_store::conformance::world::{
    World, at, decided, failure, run_id, started, success, undoing,
};
use stepwell_store::sqlite::{Options, SqliteStore};
use stepwell_store::transfer::{StepNames, transfer};
use stepwell_store::{BatchWrite, Member, NewRunbook, Numbered};

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
