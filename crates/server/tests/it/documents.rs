//! What is written down about the API is what the API does.
//!
//! With `UPDATE_EXPECT=1` in the environment the files are rewritten instead.

use std::path::PathBuf;

use expect_test::expect_file;
use serde_json::Value;
use stepwell_server::error::Code;
use stepwell_server::table;

use crate::site::{Site, get};

fn file(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Compares a part of a document, between two marks, with what it should be.
pub(crate) fn check_part(path: &str, name: &str, expected: &str) {
    let text = std::fs::read_to_string(file(path)).unwrap();
    let (begin, end) = (format!("<!-- {name} begins -->\n"), format!("<!-- {name} ends -->"));
    let (before, rest) = text.split_once(&begin).unwrap();
    let (part, after) = rest.split_once(&end).unwrap();
    if part == expected {
        return;
    }
    assert!(
        std::env::var_os("UPDATE_EXPECT").is_some(),
        "{path} is stale; it should have:\n{expected}"
    );
    std::fs::write(file(path), format!("{before}{begin}{expected}{end}{after}")).unwrap();
}

#[tokio::test]
async fn the_document_of_the_api_is_the_committed_one() {
    let site = Site::in_memory().await;
    let served = site.ask(get("/openapi.json")).await.json();
    assert_eq!(served["openapi"], "3.1.0");
    let pretty = serde_json::to_string_pretty(&served).unwrap() + "\n";
    expect_file!["../../../../docs/openapi.json"].assert_eq(&pretty);
}

#[tokio::test]
async fn every_route_of_the_table_is_documented_with_its_permission() {
    let site = Site::in_memory().await;
    let document = site.ask(get("/openapi.json")).await.json();
    let mut operations = 0;
    for item in document["paths"].as_object().unwrap().values() {
        operations += item.as_object().unwrap().len();
    }
    let routes = table(site.api.clone());
    assert_eq!(operations, routes.len());
    for route in routes {
        let operation = &document["paths"][&route.path][route.method.to_lowercase()];
        let permission = match route.access {
            stepwell_server::Access::Needs(permission) => permission.word().into(),
            _ => Value::Null,
        };
        assert_eq!(operation["x-permission"], permission, "{route:?}");
        assert!(
            operation["summary"].is_string() && operation["operationId"].is_string(),
            "{route:?}"
        );
        assert!(operation["responses"]["default"].is_object(), "{route:?}");
    }
}

// D-012, D-013, D-014: the documented envelope asks for what the dialect asks for, and no more.
#[tokio::test]
async fn the_documented_envelope_is_the_one_that_is_read() {
    let site = Site::in_memory().await;
    let document = site.ask(get("/openapi.json")).await.json();
    let schema = &document["components"]["schemas"]["Envelope"];
    let rejection = stepwell_dialects::commands::envelope(b"{}").unwrap_err();
    let required: Vec<_> = rejection.problems.iter().map(|it| it.path.clone()).collect();
    assert_eq!(schema["required"], serde_json::json!(required));
    let unknown = stepwell_dialects::commands::envelope(br#"{"qqqqqqqqqqqq": 1}"#).unwrap_err();
    let unknown = unknown.problems.iter().find(|it| it.code == "unknown_field").unwrap();
    let known = unknown.help.as_deref().unwrap().strip_prefix("known fields are ").unwrap();
    let mut known: Vec<_> = known.split(", ").collect();
    let mut documented: Vec<_> =
        schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    known.sort_unstable();
    documented.sort_unstable();
    assert_eq!(documented, known);
}

#[test]
fn every_code_has_a_page_and_every_page_a_code() {
    let mut pages: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(file("docs/errors")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name != "README.md" {
            pages.push(name.strip_suffix(".md").unwrap().to_owned());
        }
    }
    pages.sort_unstable();
    let mut codes: Vec<&str> = Code::ALL.iter().map(|code| code.word()).collect();
    codes.sort_unstable();
    assert_eq!(pages, codes);
    let index = std::fs::read_to_string(file("docs/errors/README.md")).unwrap();
    for code in Code::ALL {
        let (word, status) = (code.word(), code.status().as_u16());
        let page = std::fs::read_to_string(file(&format!("docs/errors/{word}.md"))).unwrap();
        let head = format!("# {word}\n\nHTTP {status}. {}.\n", code.title());
        assert!(page.starts_with(&head), "docs/errors/{word}.md must begin with:\n{head}");
        assert!(page.contains("## What to do"), "docs/errors/{word}.md");
        let row = format!("| [`{word}`]({word}.md) | {status} | {} |\n", code.title());
        assert!(index.contains(&row), "docs/errors/README.md must have:\n{row}");
    }
}

#[test]
fn a_refusal_of_a_batch_has_a_code_of_the_same_name() {
    use stepwell_core::batch::{BatchRefusal, BatchStatus};
    use stepwell_core::id::PhaseId;
    let refusals = [
        BatchRefusal::Ended(BatchStatus::Failed),
        BatchRefusal::NotManual,
        BatchRefusal::Manual,
        BatchRefusal::UnderWay(String::new()),
        BatchRefusal::NothingLeft,
        BatchRefusal::UnknownPhase(PhaseId(1)),
        BatchRefusal::NotActive(BatchStatus::Detected),
        BatchRefusal::Paused,
    ];
    for refusal in refusals {
        assert!(Code::of_word(refusal.code()).is_some(), "{refusal}");
    }
}

#[test]
fn a_refusal_of_the_kernel_has_a_code_of_the_same_name() {
    use stepwell_core::refusal::Refusal;
    use stepwell_core::run::RunStatus;
    use stepwell_core::step::StepStatus;
    let refusals = [
        Refusal::RunEnded(RunStatus::Failed),
        Refusal::StepEnded(StepStatus::Failed),
        Refusal::AttemptLost { named: 1, current: 2 },
        Refusal::LeaseLost { current: 2 },
        Refusal::NotDispatched(StepStatus::Waiting),
        Refusal::UnknownStep(String::new()),
        Refusal::UnknownGate(String::new()),
        Refusal::AlreadyStarted,
        Refusal::Cancelling,
    ];
    for refusal in refusals {
        assert!(Code::of_word(refusal.code()).is_some(), "{refusal}");
    }
}
