//! Starting and stopping a server.

use std::io::BufReader;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use crate::program::{Running, Server, line_with, program, run};

#[test]
fn a_second_server_on_the_same_data_is_refused_in_clear_words() {
    let server = Server::start();
    let mut second = program(server.home.path());
    second.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(server.data());
    let ended = run(&mut second).with_code(4);
    assert!(ended.stderr.contains("is in use by another stepwell process"), "{}", ended.stderr);
}

#[test]
fn a_server_that_is_asked_to_stop_ends_well_and_keeps_what_it_accepted() {
    let server = Server::start();
    server.publish("name: w\nrequest_type: t\nsteps:\n  - {id: a, type: A, pool: p}\n");
    let job = server.submit("t", "{}");
    let (status, home) = server.end_by("TERM");
    assert_eq!(status.code(), Some(0));
    let server = Server::start_in(home);
    assert_eq!(server.json(&["job", "get", &job])["status"], "IN_PROGRESS");
}

#[test]
fn an_interrupt_from_the_keyboard_stops_it_as_well() {
    let (status, _home) = Server::start().end_by("INT");
    assert_eq!(status.code(), Some(0));
}

// D-064: the way in exists once, in the hands of whoever started the server.
#[test]
fn the_first_token_is_written_once_for_its_owner_alone_and_stored_as_a_hash_only() {
    let server = Server::start();
    let path = server.data().join("admin-token");
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let secret = server.token.splitn(3, '_').last().unwrap().to_owned();
    assert!(secret.len() >= 40, "the token ends with its secret");
    let data = server.data();
    let (_, home) = server.end_by("TERM");
    for entry in std::fs::read_dir(&data).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().unwrap() != "admin-token" {
            let bytes = std::fs::read(&path).unwrap();
            let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!found, "{} holds the secret", path.display());
        }
    }
    let before = std::fs::read(&path).unwrap();
    let server = Server::start_in(home);
    assert_eq!(std::fs::read(&path).unwrap(), before, "a later start makes no token");
    assert_eq!(server.json(&["token", "list"])["items"].as_array().unwrap().len(), 1);
}

#[test]
fn an_address_that_others_can_reach_needs_a_proxy_in_front() {
    let home = tempfile::tempdir().unwrap();
    let ended = run(program(home.path()).args(["serve", "--listen", "0.0.0.0:0"])).with_code(2);
    assert!(ended.stderr.contains("tokens and payloads would travel unencrypted"));
    assert!(ended.stderr.contains("--behind-proxy"), "{}", ended.stderr);
    let mut behind = program(home.path());
    behind.args(["serve", "--listen", "0.0.0.0:0", "--behind-proxy", "--data", "d"]);
    let mut running = Running::spawn(behind.stdout(Stdio::null()).stderr(Stdio::piped()));
    let mut stderr = BufReader::new(running.0.stderr.take().unwrap());
    line_with(&mut stderr, "listening on http://0.0.0.0:");
    assert_eq!(running.end_by("TERM").code, Some(0));
}

#[test]
fn half_of_a_server_is_refused_because_nobody_would_carry_out_what_it_accepts() {
    let home = tempfile::tempdir().unwrap();
    let ended = run(program(home.path()).args(["serve", "--roles", "api"])).with_code(2);
    assert!(ended.stderr.contains("the role engine is missing"), "{}", ended.stderr);
    assert!(ended.stderr.contains("on PostgreSQL with --store"), "{}", ended.stderr);
}

#[test]
fn a_log_for_programs_is_one_object_a_line() {
    let home = tempfile::tempdir().unwrap();
    let mut command = program(home.path());
    command.args(["serve", "--listen", "127.0.0.1:0", "--data", "d", "--log", "json"]);
    let mut running = Running::spawn(command.stdout(Stdio::null()).stderr(Stdio::piped()));
    let mut stderr = BufReader::new(running.0.stderr.take().unwrap());
    line_with(&mut stderr, "listening on");
    let running = std::thread::spawn(move || running.end_by("TERM"));
    let line = line_with(&mut stderr, "stopping");
    let event: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(event["message"], "stopping");
    assert_eq!(running.join().unwrap().code, Some(0));
}

// any valid token may read batches, unless the installation wants a role for it.
#[test]
fn a_line_in_the_file_keeps_batches_to_those_who_have_a_role_for_it() {
    let list = |server: &Server| {
        let token = server.token_of("worker");
        run(server.client(&["batch", "list"]).env("STEPWELL_TOKEN", token))
    };
    let server = Server::start();
    list(&server).with_code(0);
    let (_, home) = server.end_by("TERM");
    std::fs::write(home.path().join("stepwell.toml"), "batches_need_a_reader = true\n").unwrap();
    let server = Server::start_in(home);
    list(&server).with_code(6);
    assert_eq!(server.json(&["batch", "list"])["total"], 0, "the administrator has one");
}
