//! Secrets of webhooks, from the command line.

use crate::program::{Server, run};

const WORKFLOW: &str = "name: report\nsteps:\n  - {id: make, type: MAKE, pool: p}\n";
const HOOK: &str = "name: orders\nkind: webhook\nworkflow_id: report\n";

// Issue 6: what is shown once goes to standard output alone, so that it can be piped to where it belongs.
#[test]
fn a_secret_is_replaced_and_only_the_answer_shows_it() {
    let server = Server::start();
    server.publish(WORKFLOW);
    let path = server.home.path().join("orders.yaml");
    std::fs::write(&path, HOOK).unwrap();
    let file = path.display().to_string();
    let acme = ["--workspace", "acme"];
    let made = server.json(&[&["trigger", "put", &file][..], &acme].concat());
    let rotate = ["trigger", "rotate-secret", "orders"];
    let rotated = run(&mut server.client(&[&rotate[..], &acme].concat())).with_code(0);
    let secret = rotated.stdout.trim_end();
    assert!(secret.starts_with("whsec_") && !secret.contains('\n'), "{secret}");
    assert_ne!(made["secret"], secret);
    assert!(rotated.stderr.contains("the old one stays valid until "), "{}", rotated.stderr);
    let at_once = ["--grace", "0s"];
    let ended = server.json(&[&rotate[..], &acme, &at_once].concat());
    assert!(ended["previous_valid_until"].is_null(), "{ended}");
    let list = server.json(&[&["trigger", "list"][..], &acme].concat());
    assert!(!list.to_string().contains("whsec_"), "{list}");
    let missing = ["trigger", "rotate-secret", "nothing"];
    let missing = run(&mut server.client(&[&missing[..], &acme].concat()));
    assert!(missing.stderr.contains("stepwell trigger list"), "{}", missing.stderr);
}
