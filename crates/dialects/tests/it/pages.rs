//! The pages for readers keep their word.

use std::fs;
use std::path::Path;

use serde_json::Value;
use stepwell_core::run::RunStatus;
use stepwell_core::step::StepStatus;
use stepwell_dialects::commands;
use stepwell_dialects::platform::{self, Delivery, message};
use stepwell_dialects::workflow::{self, SPECIALS};

use crate::world::start;

fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    fs::read_to_string(path).unwrap()
}

/// The code blocks of a page in one language.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let opening = format!("```{language}\n");
    let parts = page.split(&opening).skip(1);
    parts.map(|part| part.split("```").next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn every_document_on_the_page_of_workflows_is_sound() {
    let blocks = blocks(&page("workflow.md"), "yaml");
    assert!(blocks.len() >= 3);
    for text in blocks {
        workflow::read(text.as_bytes()).unwrap_or_else(|problems| panic!("{text}\n{problems}"));
    }
}

#[test]
fn the_page_of_workflows_names_every_field_and_variable() {
    let page = page("workflow.md");
    let schema = workflow::schema();
    for pointer in ["", "/$defs/step", "/$defs/retry", "/$defs/exponential", "/$defs/poll"] {
        let properties = schema.pointer(&format!("{pointer}/properties")).unwrap();
        for field in properties.as_object().unwrap().keys() {
            assert!(page.contains(&format!("`{field}`")), "{field} is missing");
        }
    }
    for special in SPECIALS {
        assert!(page.contains(&format!("`{special}`")), "{special} is missing");
    }
}

/// Every status of the kernel stands in the row of the word that a dialect has for it.
#[track_caller]
fn check_statuses(
    page: &str,
    (table, node_table): (&str, &str),
    job: fn(RunStatus) -> &'static str,
    step: fn(StepStatus) -> &'static str,
) {
    let row = |table: &str, word: &str| {
        let after = page.split(table).nth(1).unwrap();
        let row = after.lines().find(|line| line.starts_with(&format!("| `{word}` |")));
        row.unwrap_or_else(|| panic!("{word} is missing")).to_owned()
    };
    for run in RunStatus::ALL {
        let row = row(table, job(run));
        assert!(row.contains(run.word()), "{row} does not name {}", run.word());
    }
    for status in StepStatus::ALL {
        let row = row(node_table, step(status));
        assert!(row.contains(status.word()), "{row} does not name {}", status.word());
    }
}

#[test]
fn the_page_of_commands_maps_every_status_as_we_do() {
    // D-054, D-055, X-155: the tables are what readers go by.
    let page = page("dialects/commands.md");
    let tables = ("| job | run |", "| step | step |");
    check_statuses(&page, tables, commands::status::job, commands::status::step);
}

#[test]
fn the_page_of_the_platform_maps_every_status_as_we_do() {
    // X-111, X-155
    let page = page("dialects/platform.md");
    let tables = ("| job | run |", "| node | step |");
    check_statuses(&page, tables, platform::status::job, platform::status::node);
}

#[test]
fn the_page_of_the_platform_names_every_reason_for_a_dead_letter() {
    // B-016, B-047, X-098, X-108
    let page = page("dialects/platform.md");
    for (reason, _) in platform::rejection::REASONS {
        assert!(page.contains(&format!("dead letter `{reason}`")), "{reason}");
    }
}

#[test]
fn the_order_on_the_page_of_the_platform_is_one_that_is_read() {
    // B-030, B-032
    let blocks = blocks(&page("dialects/platform.md"), "json");
    assert_eq!(blocks.len(), 3);
    for text in &blocks {
        serde_json::from_str::<Value>(text).unwrap_or_else(|error| panic!("{text}\n{error}"));
    }
    let delivery =
        Delivery { message_id: "m", received_at: start(), expires_at: start(), deliveries: 1 };
    let order = message::read(&blocks[1], &delivery).unwrap();
    let (written, shown) = (order.to_body(), &blocks[1]);
    assert_eq!(
        serde_json::from_str::<Value>(&written).unwrap(),
        serde_json::from_str::<Value>(shown).unwrap()
    );
}

#[test]
fn the_messages_on_the_page_of_commands_are_json() {
    let blocks = blocks(&page("dialects/commands.md"), "json");
    assert_eq!(blocks.len(), 3);
    for text in blocks {
        serde_json::from_str::<Value>(&text).unwrap_or_else(|error| panic!("{text}\n{error}"));
    }
}
