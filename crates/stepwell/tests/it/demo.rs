//! `stepwell demo`, to its end.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::program::{Running, line_with, program, run};

// the scheduler makes a batch of a file, phases and polls come on
// time between its ticks, and whoever is added to the file goes through what the others have.
// who is struck from it leaves and is cleaned up after, retries and
// polls are counted, and the one that fails is rolled back alone.
#[test]
fn the_demo_takes_fifty_members_through_three_phases_in_less_than_a_minute() {
    let home = tempfile::tempdir().unwrap();
    let summary = run(program(home.path()).args(["demo", "--output", "json"])).with_code(0).json();
    let expected = json!({
        "total": 50, "succeeded": 48, "failed": 1, "removed": 1, "open": 0, "cancelled": 1,
        "active": 48,
    });
    assert_eq!(summary["members"], expected, "{summary}");
    assert_eq!(summary["status"], "completed");
    let expected = json!({
        "member": "Lisbon", "step": "switch", "error": "the till does not start",
        "rollback": "back-to-old-till", "outcome": "succeeded", "steps_done": 2,
    });
    assert_eq!(summary["rollback"], expected);
    let expected = json!({ "member": "Zagreb", "steps_done": 5, "same_steps_as_others": true });
    assert_eq!(summary["late_joiner"], expected);
    assert_eq!(summary["removal"], json!({ "member": "Oslo", "steps_done": 1 }));
    // Three branches install twice, and one is switched twice in vain.
    assert_eq!(summary["retries"], 4);
    assert!(summary["polls"].as_u64().unwrap() >= 49, "every copy is asked for again: {summary}");
    let phases = summary["phases"].as_array().unwrap();
    let offsets: Vec<&Value> = phases.iter().map(|phase| &phase["offset"]).collect();
    assert_eq!(offsets, ["T-90m", "T-45m", "T-0"]);
    assert!(phases.iter().all(|phase| phase["status"] == "completed"), "{summary}");
    assert!(summary["simulated_s"].as_u64().unwrap() >= 100 * 60, "{summary}");
    assert!(summary["real_s"].as_f64().unwrap() < 60.0, "{summary}");
}

// what the demo leaves can be looked at, with how the rollback ended.
#[test]
fn a_kept_demo_tells_its_story_and_stays_up_to_be_looked_at() {
    let home = tempfile::tempdir().unwrap();
    let mut command = program(home.path());
    command.args(["demo", "--keep"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut demo = Running::spawn(&mut command);
    let mut stderr = BufReader::new(demo.0.stderr.take().unwrap());
    for moment in ["T-90m   prepare begins", "T-45m   copy begins", "T-0     cutover begins"] {
        line_with(&mut stderr, moment);
    }
    line_with(&mut stderr, "Lisbon: back-to-old-till has succeeded");
    line_with(&mut stderr, "batch steps 1 --status failed");
    let mut lines = BufReader::new(demo.0.stdout.take().unwrap()).lines();
    let mut exported = |name: &str| {
        let prefix = format!("export {name}=");
        let found = lines.find_map(|line| Some(line.ok()?.strip_prefix(&prefix)?.to_owned()));
        found.expect("it says how to reach the server")
    };
    let (url, token) = (exported("STEPWELL_SERVER"), exported("STEPWELL_TOKEN"));
    let mut look = program(home.path());
    look.env("STEPWELL_SERVER", url).env("STEPWELL_TOKEN", token);
    look.args(["batch", "steps", "1", "--status", "failed", "--output", "json"]);
    let failed = run(&mut look).with_code(0).json();
    assert_eq!(failed["items"][0]["compensation"], "succeeded", "{failed}");
    assert_eq!(demo.end_by("INT").code, Some(0));
}

// D-038, D-044, D-048, D-052: a late report changes nothing, a silent worker is replaced, three
// attempts are the end, and a person's cancel drains.
#[test]
fn the_demo_of_commands_shows_the_same_counts_for_every_seed() {
    let home = tempfile::tempdir().unwrap();
    for seed in ["1", "2"] {
        let mut command = program(home.path());
        command.args(["demo", "--commands", "--jobs", "60", "--seed", seed, "--output", "json"]);
        let summary = run(&mut command).with_code(0).json();
        // One unreadable invoice and one rejected one fail; one is cancelled. Three are scanned
        // twice, and the unreadable one three times. One is forgotten and one is late.
        let expected = json!({
            "submitted": 60, "succeeded": 57, "failed": 2, "cancelled": 1,
            "retries": 5, "timeouts": 2, "stale_refused": 1, "late_report": "stale_attempt",
        });
        for (key, value) in expected.as_object().unwrap() {
            assert_eq!(&summary[key], value, "{key} of {summary}");
        }
    }
}

#[test]
fn what_only_commands_have_is_refused_for_a_batch() {
    let home = tempfile::tempdir().unwrap();
    let refused = run(program(home.path()).args(["demo", "--jobs", "60"])).with_code(2);
    assert!(refused.stderr.contains("--commands"), "{}", refused.stderr);
}
