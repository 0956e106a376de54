//! Workers: the ready-made one, and those without an SDK.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::program::{Running, Server, run};

const GREETING: &str = "\
name: greeting
request_type: greet
retry: {max_attempts: 3, interval: 100ms}
steps:
  - {id: greet, type: GREET, pool: greeter}
";

fn server() -> Server {
    let server = Server::start();
    server.publish(GREETING);
    server
}

/// `worker exec` with a shell script as its command.
fn exec(server: &Server, script: &str) -> Running {
    let token = server.token_of("worker");
    let arguments =
        ["worker", "exec", "--pool", "greeter", "--token", &token, "--", "sh", "-c", script];
    let mut command = server.client(&arguments);
    Running::spawn(command.stdout(Stdio::piped()).stderr(Stdio::piped()))
}

fn step(server: &Server, job: &str) -> Value {
    server.json(&["job", "steps", job])["items"][0].clone()
}

// D-002, D-036: a worker is any program; what it writes is the result of the step.
#[test]
fn a_local_command_gets_the_directive_and_its_output_is_the_result() {
    let server = server();
    let _worker = exec(&server, r#"printf '{"heard": %s}' "$(cat)""#);
    let job = server.submit("greet", r#"{"name": "Ada"}"#);
    server.wait_for(&job).with_code(0);
    let step = step(&server, &job);
    let heard = &step["result"]["heard"];
    assert_eq!(heard["payload"], json!({"name": "Ada"}));
    assert_eq!(heard["jobId"], job.as_str());
    assert_eq!(heard["attempt_no"], 1);
    assert!(step["attempts"][0]["acked_at"].is_string(), "the worker said that it took it");
}

// X-137: exit code 75 asks for another attempt, while any remain.
#[test]
fn a_command_that_ends_with_75_is_tried_again_and_then_succeeds() {
    let server = server();
    let mark = server.home.path().join("tried");
    let script = format!(
        "test -e '{0}' && echo '{{}}' && exit 0; touch '{0}'; echo 'not yet' >&2; exit 75",
        mark.display()
    );
    let _worker = exec(&server, &script);
    let job = server.submit("greet", "{}");
    server.wait_for(&job).with_code(0);
    let attempts = step(&server, &job)["attempts"].clone();
    assert_eq!(attempts.as_array().unwrap().len(), 2);
    assert_eq!(attempts[0]["error"]["message"], "not yet");
}

// D-043: any other code is final, and the end of standard error says why.
#[test]
fn a_command_that_fails_fails_the_job_with_its_last_words() {
    let server = server();
    let _worker = exec(&server, "echo 'no such customer' >&2; exit 1");
    let job = server.submit("greet", "{}");
    let watched = server.wait_for(&job).with_code(1);
    assert!(watched.stdout.contains("FAILED_FINAL: no such customer"), "{}", watched.stdout);
    let letters = server.json(&["dead-letter", "list"]);
    assert_eq!(letters["items"][0]["job_id"], job.as_str());
    let id = letters["items"][0]["id"].to_string();
    assert_eq!(server.json(&["dead-letter", "show", &id])["reason"], "run_failed");
    server.json(&["dead-letter", "discard", &id, "--reason", "customer left"]);
    assert_eq!(server.json(&["dead-letter", "list"])["items"], json!([]));
}

#[test]
fn a_dead_letter_that_is_replayed_becomes_a_new_job() {
    let server = server();
    let worker = exec(&server, "exit 1");
    let job = server.submit("greet", "{}");
    server.wait_for(&job).with_code(1);
    worker.end_by("TERM");
    let _better = exec(&server, "echo '{}'");
    let replayed = server.json(&["dead-letter", "replay", "--all"]);
    let new = replayed["items"][0]["jobId"].as_str().unwrap();
    server.wait_for(new).with_code(0);
    // Whoever comes later is told what became of it, and is not left with half a command.
    let id = replayed["items"][0]["id"].to_string();
    let again = run(&mut server.client(&["dead-letter", "replay", &id])).with_code(4);
    assert!(again.stderr.contains("`stepwell dead-letter list --settled`"), "{}", again.stderr);
    let settled = run(&mut server.client(&["dead-letter", "list", "--settled"])).with_code(0);
    assert!(settled.stdout.contains(new), "{}", settled.stdout);
    let both = ["dead-letter", "discard", &id, "--tenant", "acme", "--reason", "no need"];
    run(&mut server.client(&both)).with_code(2);
}

#[test]
fn a_worker_that_is_stopped_kills_its_command_and_gives_the_directive_back() {
    let server = server();
    let (pids, fifo) = (server.home.path().join("pids"), server.home.path().join("begun"));
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let script =
        format!("sleep 600 & echo $$ $! > '{}'; echo > '{}'; wait", pids.display(), fifo.display());
    let worker = exec(&server, &script);
    let job = server.submit("greet", "{}");
    // Reading waits until the command has written, so it runs now.
    std::fs::read(&fifo).unwrap();
    let ended = worker.end_by("TERM");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("1 given back"), "{}", ended.stderr);
    for pid in std::fs::read_to_string(&pids).unwrap().split_whitespace() {
        assert!(!is_alive(pid), "a process of the command outlived its worker");
    }
    // Another worker gets the same attempt at once; nothing waits for a timeout.
    let _other = exec(&server, "echo '{}'");
    server.wait_for(&job).with_code(0);
    assert_eq!(step(&server, &job)["attempt_no"], 1);
}

/// Whether a process still does anything; one that nobody has waited for yet does not.
fn is_alive(pid: &str) -> bool {
    let state = Command::new("ps").args(["-o", "stat=", "-p", pid]).output();
    state.expect("ps is installed").stdout.first().is_some_and(|state| *state != b'Z')
}

#[test]
fn a_worker_whose_token_may_not_work_ends_with_6() {
    let server = server();
    let viewer = server.token_of("viewer");
    let arguments = ["worker", "exec", "--pool", "greeter", "--token", &viewer, "--", "true"];
    run(&mut server.client(&arguments)).with_code(6);
}

/// A program on this machine; says so if it is missing.
fn found(name: &str) -> bool {
    let mut command = Command::new(name);
    let asked = command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let is_there = asked.is_ok_and(|status| status.success());
    if !is_there {
        eprintln!("skipped: there is no {name} on this machine");
    }
    is_there
}

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/workers").join(name)
}

