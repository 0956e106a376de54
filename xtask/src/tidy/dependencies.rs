//! Dependencies point one way: what is true knows nothing of how it is kept, carried or asked.

use std::process::{Command, Stdio};

use serde_json::Value;

use super::Violation;
use crate::{Outcome, tree};

/// Every crate of the workspace with the crates of ours that it may name.
const ARROWS: [(&str, &[&str]); 12] = [
    ("stepwell-core", &[]),
    ("stepwell-dialects", &[CORE]),
    ("stepwell-store", &[CORE]),
    ("stepwell-connectors", &[]),
    ("stepwell-worker", &[CORE, DIALECTS, CONNECTORS]),
    ("stepwell-engine", &[CORE, DIALECTS, STORE, CONNECTORS]),
    ("stepwell-server", &[CORE, DIALECTS, STORE, CONNECTORS, ENGINE]),
    (
        "stepwell",
        &[CORE, DIALECTS, STORE, CONNECTORS, ENGINE, "stepwell-server", "stepwell-worker"],
    ),
    ("stepwell-temporal", &[CORE, DIALECTS]),
    ("stepwell-sim", &[CORE, DIALECTS, STORE, CONNECTORS, ENGINE]),
    ("stepwell-testing", &[]),
    ("xtask", &[TESTING]),
];

const CORE: &str = "stepwell-core";
const DIALECTS: &str = "stepwell-dialects";
const STORE: &str = "stepwell-store";
const CONNECTORS: &str = "stepwell-connectors";
const ENGINE: &str = "stepwell-engine";
const TESTING: &str = "stepwell-testing";

/// What cargo knows about the members of the workspace.
pub(super) fn metadata() -> Outcome<Value> {
    let output = Command::new("cargo")
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(tree::root())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot run cargo metadata: {error}"))?;
    if !output.status.success() {
        return Err("cargo metadata failed; its messages are above".into());
    }
    serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("cargo metadata is not JSON: {error}"))
}

/// A crate names only the crates of ours that the drawing in ARCHITECTURE.md lets it name.
///
/// Tests are free: they may bring in a real neighbor instead of a mock.
pub(super) fn forbidden(metadata: &Value) -> Outcome<Vec<Violation>> {
    let packages = metadata["packages"].as_array().ok_or("cargo metadata lists no packages")?;
    Ok(packages.iter().flat_map(of_package).collect())
}

fn of_package(package: &Value) -> Vec<Violation> {
    let name = package["name"].as_str().unwrap_or_default();
    let manifest = format!("{name} (Cargo.toml)");
    let Some((_, allowed)) = ARROWS.iter().find(|(known, _)| *known == name) else {
        let message = "the crate is not in the drawing; place it in ARCHITECTURE.md and here";
        return vec![Violation::of(&manifest, message)];
    };
    let dependencies = package["dependencies"].as_array().map_or(&[][..], Vec::as_slice);
    dependencies
        .iter()
        .filter(|dependency| dependency["kind"].as_str() != Some("dev"))
        .filter_map(|dependency| dependency["name"].as_str())
        .filter(|other| ARROWS.iter().any(|(ours, _)| ours == other) && !allowed.contains(other))
        .map(|other| {
            let message = format!(
                "depends on {other}, an arrow that is not drawn; move the code to the crate that may know both"
            );
            Violation::of(&manifest, message)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(name: &str, kind: Option<&str>, dependency: &str, count: usize) {
        let dependencies = json!([{ "name": dependency, "kind": kind }]);
        let metadata = json!({ "packages": [{ "name": name, "dependencies": dependencies }] });
        assert_eq!(forbidden(&metadata).expect("packages are listed").len(), count);
    }

    #[test]
    fn an_arrow_that_is_drawn_passes() {
        check("stepwell-engine", None, "stepwell-store", 0);
        check("stepwell-core", None, "serde", 0);
    }

    // B-002: what decides never reaches what is stored or sent, and what stores never decides.
    // a worker knows no store, and rules are reached neither by SQL nor by HTTP.
    #[test]
    fn an_arrow_that_is_not_drawn_is_caught() {
        check("stepwell-core", None, "stepwell-store", 1);
        check("stepwell-dialects", None, "stepwell-store", 1);
        check("stepwell-worker", None, "stepwell-store", 1);
        check("stepwell-store", Some("build"), "stepwell-engine", 1);
    }

    #[test]
    fn a_test_may_use_its_neighbors() {
        check("stepwell-worker", Some("dev"), "stepwell-server", 0);
    }

    #[test]
    fn a_crate_outside_the_drawing_is_caught() {
        check("stepwell-utils", None, "serde", 1);
    }
}
