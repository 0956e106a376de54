//! The process dies in the middle of a firing: the next one goes on, and makes no second run.

use std::sync::Arc;

use serde_json::json;
use stepwell_connectors::clock::Clock;
use stepwell_store::memory::MemoryStore;
use stepwell_store::{FiringOutcome, Store};

use super::world::{Place, at, schedule};
use crate::faulty::Faulty;
use crate::world::sqlite;

/// Where it dies.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Point {
    /// nothing is noted
    Before,
    /// the firing is queued, its run not started
    Queued,
    /// the run is started, which nobody has noted
    Started,
    /// all is noted
    Noted,
}

const POINTS: [Point; 4] = [Point::Before, Point::Queued, Point::Started, Point::Noted];

/// Lets a firing come as far as a point, and crashes there.
async fn crash_at(point: Point, inner: Arc<dyn Store>, overlap: &str) -> Place {
    let faulty = Faulty::new(inner);
    let store: Arc<dyn Store> = Arc::clone(&faulty) as _;
    let place = Place::on(store, "2026-02-03T12:00:00Z").await;
    place.put(schedule("0 * * * *", "UTC", json!({"overlap": overlap}))).await;
    faulty.notes.forget_permits(usize::MAX >> 3);
    let notes_before = *faulty.notes_arrived.borrow();
    let (notes, commits_pass) = match point {
        Point::Before => (0, true),
        Point::Queued => (1, false),
        Point::Started => (1, true),
        Point::Noted => (2, true),
    };
    faulty.notes.add_permits(notes);
    if !commits_pass {
        faulty.gate.forget_permits(usize::MAX >> 3);
    }
    let commits_before = *faulty.arrived.borrow();
    place.move_to(at("2026-02-03T13:00:00Z"));
    match point {
        Point::Before => {
            let mut arrived = faulty.notes_arrived.subscribe();
            arrived.wait_for(|arrived| *arrived > notes_before).await.expect("it lives");
        }
        Point::Queued => {
            let mut arrived = faulty.arrived.subscribe();
            arrived.wait_for(|arrived| *arrived > commits_before).await.expect("it lives");
        }
        Point::Started => {
            let mut arrived = faulty.notes_arrived.subscribe();
            arrived.wait_for(|arrived| *arrived > notes_before + 1).await.expect("it lives");
        }
        Point::Noted => place.until_outcomes("nightly", FiringOutcome::Started, 1).await,
    }
    place.world.engine.crash();
    place
}

async fn recovers(point: Point, mut place: Place, store: Arc<dyn Store>) {
    let before = place.world.clock.now_ms();
    place.world.restart(store).await;
    place.until_outcomes("nightly", FiringOutcome::Started, 1).await;
    place.until_looked("nightly").await;
    assert_eq!(place.lines("nightly").await, ["2026-02-03T13:00 started"], "{point:?}");
    let firing = place.firings("nightly").await.remove(0);
    assert_eq!(place.runs().await, [firing.run.expect("it has made a run")], "{point:?}");
    assert_eq!(place.world.clock.now_ms(), before, "at once");
    assert_eq!(place.world.take_one().await.run.id(), firing.run.expect("above"), "{point:?}");
    assert!(place.world.take_now().await.is_empty(), "{point:?}: its message is there once");
    place.next("nightly").await;
    assert_eq!(place.firings("nightly").await.len(), 2, "{point:?}: and it goes on");
}

// Issue 6: a restart never fires twice. X-125: a job whose message was lost with the process gets one.
#[tokio::test]
async fn a_crash_at_any_point_of_a_firing_makes_one_run() {
    for point in POINTS {
        for overlap in ["skip", "queue", "allow"] {
            let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
            let place = crash_at(point, Arc::clone(&store), overlap).await;
            recovers(point, place, store).await;
        }
    }
}

// Issue 6
#[tokio::test]
async fn so_it_does_on_disk() {
    for point in POINTS {
        let dir = tempfile::tempdir().expect("a place");
        let inner = sqlite(&dir);
        let place = crash_at(point, Arc::clone(&inner), "skip").await;
        inner.close().await.expect("the file is let go");
        recovers(point, place, sqlite(&dir)).await;
    }
}

// Issue 6: the run that nobody has noted counts for what comes after it.
#[tokio::test]
async fn after_a_crash_and_downtime_the_run_before_is_not_overlapped() {
    for point in POINTS {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let mut place = crash_at(point, Arc::clone(&store), "skip").await;
        place.move_to(at("2026-02-03T15:30:00Z"));
        place.world.restart(store).await;
        place.until_outcomes("nightly", FiringOutcome::Started, 1).await;
        place.until_looked("nightly").await;
        let started: Vec<String> = place
            .lines("nightly")
            .await
            .into_iter()
            .filter(|line| line.ends_with("started"))
            .collect();
        let expected = match point {
            // Nothing was noted, so that the latest is made in its place.
            Point::Before => "2026-02-03T15:00 started",
            Point::Queued | Point::Started | Point::Noted => "2026-02-03T13:00 started",
        };
        assert_eq!(started, [expected], "{point:?}");
        assert_eq!(place.runs().await.len(), 1, "{point:?}");
    }
}
