//! Processes that take orders in, and processes that carry them out.

use std::sync::Arc;

use rand::SeedableRng;
use rand::rngs::StdRng;
use serde_json::json;
use stepwell_testing::postgres;

use super::POOL;
use super::receiver::Receiver;
use crate::crash::site::Site;
use crate::crash::workers::Worker;
use crate::crash::world::World;

const WORKFLOW: &str = "name: w\nsteps:\n  - {id: a, type: A, pool: storm}\n";

// D-005, B-035, B-062, B-065: what takes orders in and what carries them out are separate processes, as
// many of each as one likes. Between them is the queue, under the name that was given.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_order_waits_in_the_named_queue_until_a_server_with_the_engine_role_takes_it() {
    let Ok(server) = postgres::server() else { return };
    let database = server.database("roles");
    let site = |role| {
        let hooks = ["--allow-webhook-http", "--allow-webhook-host", "127.0.0.1"];
        let queue = ["--job-queue-name", "night-jobs", "--allow-webhook-network", "127.0.0.0/8"];
        let settings = [&["--store", &database, "--roles", role], &hooks[..], &queue[..]].concat();
        let mut site = Site::new(&settings);
        tokio::task::block_in_place(|| site.start());
        site
    };
    let gateway = site("api");
    let receiver = Receiver::listen().await;
    let front = World::new(&[gateway.url()], gateway.token(), POOL);
    front.publish(WORKFLOW).await;
    let order = json!({"workflow_id": "w", "idempotency_key": "k", "callback_url": receiver.url});
    let answer = front.answer(front.post("/api/platform/submit", &order)).await;
    assert!(matches!(&answer, Some((200, it)) if it["status"] == "queued"), "{answer:?}");
    let waiting = server.query(&database, "select queue from stepwell.submission");
    assert_eq!(waiting, ["night-jobs"]);
    let jobs = front.read("/api/platform/jobs?idempotency_key=k").await;
    assert_eq!(jobs["items"], json!([]), "nobody has taken it");

    let engine = site("engine");
    let back = Arc::new(World::new(&[engine.url()], gateway.token(), POOL));
    back.calm();
    let asked = back.answer(back.get("/api/platform/jobs?idempotency_key=k")).await;
    assert!(matches!(asked, Some((404, _))), "clients are served by the other role: {asked:?}");
    let working = tokio::spawn(Worker::new(back, 0, StdRng::seed_from_u64(1)).run());
    assert_eq!(receiver.until(1, super::SETTLED_WITHIN).await, 1, "it has ended");
    working.abort();
    let jobs = front.read("/api/platform/jobs?idempotency_key=k").await;
    assert_eq!(jobs["items"][0]["status"], "completed", "{jobs}");
}
