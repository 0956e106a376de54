//! Every route of runbooks and batches has a command.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::program::{program, run};

/// The command for each route.
const COMMANDS: &[(&str, &str, &[&str])] = &[
    ("post", "/api/runbooks", &["runbook", "publish"]),
    ("get", "/api/runbooks", &["runbook", "list"]),
    ("get", "/api/runbooks/{name}", &["runbook", "get"]),
    ("get", "/api/runbooks/{name}/versions", &["runbook", "versions"]),
    ("get", "/api/runbooks/{name}/versions/{version}", &["runbook", "get"]),
    ("delete", "/api/runbooks/{name}/versions/{version}", &["runbook", "delete"]),
    ("post", "/api/runbooks/{name}/plan", &["runbook", "plan"]),
    ("post", "/api/runbooks/{name}/plan-batch", &["batch", "create"]),
    ("get", "/api/runbooks/{name}/automation", &["automation", "status"]),
    ("put", "/api/runbooks/{name}/automation", &["automation", "enable"]),
    ("post", "/api/runbooks/{name}/query/preview", &["query", "preview"]),
    ("get", "/api/runbooks/{name}/template", &["template", "download"]),
    ("get", "/api/batches", &["batch", "list"]),
    ("post", "/api/batches", &["batch", "create"]),
    ("get", "/api/batches/{batch}", &["batch", "get"]),
    ("get", "/api/batches/{batch}/members", &["batch", "members"]),
    ("post", "/api/batches/{batch}/members", &["batch", "add-members"]),
    ("delete", "/api/batches/{batch}/members/{member}", &["batch", "remove-member"]),
    ("get", "/api/batches/{batch}/phases", &["batch", "phases"]),
    ("get", "/api/batches/{batch}/steps", &["batch", "steps"]),
    ("get", "/api/batches/{batch}/events", &["batch", "events"]),
    ("get", "/api/batches/{batch}/explain", &["batch", "explain"]),
    ("get", "/api/batches/{batch}/plan", &["batch", "plan"]),
    ("get", "/api/batches/{batch}/watch", &["batch", "watch"]),
    ("post", "/api/batches/{batch}/advance", &["batch", "advance"]),
    ("post", "/api/batches/{batch}/cancel", &["batch", "cancel"]),
    ("post", "/api/batches/{batch}/pause", &["batch", "pause"]),
    ("post", "/api/batches/{batch}/resume", &["batch", "resume"]),
    ("post", "/api/batches/{batch}/move", &["batch", "move"]),
    ("post", "/api/batches/{batch}/operate", &["batch", "operate"]),
];

// a route without a command fails here, and so does a command that is gone.
#[test]
fn every_route_of_runbooks_and_batches_has_a_command() {
    let document: Value =
        serde_json::from_str(include_str!("../../../../../docs/openapi.json")).unwrap();
    let is_ours = |path: &str| {
        ["/api/runbooks", "/api/batches"].iter().any(|prefix| path.starts_with(prefix))
    };
    let routes: BTreeSet<(String, String)> = document["paths"]
        .as_object()
        .unwrap()
        .iter()
        .filter(|(path, _)| is_ours(path))
        .flat_map(|(path, methods)| {
            let methods = methods.as_object().unwrap().keys();
            methods.map(move |method| (method.clone(), path.clone()))
        })
        .collect();
    let commanded: BTreeSet<(String, String)> = COMMANDS
        .iter()
        .map(|(method, path, _)| ((*method).to_owned(), (*path).to_owned()))
        .collect();
    assert_eq!(commanded, routes);
    let home = tempfile::tempdir().unwrap();
    for (_, _, command) in COMMANDS {
        run(program(home.path()).args(*command).arg("--help")).with_code(0);
    }
}
