//! What others are told of jobs.

use std::net::SocketAddr;

use serde_json::json;
use stepwell_connectors::egress::secret_bytes;
use stepwell_core::command::{Act, Command};
use stepwell_core::duration::Interval;
use stepwell_core::id::RunId;
use stepwell_core::run::{Dialect, RunStatus};
use stepwell_engine::Settings;
use stepwell_store::Subscription;

use super::{acme, create, done, kinds, stores, take, terms, told_end, world_on};
use crate::webhooks::{may_call_here, receiver, receiver_with};
use crate::world::{SECRET, World, failure};

fn subscription(world: &World, id: &str, to: SocketAddr, kinds: &[&str]) -> Subscription {
    Subscription {
        id: id.to_owned(),
        tenant: Some(acme()),
        dialects: Vec::new(),
        kinds: kinds.iter().map(|kind| (*kind).to_owned()).collect(),
        url: format!("http://{to}/hook"),
        description: String::new(),
        enabled: true,
        actor: "tester".to_owned(),
        created_at: world.engine.now(),
    }
}

async fn cancel(world: &World, job: RunId) {
    let by = Act::new("user", "");
    world.engine.command(job, Command::Cancel { mode: None, by }).await.expect("cancels");
}

// C-019, C-031, X-128: queued, started, each step, failed, queued again …, and one end whatever it is.
#[tokio::test]
async fn a_job_is_told_from_its_message_to_its_end() {
    let place = tempfile::tempdir().expect("a place");
    for store in stores(&place) {
        let world = world_on(store).await;
        let job = create(&world, terms(5)).await;
        let work = take(&world).await;
        world.engine.command(job, work.report(failure(true), 0)).await.expect("counts");
        world.after(30, job, |run| run.status == RunStatus::Ready).await;
        let work = take(&world).await;
        let (_, work) = done(&world, work, 0).await;
        let (_, work) = done(&world, work.expect("render"), 0).await;
        done(&world, work.expect("send"), 0).await;
        assert_eq!(
            kinds(&world, job).await,
            [
                "workflow_run_queued",
                "workflow_run_started",
                "workflow_run_attempt_failed",
                "workflow_run_queued",
                "workflow_run_started",
                "workflow_run_step_completed",
                "workflow_run_step_completed",
                "workflow_run_step_completed",
                "workflow_run_completed",
            ]
        );
        assert_eq!(told_end(&world, job).await, json!({"success": true, "outcome": "completed"}));
    }
}

// C-031, X-128: every end is told, each in its own words.
#[tokio::test]
async fn every_end_is_told_once() {
    let place = tempfile::tempdir().expect("a place");
    for store in stores(&place) {
        let world = world_on(store).await;
        let jobs = [create(&world, terms(1)).await, create(&world, terms(1)).await];
        let work = take(&world).await;
        let dead = work.run;
        let cancelled = *jobs.iter().find(|job| **job != dead).expect("the other one");
        world.engine.command(dead, work.report(failure(true), 0)).await.expect("counts");
        cancel(&world, cancelled).await;
        assert_eq!(told_end(&world, dead).await, json!({"success": false, "outcome": "dead"}));
        let canceled = json!({"success": false, "outcome": "canceled"});
        assert_eq!(told_end(&world, cancelled).await, canceled);
        assert!(kinds(&world, dead).await.contains(&"dead_letter.created".to_owned()));
    }
}

// C-031: whoever has subscribed is sent what they asked for, and nothing else.
#[tokio::test]
async fn subscribers_are_sent_what_they_asked_for() {
    let place = tempfile::tempdir().expect("a place");
    for store in stores(&place) {
        let world = World::with(store, Settings::default(), may_call_here()).await;
        world.publish(super::REPORT).await;
        let (ends_at, mut ends) = receiver(&[]).await;
        let (others_at, mut others) = receiver(&[]).await;
        let at_ends = subscription(&world, "ends", ends_at, &["workflow_run_completed"]);
        let elsewhere = subscription(&world, "elsewhere", others_at, &[]);
        let elsewhere = Subscription { dialects: vec![Dialect::Commands], ..elsewhere };
        let silent = subscription(&world, "silent", others_at, &[]);
        let silent = Subscription { enabled: false, ..silent };
        for one in [at_ends, elsewhere, silent.clone()] {
            world.engine.put_subscription(one).await.expect("stored");
        }
        let job = create(&world, terms(1)).await;
        cancel(&world, job).await;
        let heard = ends.recv().await.expect("the end is told").body;
        assert_eq!(heard["type"], "workflow_run_completed");
        assert_eq!(heard["data"]["outcome"], "canceled");
        // The one who listened to ends goes, and the silent one begins to listen.
        assert!(world.engine.delete_subscription("ends".to_owned()).await.expect("deleted"));
        let listens = Subscription { enabled: true, ..silent };
        world.engine.put_subscription(listens).await.expect("stored");
        let second = create(&world, terms(1)).await;
        cancel(&world, second).await;
        let mut types = Vec::new();
        for _ in 0..2 {
            let heard = others.recv().await.expect("all of the second job is told").body;
            types.push(heard["type"].as_str().expect("a type").to_owned());
        }
        types.sort_unstable();
        assert_eq!(types, ["stepwell.workflow_run_queued", "workflow_run_completed"]);
        assert!(ends.try_recv().is_err(), "it was told once, and then no more");
        world.engine.stop().await;
    }
}

/// Gives an address a fresh secret of its own.
async fn rotate(world: &World, id: &str, grace_s: u64) -> Vec<u8> {
    let grace = Interval::from_secs(grace_s);
    let rotated = world.engine.rotate_subscription_secret(id, grace, "tester").await;
    secret_bytes(&rotated.expect("rotated").secret).expect("a secret")
}

// Issue 6: during the grace a message carries both signatures, and afterwards only that of the secret in
// force; other addresses are told as before.
#[tokio::test]
async fn an_address_with_a_secret_of_its_own_is_told_under_both_during_the_grace() {
    let place = tempfile::tempdir().expect("a place");
    for store in stores(&place) {
        let world = World::with(store, Settings::default(), may_call_here()).await;
        world.publish(super::REPORT).await;
        let (own_at, mut own) = receiver_with(&[], None).await;
        let (others_at, mut others) = receiver(&[]).await;
        for (id, to) in [("own", own_at), ("other", others_at)] {
            let one = subscription(&world, id, to, &["workflow_run_completed"]);
            world.engine.put_subscription(one).await.expect("stored");
        }
        let first = rotate(&world, "own", 3600).await;
        let second = rotate(&world, "own", 60).await;
        let mut told = async |expected: [bool; 3]| {
            cancel(&world, create(&world, terms(1)).await).await;
            let heard = own.recv().await.expect("it is told");
            assert_eq!(heard.signed_with(&[SECRET, &first, &second]), expected);
            others.recv().await.expect("so is the other, signed as ever");
        };
        told([true, true, true]).await;
        world.clock.advance(std::time::Duration::from_secs(60));
        told([true, false, true]).await;
        world.clock.advance(std::time::Duration::from_secs(3600));
        told([false, false, true]).await;
        let third = rotate(&world, "own", 0).await;
        cancel(&world, create(&world, terms(1)).await).await;
        // What it is told after it has gone, it was promised: under the secret that it has.
        assert!(world.engine.delete_subscription("own".to_owned()).await.expect("deleted"));
        let heard = own.recv().await.expect("it is told");
        assert_eq!(heard.signed_with(&[&second, &third]), [false, true]);
        world.engine.stop().await;
    }
}
