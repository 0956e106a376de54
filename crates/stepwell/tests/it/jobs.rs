//! The life of a job, from the command line.

use std::process::Stdio;

use serde_json::json;

use crate::program::{Running, Server, run};

const TWO_STEPS: &str = "\
name: two-steps
request_type: two.steps
steps:
  - {id: first, type: A, pool: p}
  - {id: second, type: B, pool: p}
";

/// A server with a workflow whose steps no worker takes: people move them.
fn server() -> Server {
    let server = Server::start();
    server.publish(TWO_STEPS);
    server
}

#[test]
fn a_workflow_is_published_listed_and_read_back_as_it_was_written() {
    let server = server();
    let list = server.json(&["workflow", "list"]);
    assert_eq!(list["items"][0]["name"], "two-steps");
    assert_eq!(list["items"][0]["version"], 1);
    let get = run(&mut server.client(&["workflow", "get", "two-steps"])).with_code(0);
    assert_eq!(get.stdout, TWO_STEPS);
    server.publish(&format!("{TWO_STEPS}description: again\n"));
    let first = server.json(&["workflow", "get", "two-steps", "--version", "1"]);
    assert_eq!(first["source"], TWO_STEPS);
}

// D-008, D-032: the same key makes one job, however often it is submitted.
#[test]
fn a_command_with_a_key_makes_one_job_also_from_a_file() {
    let server = server();
    let envelope = json!({
        "schema_version": "1", "tenant_id": "acme", "request_type": "two.steps",
        "input_ref": "test://in", "output_ref": "test://out", "payload": {},
    });
    let path = server.home.path().join("envelope.json");
    std::fs::write(&path, envelope.to_string()).unwrap();
    let file = path.display().to_string();
    let submit = ["command", "submit", "--file", &file, "--idempotency-key", "k"];
    let (one, two) = (server.json(&submit), server.json(&submit));
    assert_eq!((&one["created"], &two["created"]), (&json!(true), &json!(false)));
    assert_eq!(one["jobId"], two["jobId"]);
    assert_eq!(server.json(&["job", "list"])["items"].as_array().unwrap().len(), 1);
}

// D-042: after the last step the job has succeeded.
#[test]
fn a_job_is_followed_to_its_end_line_by_line() {
    let server = server();
    let job = server.submit("two.steps", "{}");
    server.json(&["job", "step", "complete", &job, "first", "--result", "{\"a\": 1}"]);
    server.json(&["job", "step", "skip", &job, "second", "--reason", "not today"]);
    let watched = server.wait_for(&job).with_code(0);
    assert!(watched.stdout.ends_with("SUCCEEDED\n"), "{}", watched.stdout);
    let follow = ["job", "watch", &job, "--output", "json"];
    let lines = run(&mut server.client(&follow)).with_code(0).stdout;
    let last: serde_json::Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    assert_eq!(last["data"]["status"], "SUCCEEDED");
    let history = run(&mut server.client(&["job", "history", &job])).with_code(0).stdout;
    assert!(history.contains("step_operated"), "{history}");
    assert!(history.contains("not today"), "{history}");
}

// D-051, D-052: a cancelled job ends as cancelled, and who watches it is told by the exit code.
#[test]
fn a_cancelled_job_ends_the_watch_with_4_and_can_be_begun_again() {
    let server = server();
    let job = server.submit("two.steps", "{}");
    server.json(&["job", "step", "complete", &job, "first"]);
    server.json(&["job", "cancel", &job, "--reason", "test"]);
    let arguments = ["worker", "exec", "--pool", "p", "--", "echo", "{}"];
    let mut worker = server.client(&arguments);
    let worker = Running::spawn(worker.stdout(Stdio::null()).stderr(Stdio::null()));
    server.wait_for(&job).with_code(4);
    worker.end_by("TERM");
    let again = server.json(&["job", "retry", &job]);
    let again = again["jobId"].as_str().unwrap();
    assert_ne!(again, job);
    let steps = server.json(&["job", "steps", again]);
    assert_eq!(steps["items"][0]["status"], "SUCCEEDED", "what was done is not done again");
    assert_eq!(steps["items"][0]["attempts"], json!([]));
}

#[test]
fn a_held_job_says_why_it_does_not_move() {
    let server = server();
    let job = server.submit("two.steps", "{}");
    server.json(&["job", "pause", &job]);
    let explained = run(&mut server.client(&["job", "explain", &job])).with_code(0).stdout;
    assert!(explained.contains("paused"), "{explained}");
    server.json(&["job", "resume", &job]);
    let explained = run(&mut server.client(&["job", "explain", &job])).with_code(0).stdout;
    assert!(explained.contains("no worker has acknowledged it yet"), "{explained}");
}

#[test]
fn a_gate_is_opened_by_a_person() {
    let server = Server::start();
    server.publish(
        "name: g\nrequest_type: g\nsteps:\n  - {id: a, type: A, pool: p, gate: approval}\n",
    );
    let job = server.submit("g", "{}");
    let before = server.json(&["job", "get", &job]);
    assert_eq!(before["steps"][0]["waiting_for"], "gate");
    server.json(&["job", "open-gate", &job, "approval"]);
    let after = server.json(&["job", "get", &job]);
    assert_eq!(after["steps"][0]["waiting_for"], "worker");
}

#[test]
fn a_list_of_jobs_is_filtered_and_goes_on_beyond_one_page_of_the_server() {
    let server = server();
    let jobs: Vec<String> = (0..3).map(|_| server.submit("two.steps", "{}")).collect();
    server.json(&["job", "cancel", &jobs[0], "--reason", "test"]);
    let open = server.json(&["job", "list", "--status", "in_progress,queued"]);
    assert_eq!(open["items"].as_array().unwrap().len(), 2);
    let newest = server.json(&["job", "list", "--limit", "1"]);
    assert_eq!(newest["items"][0]["job_id"], jobs[2].as_str());
    assert_eq!(server.json(&["job", "list", "--tenant", "nobody"])["items"], json!([]));
}

#[test]
fn a_token_that_was_revoked_is_listed_as_such() {
    let server = server();
    let token = server.token_of("viewer");
    run(&mut server.client(&["job", "list", "--token", &token])).with_code(0);
    let id = token.split('_').nth(1).unwrap();
    server.json(&["token", "revoke", id]);
    let list = server.json(&["token", "list"]);
    let tokens = list["items"].as_array().unwrap();
    let revoked = tokens.iter().find(|token| token["id"] == id).unwrap();
    assert!(revoked["revoked_at"].is_string(), "{revoked}");
}
