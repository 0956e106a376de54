//! Following a batch.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};

use super::site::Site;
use crate::program::{program, run};

#[test]
fn a_batch_is_followed_line_by_line_and_its_end_is_the_exit_code() {
    let site = Site::new();
    let batch = site.batch();
    let _worker = site.worker();
    site.run(&["batch", "advance", &batch, "--wait"]).with_code(0);
    site.run(&["batch", "advance", &batch]).with_code(0);
    let told = site.run(&["batch", "watch", &batch, "--until", "greet"]).with_code(0).stdout;
    assert!(told.contains("greet: completed, 2 done, 1 failed, 0 open"), "{told}");
    site.run(&["batch", "cancel", &batch]).with_code(0);
    let told = site.run(&["batch", "watch", &batch]).with_code(4).stdout;
    assert!(told.ends_with("cancelled: 0 of 3 members succeeded, 1 failed\n"), "{told}");
}

#[test]
fn as_json_every_change_is_a_line_of_its_own() {
    let site = Site::new();
    let batch = site.batch();
    let _worker = site.worker();
    let told = site.run(&["batch", "advance", &batch, "--wait", "--output", "json"]).with_code(0);
    let lines: Vec<Value> =
        told.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let last = lines.last().unwrap();
    assert_eq!((&last["event"], &last["data"]["status"]), (&"end".into(), &"active".into()));
    assert!(lines[..lines.len() - 1].iter().all(|line| line["event"] == "batch"));
}

#[test]
fn a_phase_that_the_batch_does_not_have_is_refused_with_those_it_has() {
    let site = Site::new();
    let batch = site.batch();
    let ended = site.run(&["batch", "watch", &batch, "--until", "grete"]).with_code(3);
    assert!(ended.stderr.contains("next: its phases are greet, part"), "{}", ended.stderr);
}

// Every server of ours streams. A proxy in between may not.
#[test]
fn a_batch_is_asked_for_again_and_again_where_no_stream_gets_through() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let batch = move || {
        let is_first = counter.fetch_add(1, Ordering::SeqCst) == 0;
        let status = if is_first { "active" } else { "failed" };
        let members = json!({ "total": 1, "succeeded": 0, "failed": 1 });
        let batch = json!({ "id": 1, "status": status, "phases": [], "members": members });
        async move { Json(batch) }
    };
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let app = Router::new().route("/api/batches/1", get(batch));
    runtime.spawn(async move { axum::serve(listener, app).await });
    let home = tempfile::tempdir().unwrap();
    let mut command = program(home.path());
    command.args(["batch", "watch", "1", "--server", &url, "--token", "t"]);
    let told = run(&mut command).with_code(1).stdout;
    assert!(told.ends_with("failed: 0 of 1 members succeeded, 1 failed\n"), "{told}");
    assert_eq!(asked.load(Ordering::SeqCst), 2);
}
