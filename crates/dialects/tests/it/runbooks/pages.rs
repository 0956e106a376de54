//! The page for authors of runbooks keeps its word.

use std::fs;
use std::path::Path;

use stepwell_dialects::runbooks::compile::TIMEOUT_DEFAULT;
use stepwell_dialects::runbooks::{Offset, SPECIALS, schema};

use super::runbook;

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/runbook.md");
    fs::read_to_string(path).unwrap()
}

#[test]
fn every_document_on_the_page_is_sound() {
    let page = page();
    let blocks: Vec<&str> = page
        .split("```yaml\n")
        .skip(1)
        .map(|part| part.split("```").next().unwrap_or_default())
        .collect();
    assert!(blocks.len() >= 3);
    for text in blocks {
        runbook(text);
    }
}

#[test]
fn the_page_names_every_field_variable_and_default() {
    let page = page();
    let schema = schema();
    let parts = [
        "",
        "/$defs/data_source",
        "/$defs/multi_valued_column",
        "/$defs/phase",
        "/$defs/step",
        "/$defs/retry",
        "/$defs/poll",
    ];
    for pointer in parts {
        let properties = schema.pointer(&format!("{pointer}/properties")).unwrap();
        for field in properties.as_object().unwrap().keys() {
            assert!(page.contains(&format!("`{field}`")), "{field} is missing");
        }
    }
    for special in SPECIALS {
        assert!(page.contains(&format!("`{special}`")), "{special} is missing");
    }
    assert!(page.contains(&format!("| `timeout` | `{TIMEOUT_DEFAULT}` |")));
}

// A-018, A-019, X-062: the table is what authors go by.
#[test]
fn the_minutes_on_the_page_are_those_that_are_stored() {
    let page = page();
    let rows: Vec<Vec<&str>> = page
        .lines()
        .filter(|line| line.starts_with("| `T"))
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    assert_eq!(rows.len(), 6);
    for row in rows {
        let offset: Offset = row[1].trim_matches('`').parse().unwrap();
        assert_eq!(offset.minutes().to_string(), row[3], "{}", row[1]);
    }
}
