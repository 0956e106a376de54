//! `stepwell demo`, to its end.

use serde_json::json;

use crate::program::{program, run};

// D-038, D-044, D-048, D-052: a late report changes nothing, a silent worker is replaced, three
// attempts are the end, and a person's cancel drains.
#[test]
fn the_demo_shows_the_same_counts_for_every_seed() {
    let home = tempfile::tempdir().unwrap();
    for seed in ["1", "2"] {
        let mut command = program(home.path());
        command.args(["demo", "--jobs", "60", "--seed", seed, "--output", "json"]);
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
