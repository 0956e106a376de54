//! What survives when a server is killed.

use std::process::Stdio;

use crate::program::{Running, Server};

// D-045: a kill at any point loses nothing that was accepted.
#[test]
fn a_job_goes_on_where_it_was_when_the_server_was_killed() {
    let server = Server::start();
    server.publish(
        "name: w\nrequest_type: t\nsteps:\n  - {id: a, type: A, pool: p}\n  - {id: b, type: B, pool: p}\n",
    );
    let job = server.submit("t", "{}");
    server.json(&["job", "step", "complete", &job, "a", "--result", "{}"]);
    let (status, home) = server.end_by("KILL");
    assert_eq!(status.code(), None, "it was killed");
    let server = Server::start_in(home);
    let arguments = ["worker", "exec", "--pool", "p", "--", "echo", "{}"];
    let mut command = server.client(&arguments);
    let _worker = Running::spawn(command.stdout(Stdio::null()).stderr(Stdio::null()));
    server.wait_for(&job).with_code(0);
    let steps = server.json(&["job", "steps", &job]);
    let attempts = |step: usize| steps["items"][step]["attempts"].as_array().unwrap().len();
    assert_eq!((attempts(0), attempts(1)), (1, 1), "no recorded decision was repeated");
}
