//! Exit codes: what a script may rely on.

use crate::program::{Server, program, run};

const NOBODY: &str = "00000000-0000-7000-8000-000000000000";

#[test]
fn a_command_line_that_makes_no_sense_ends_with_2() {
    let home = tempfile::tempdir().unwrap();
    run(program(home.path()).args(["job", "lisst"])).with_code(2);
    run(program(home.path()).args(["job", "list", "--limt", "1"])).with_code(2);
    run(&mut program(home.path())).with_code(2);
}

#[test]
fn a_server_that_is_not_there_ends_with_5_and_says_how_to_start_one() {
    let home = tempfile::tempdir().unwrap();
    let mut command = program(home.path());
    command.args(["job", "list", "--server", "http://127.0.0.1:1", "--token", "swl_x"]);
    let ended = run(&mut command).with_code(5);
    assert!(ended.stderr.contains("start a server with `stepwell serve`"), "{}", ended.stderr);
}

// D-064: nobody gets in without a token that works.
#[test]
fn a_missing_or_wrong_token_ends_with_6() {
    let server = Server::start();
    let mut nameless = program(server.home.path());
    let ended = run(nameless.args(["job", "list", "--server", &server.url])).with_code(6);
    assert!(ended.stderr.contains("STEPWELL_TOKEN"), "{}", ended.stderr);
    let wrong = run(&mut server.client(&["job", "list", "--token", "swl_aaaaaaaa_bbbb"]));
    assert!(wrong.with_code(6).stderr.contains("request: "));
    let viewer = server.token_of("viewer");
    run(&mut server.client(&["token", "list", "--token", &viewer])).with_code(6);
}

#[test]
fn a_job_that_does_not_exist_ends_with_3_and_a_hint() {
    let server = Server::start();
    let ended = run(&mut server.client(&["job", "get", NOBODY])).with_code(3);
    assert!(ended.stderr.contains("run `stepwell job list`"), "{}", ended.stderr);
    assert!(ended.stderr.contains("request: "), "{}", ended.stderr);
    run(&mut server.client(&["workflow", "get", "nobody"])).with_code(3);
    run(&mut server.client(&["token", "revoke", "nobody00"])).with_code(3);
}

// D-051, X-138: a job that has ended cannot be cancelled any more.
#[test]
fn what_the_state_of_a_job_does_not_allow_ends_with_4() {
    let server = Server::start();
    server.publish("name: w\nrequest_type: t\nsteps:\n  - {id: a, type: A, pool: p}\n");
    let job = server.submit("t", "{}");
    server.json(&["job", "step", "complete", &job, "a", "--result", "{}"]);
    server.wait_for(&job).with_code(0);
    run(&mut server.client(&["job", "cancel", &job])).with_code(4);
}

// an input that is not valid is told field by field.
#[test]
fn an_input_that_is_not_valid_ends_with_7_and_names_the_fields() {
    let server = Server::start();
    let submit = ["command", "submit", "--tenant", "acme", "--type", "nothing"];
    let ended = run(&mut server.client(&submit)).with_code(7);
    assert!(ended.stderr.contains("input_ref"), "{}", ended.stderr);
    assert!(ended.stderr.contains("output_ref"), "{}", ended.stderr);
    let not_json = run(&mut server.client(&["command", "submit", "--payload", "{"])).with_code(7);
    assert!(not_json.stderr.contains("--payload is not JSON"), "{}", not_json.stderr);
}

#[test]
fn a_program_gets_a_failure_as_json_on_standard_error() {
    let server = Server::start();
    let ended = run(&mut server.client(&["job", "get", NOBODY, "--output", "json"])).with_code(3);
    let failure: serde_json::Value = serde_json::from_str(&ended.stderr).unwrap();
    assert_eq!(failure["error"]["code"], "job_not_found");
    assert_eq!(failure["error"]["exit_code"], 3);
    assert_eq!(ended.stdout, "");
}