/// Lets a worker of the examples greet twice.
#[track_caller]
fn greets(command: &mut Command) {
    let server = server();
    let jobs =
        ["Ada", "Grace"].map(|name| server.submit("greet", &json!({ "name": name }).to_string()));
    command.env("STEPWELL_SERVER", &server.url).env("STEPWELL_TOKEN", server.token_of("worker"));
    let said = run(command).with_code(0);
    assert_eq!(said.stdout.matches("true").count(), 2, "{}{}", said.stdout, said.stderr);
    for (job, greeting) in jobs.iter().zip(["hello, Ada", "hello, Grace"]) {
        server.wait_for(job).with_code(0);
        assert_eq!(step(&server, job)["result"]["greeting"], greeting);
    }
}

const REPORT: &str = "\
name: report
steps:
  - {id: gather, type: GREET, pool: greeter, params: {name: Ada}}
  - {id: write, type: GREET, pool: greeter, params: {name: Grace}}
  - {id: send, type: GREET, pool: greeter, params: {name: Edsger}}
";

/// Lets a worker of the examples do a job of a workspace whose second step takes longer than a silent
/// worker keeps a job. `changes` make the worker as slow as that, and let it beat within the lease.
#[track_caller]
fn carries_a_job_to_its_end(shell: &str, name: &str, changes: [(&str, &str); 2]) {
    let home = tempfile::tempdir().expect("there is room for a directory");
    let server = Server::start_with(home, &["--job-lease", "5s"]);
    server.publish(REPORT);
    let job = ["job", "create", "--workspace", "acme", "--workflow", "report", "--user", "ada"];
    let job = server.json(&job)["job_id"].as_str().expect("a job").to_owned();
    let mut text = std::fs::read_to_string(example(name)).expect("the example is there");
    for (from, to) in changes {
        assert!(text.contains(from), "{name} has {from:?}");
        text = text.replace(from, to);
    }
    let path = server.home.path().join(name);
    std::fs::write(&path, text).expect("there is room for a file");
    let mut command = Command::new(shell);
    command.arg(path).args(["greeter", "1"]);
    command.env("STEPWELL_SERVER", &server.url).env("STEPWELL_TOKEN", server.token_of("worker"));
    let said = run(&mut command).with_code(0);
    assert_eq!(said.stdout.matches("true").count(), 3, "{}{}", said.stdout, said.stderr);
    let job = server.json(&["job", "get", &job, "--workspace", "acme"]);
    assert_eq!((&job["status"], &job["attempts"]), (&json!("completed"), &json!(1)), "{job}");
    assert_eq!(job["steps"][2]["result"]["greeting"], "hello, Edsger");
}

// C-038, X-121: the shell worker goes from step to step and gives signs of life on the way.
#[test]
fn a_shell_script_carries_a_job_of_a_workspace_to_its_end() {
    if found("bash") && found("curl") && found("jq") {
        let work = "    if result=$(work";
        let slow = format!("    [[ $directive != *'\"stepId\":\"write\"'* ]] || sleep 6\n{work}");
        let changes = [("visibility=60", "visibility=3"), (work, &slow)];
        carries_a_job_to_its_end("bash", "curl-worker.sh", changes);
    }
}

// C-038, X-121: the Python worker goes from step to step and gives signs of life on the way.
#[test]
fn a_python_script_carries_a_job_of_a_workspace_to_its_end() {
    if found("python3") {
        let work = "    return {\"greeting\"";
        let slow = format!("    time.sleep(6 * (directive[\"stepId\"] == \"write\"))\n{work}");
        let changes = [("VISIBILITY_SECONDS = 60", "VISIBILITY_SECONDS = 3"), (work, &slow)];
        carries_a_job_to_its_end("python3", "worker.py", changes);
    }
}

// D-002, D-065, X-140: the shell worker reports to the signed URL of its directive, without a token.
#[test]
fn a_shell_script_is_a_worker() {
    if found("bash") && found("curl") && found("jq") {
        greets(Command::new("bash").arg(example("curl-worker.sh")).args(["greeter", "2"]));
    }
}

// D-002: a worker needs no SDK.
#[test]
fn a_python_script_is_a_worker() {
    if found("python3") {
        greets(Command::new("python3").arg(example("worker.py")).args(["greeter", "2"]));
    }
}

// D-002: a worker needs no SDK.
#[test]
fn a_powershell_script_is_a_worker() {
    if found("pwsh") {
        let arguments = ["-Pool", "greeter", "-Count", "2"];
        greets(Command::new("pwsh").arg(example("worker.ps1")).args(arguments));
    }
}
