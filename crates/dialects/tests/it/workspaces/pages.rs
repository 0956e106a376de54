//! The page of the workspaces keeps its word.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use stepwell_core::run::RunStatus;
use stepwell_dialects::event::{KINDS, type_of};
use stepwell_dialects::workspaces::envelope::{self, REASONS};
use stepwell_dialects::workspaces::request;
use stepwell_dialects::workspaces::status::{self, TRANSITIONS};
use stepwell_dialects::workspaces::{trigger, view};

use super::job;

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/dialects/workspaces.md");
    fs::read_to_string(path).unwrap()
}

fn blocks(language: &str) -> Vec<String> {
    let page = page();
    let opening = format!("```{language}\n");
    let parts = page.split(&opening).skip(1);
    parts.map(|part| part.split("```").next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn the_page_maps_every_status_and_every_way_as_we_do() {
    // C-008, X-122, X-155
    let page = page();
    for run in RunStatus::ALL {
        let word = status::job(run);
        let row = page.lines().find(|line| line.starts_with(&format!("| `{word}` |")));
        let row = row.unwrap_or_else(|| panic!("{word} is missing"));
        assert!(row.contains(run.word()), "{row} does not name {}", run.word());
        let next = TRANSITIONS.iter().find(|(from, _)| *from == word).unwrap().1;
        assert!(next.iter().all(|to| row.contains(to)), "{row} does not say where it may go");
    }
}

#[test]
fn the_page_names_every_field_kind_and_reason() {
    // C-006, C-025, X-129
    let page = page();
    let record = json!(view::job(&job(&json!({})).run, None));
    for field in record.as_object().unwrap().keys() {
        assert!(page.contains(&format!("`{field}`")), "{field} is missing");
    }
    for kind in KINDS.map(type_of) {
        assert!(page.contains(&format!("`{kind}`")), "{kind} is missing");
    }
    for reason in REASONS {
        assert!(page.contains(&format!("`{reason}`")), "{reason} is missing");
    }
}

#[test]
fn the_messages_and_documents_on_the_page_are_read() {
    // C-025
    let json = blocks("json");
    assert!(json.len() >= 4);
    for text in &json {
        serde_json::from_str::<Value>(text).unwrap_or_else(|error| panic!("{text}\n{error}"));
    }
    request::read(json[0].as_bytes(), None).unwrap();
    envelope::read(json[1].as_bytes()).unwrap();
    let documents = blocks("yaml");
    assert!(documents.len() >= 4);
    for text in documents {
        trigger::read(text.as_bytes()).unwrap_or_else(|problems| panic!("{text}\n{problems}"));
    }
}
