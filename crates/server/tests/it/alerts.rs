//! The alert rules that are shipped ask for figures that exist.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::Value;
use stepwell_dialects::fields::Field;
use stepwell_dialects::problem::Report;
use stepwell_dialects::yaml;

use crate::site::{Site, get};

/// The labels of letters of failed commands.
const FAILED_COMMANDS: &str = "{reason=\"run_failed\",dialect=\"commands\"}";

fn read(name: &str) -> Value {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../deploy/alerts").join(name);
    let text = std::fs::read_to_string(path).unwrap();
    let (tree, report) = (yaml::read(text.as_bytes()).unwrap(), Report::new());
    Field::root(&tree, &report).json()
}

fn rules() -> Vec<Value> {
    let groups = read("stepwell.rules.yaml")["groups"].take();
    let rules =
        groups.as_array().unwrap().iter().flat_map(|group| group["rules"].as_array().unwrap());
    rules.cloned().collect()
}

/// The names of figures in an expression.
fn figures(expression: &str) -> BTreeSet<&str> {
    let words = expression.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.filter(|word| word.starts_with("stepwell_")).collect()
}

// C-033: the alarm on dead-letter depth is shipped, tells lifebook-alerts, and watches a figure we have.
#[tokio::test]
async fn every_alert_watches_figures_that_exist_and_tells_a_receiver_that_exists() {
    let site = Site::in_memory().await;
    // A figure by reason is shown once something was given up for a reason.
    site.start().await;
    site.fail().await;
    let metrics = site.ask(get("/metrics")).await.text;
    let shown: BTreeSet<&str> =
        metrics.lines().filter_map(|line| line.split(['{', ' ']).next()).collect();
    let receivers = read("alertmanager.yaml")["receivers"].take();
    let receivers: Vec<&Value> =
        receivers.as_array().unwrap().iter().map(|it| &it["name"]).collect();
    let rules = rules();
    for rule in &rules {
        let expression = rule["expr"].as_str().unwrap();
        assert!(!figures(expression).is_empty(), "{rule}");
        for figure in figures(expression) {
            let described = format!("# TYPE {} ", figure.trim_end_matches("_total"));
            assert!(shown.contains(figure) || metrics.contains(&described), "{figure}: {rule}");
        }
        assert!(receivers.contains(&&rule["labels"]["receiver"]), "{rule}");
        for text in ["summary", "description"] {
            assert!(rule["annotations"][text].is_string(), "{rule}");
        }
    }
    let named = |rule: &&Value| rule["alert"] == "lifebook-orchestrator-dlq-depth";
    let depth = rules.iter().find(named).unwrap();
    assert_eq!(depth["labels"]["receiver"], "lifebook-alerts");
    // Its queue is that of workspaces; what others give up is another alarm.
    assert!(depth["expr"].as_str().unwrap().contains("dialect=\"workspaces\""), "{depth}");
    assert!(
        metrics.contains(&format!("stepwell_dead_letters_by_reason{FAILED_COMMANDS} 1")),
        "{metrics}"
    );
    assert!(metrics.contains(&format!("stepwell_dead_letter_oldest_seconds{FAILED_COMMANDS} 0")));
}

#[tokio::test]
async fn the_age_of_the_oldest_dead_letter_grows_until_somebody_settles_it() {
    let site = Site::on_sqlite().await;
    site.start().await;
    site.fail().await;
    site.advance(90);
    let metrics = site.ask(get("/metrics")).await.text;
    assert!(metrics.contains(&format!("stepwell_dead_letter_oldest_seconds{FAILED_COMMANDS} 90")));
    let letters = site.ask(get("/v1/dead-letters")).await.json();
    let path = format!("/v1/dead-letters/{}:discard", letters["items"][0]["id"]);
    let discard = crate::site::post(&path).json(&serde_json::json!({"reason": "a test"}));
    site.ask(discard).await;
    let metrics = site.ask(get("/metrics")).await.text;
    assert!(!metrics.contains("reason=\"run_failed\""), "{metrics}");
}
