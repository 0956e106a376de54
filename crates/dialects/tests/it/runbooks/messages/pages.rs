//! The page of the messages keeps its word.

use std::fs;
use std::path::Path;

use serde_json::Value;
use stepwell_dialects::runbooks::event::{self, MESSAGE_TYPES};
use stepwell_dialects::runbooks::message::{REASONS, Rejection, topic};
use stepwell_dialects::runbooks::{JobId, outcome};

fn page() -> String {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/dialects/runbooks-messages.md");
    fs::read_to_string(path).unwrap()
}

/// The first code block after a heading.
#[track_caller]
fn block(page: &str, heading: &str) -> String {
    let part = page.split(&format!("{heading}\n")).nth(1).unwrap_or_else(|| panic!("{heading}"));
    let block = part.split("```json\n").nth(1).unwrap();
    block.split("```").next().unwrap().to_owned()
}

#[test]
fn every_event_on_the_page_is_one_that_we_read_and_write() {
    // A-197, A-198, A-199, A-200, A-201
    let page = page();
    for message_type in MESSAGE_TYPES {
        let shown = block(&page, &format!("### `{message_type}`"));
        let event = event::read(Some(message_type), shown.as_bytes()).unwrap();
        let written: Value = serde_json::from_str(&event.to_body()).unwrap();
        assert_eq!(written, serde_json::from_str::<Value>(&shown).unwrap());
    }
}

#[test]
fn the_job_and_the_result_on_the_page_belong_together() {
    // A-202, A-203
    let page = page();
    let job: Value = serde_json::from_str(&block(&page, "## The job")).unwrap();
    let shown = block(&page, "## The result");
    let read = outcome::read(shown.as_bytes()).unwrap();
    let result: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(job["JobId"], read.job_id.to_string());
    assert_eq!(job["CorrelationData"], result["CorrelationData"]);
    let fields: Vec<&String> = job.as_object().unwrap().keys().collect();
    assert_eq!(fields.len(), 6);
}

#[test]
fn every_job_id_on_the_page_is_one() {
    // A-079, X-031
    let page = page();
    let prefixes = ["| `step-", "| `init-", "| `rollback-", "| `removal-"];
    let is_row = |line: &&str| prefixes.iter().any(|prefix| line.starts_with(prefix));
    let rows: Vec<&str> = page.lines().filter(is_row).collect();
    assert!(rows.len() >= 6, "{rows:?}");
    for row in rows {
        let text = row.split('`').nth(1).unwrap();
        text.parse::<JobId>().unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn the_page_has_every_topic_limit_and_reason() {
    let page = page();
    for name in [topic::EVENTS, topic::JOBS, topic::RESULTS, topic::SUBSCRIPTION] {
        assert!(page.contains(&format!("`{name}`")), "{name}");
    }
    assert!(page.contains(&format!("{} times", topic::DELIVERIES_MAX)));
    for (reason, _) in REASONS {
        assert!(page.contains(&format!("`{reason}`")), "{reason}");
    }
    let noted = Rejection::UnknownJobId { job_id: String::new() };
    assert!(page.contains(&format!("| `{}` | noted", noted.reason())));
}
