//! The store fails under a job at every point of its life.

use std::sync::Arc;

use stepwell_core::credit::Restore;
use stepwell_core::run::{Run, RunStatus};
use stepwell_store::Store;

use super::credits::{account, grant};
use super::{Work, create, is_stale, kinds, priced, stores, take, told_end, world_on};
use crate::faulty::{Fault, Faulty};
use crate::world::{World, success};

/// Reports a step done over a store that fails once, and again until it is told something: as a worker
/// that does not hear an answer would.
async fn reported(world: &World, store: &Faulty, fault: Fault, work: Work) -> Arc<Run> {
    store.fail_next(&[fault]);
    let report = work.report(success(), 2);
    world.engine.command(work.run, report.clone()).await.expect_err("the store failed");
    match world.engine.command(work.run, report).await {
        Ok(run) => {
            assert_eq!(fault, Fault::Lost, "what was not written counts when it comes again");
            run
        }
        Err(error) => {
            assert!(is_stale(&error), "it had been written: {error}");
            assert_eq!(fault, Fault::WrittenButUnknown);
            world.run(work.run).await
        }
    }
}

// C-031, X-126, X-127, X-128: whether a commit was lost or only its answer, every step is paid for once, the
// worker learns what it goes on with, and the end is told once.
#[tokio::test]
async fn a_job_on_a_store_that_fails_at_every_report_is_paid_for_and_told_once() {
    for fault in [Fault::Lost, Fault::WrittenButUnknown] {
        let place = tempfile::tempdir().expect("a place");
        for inner in stores(&place) {
            let store = Faulty::new(inner);
            let world = world_on(Arc::clone(&store) as Arc<dyn Store>).await;
            grant(&world, 100).await;
            let job = create(&world, priced(10, Restore::Never)).await;
            let mut work = Some(take(&world).await);
            let mut spent = 0;
            while let Some(at) = work {
                let run = reported(&world, &store, fault, at).await;
                spent += 2;
                let left = if run.status.is_terminal() { 0 } else { 10 - spent };
                assert_eq!(account(&world).await, (100 - spent - left, left, spent), "{fault:?}");
                work = at.next(&run);
            }
            assert_eq!(world.run(job).await.status, RunStatus::Succeeded);
            assert_eq!(told_end(&world, job).await["outcome"], "completed");
            let steps = kinds(&world, job).await;
            let steps = steps.iter().filter(|kind| *kind == "workflow_run_step_completed");
            assert_eq!(steps.count(), 3);
        }
    }
}
