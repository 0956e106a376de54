//! Jobs in a store that several instances share.

use stepwell_core::command::Command;
use stepwell_core::duration::Interval;
use stepwell_core::run::RunStatus;
use stepwell_core::terms::{Keeping, Terms};
use stepwell_engine::Kept;

use super::{REPORT, create, done, one_sign, take, terms, told_end};
use crate::ownership::{Town, until_owned_by};

/// A worker may be silent for longer than an instance.
fn patient() -> Terms {
    let lease = Interval::from_secs(3_600);
    Terms { keeping: Some(Keeping { lease, unclaimed: lease }), ..terms(5) }
}

// a worker may talk to any instance; the owner decides, and the worker is told what it goes
// on with all the same.
#[tokio::test]
async fn a_worker_that_reports_to_another_instance_is_given_the_next_step_there() {
    let town = Town::new();
    let (one, two) = (town.instance().await, town.instance().await);
    one.publish(REPORT).await;
    let job = create(&one, patient()).await;
    let work = take(&one).await;
    let (_, next) = done(&two, work, 0).await;
    let next = next.expect("render");
    assert!(matches!(one_sign(&two, next).await, Kept::Until(Some(_))));
    assert!(one.take_now().await.is_empty() && two.take_now().await.is_empty());
    let (_, next) = done(&one, next, 0).await;
    let (run, _) = done(&two, next.expect("send"), 0).await;
    assert_eq!(run.status, RunStatus::Succeeded);
    assert_eq!(told_end(&two, job).await["outcome"], "completed");
}

// C-031, C-038, X-128: whoever takes a job over hands nothing out again that a worker has, and tells of its end
// once, also if the instance from before comes back.
#[tokio::test]
async fn a_job_whose_owner_dies_goes_on_with_its_worker_and_ends_once() {
    let town = Town::new();
    let (one, two) = (town.instance().await, town.instance().await);
    one.publish(REPORT).await;
    let job = create(&one, patient()).await;
    let work = take(&one).await;
    let (_, next) = done(&one, work, 0).await;
    one.engine.crash();
    town.pass(200).await;
    until_owned_by(&town, job, &two.engine).await;
    assert!(two.take_now().await.is_empty(), "the step is with its worker");
    let (_, next) = done(&two, next.expect("render"), 0).await;
    let last = next.expect("send");
    let (run, _) = done(&two, last, 0).await;
    assert_eq!(run.status, RunStatus::Succeeded);
    let three = town.instance().await;
    let again = last.report(crate::world::success(), 0);
    three.engine.command(job, again).await.expect_err("it has ended");
    three.engine.command(job, Command::Wake).await.expect("a wake changes nothing");
    assert_eq!(told_end(&three, job).await["outcome"], "completed");
}
