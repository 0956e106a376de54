//! Clients that never give up: whatever happens, a command is sent again under its key until it is
//! accepted.

use std::sync::Arc;

use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::{Value, json};

use super::world::World;

/// How far back a client looks for a job to do something with: most of those are still open.
const RECENT: usize = 12;

/// Submits commands while the storm lasts, sometimes one twice; cancels some jobs, looks at others.
pub(super) async fn client(world: Arc<World>, number: usize, mut rng: StdRng) {
    let tenant = format!("tenant-{number}");
    let mut jobs: Vec<(String, String)> = Vec::new();
    while world.is_wild() {
        let key = format!("{tenant}-{}", jobs.len());
        let job = submit(&world, &tenant, &key).await;
        jobs.push((key, job));
        let recent = &jobs[jobs.len().saturating_sub(RECENT)..];
        let (key, job) = &recent[rng.random_range(0..recent.len())];
        match rng.random_range(0..100) {
            0..15 => drop(submit(&world, &tenant, key).await),
            15..25 => cancel(&world, job, ["drain", "immediate"][rng.random_range(0..2)]).await,
            25..45 => look(&world, job).await,
            _ => {}
        }
    }
}

/// Sends a command until it is accepted; answers with its job.
pub(super) async fn submit(world: &World, tenant: &str, key: &str) -> String {
    let envelope = envelope(tenant, key);
    loop {
        let sent = world.post("/v1/commands", &envelope).header("Idempotency-Key", key);
        match world.answer(sent).await {
            Some((202, answer)) => {
                let job = answer["jobId"].as_str().expect("a job");
                world.journal.accepted(key, job);
                return job.to_owned();
            }
            Some((429 | 503, _)) | None => {
                world.journal.book().tally.commands_repeated += 1;
                world.before_retry().await;
            }
            Some((status, answer)) => panic!("a command was answered with {status}: {answer}"),
        }
    }
}

/// The command that goes with a key.
pub(super) fn envelope(tenant: &str, key: &str) -> Value {
    json!({
        "schema_version": "1", "tenant_id": tenant, "request_type": "storm",
        "input_ref": "test://in", "output_ref": "test://out", "payload": {"key": key},
    })
}

/// Asks for a cancel, once: whether it was heard is noted, not insisted on.
async fn cancel(world: &World, job: &str, mode: &str) {
    world.journal.book().cancels.entry(job.to_owned()).or_default();
    let body = json!({ "mode": mode, "reason": "storm" });
    match world.answer(world.post(&format!("/v1/jobs/{job}:cancel"), &body)).await {
        Some((202, _)) => drop(world.journal.book().cancels.insert(job.to_owned(), true)),
        Some((409 | 503, _)) | None => {}
        Some((status, answer)) => panic!("a cancel was answered with {status}: {answer}"),
    }
}

/// Reads a job, if it can be read just now.
async fn look(world: &World, job: &str) {
    match world.answer(world.get(&format!("/v1/jobs/{job}"))).await {
        Some((200, answer)) => world.journal.seen(job, answer["status"].as_str().expect("a word")),
        Some((503, _)) | None => {}
        Some((status, answer)) => panic!("an accepted job was answered with {status}: {answer}"),
    }
}
