//! Publishing and reading runbooks, their automation, their query and their template.

use expect_test::expect;

use super::site::{HELLO, Site};
use crate::program::{program, run};

// A-160, A-165, X-085: publish, list, get, versions, delete; a single version can be fetched.
#[test]
fn versions_are_published_listed_read_and_taken_out_of_use() {
    let site = Site::new();
    let told = site.run(&["runbook", "publish", "hello.yaml"]).with_code(0);
    assert_eq!(told.stdout, "hello.yaml: runbook \"hello\", version 1\n", "the same text again");
    site.file("hello.yaml", &HELLO.replace("T-1h", "T-2h"));
    let told = site.run(&["runbook", "publish", "hello.yaml"]).with_code(0);
    assert_eq!(told.stdout, "hello.yaml: runbook \"hello\", version 2\n");

    let listed = site.json(&["runbook", "list"]);
    assert_eq!(listed["items"][0]["version"], 2);
    assert!(site.run(&["runbook", "list"]).stdout.contains("T-2h T-0"));
    assert_eq!(site.run(&["runbook", "get", "hello", "--version", "1"]).stdout, HELLO);
    assert!(site.run(&["runbook", "get", "hello"]).stdout.contains("T-2h"));
    let versions = site.json(&["runbook", "versions", "hello"]);
    assert_eq!(versions["items"].as_array().unwrap().len(), 2);

    site.run(&["runbook", "delete", "hello", "2"]).with_code(0);
    let versions = site.json(&["runbook", "versions", "hello"]);
    assert_eq!(versions["items"][0]["is_active"], false);
    let gone = site.run(&["runbook", "delete", "hello", "9"]).with_code(3);
    assert!(gone.stderr.contains("next: see `stepwell runbook list`"), "{}", gone.stderr);
}

// A-160: every problem of a document is a line that an editor can jump to.
#[test]
fn a_document_that_is_wrong_is_refused_with_line_and_column() {
    let site = Site::new();
    site.file(
        "hello.yaml",
        &HELLO.replace("T-1h", "T-1").replace("on_failure: undo", "on_failure: redo"),
    );
    let ended = site.run(&["runbook", "publish", "hello.yaml"]).with_code(7);
    expect![[r#"
        error: hello.yaml is not a runbook that could be published
          hello.yaml:7:13: phases[0].offset: "T-1" is not an offset: it has no unit; write T-0, or T- (before) or T+ (after) with a whole number and one of d, h, m or s, such as T-5d, T-30m or T+2h
          hello.yaml:13:21: phases[0].steps[0].on_failure: there is no rollback "redo"; add it under rollbacks
          next: correct it; `stepwell validate` checks it too
    "#]]
    .assert_eq(&ended.stderr);
    let planned = site.run(&["runbook", "plan", "hello.yaml"]).with_code(7);
    assert_eq!(planned.stderr, ended.stderr);
}

// A-125: what publishing would do to batches under way is shown before it is done.
#[test]
fn a_plan_shows_which_batches_would_follow() {
    let site = Site::new();
    let told = site.run(&["runbook", "plan", "hello.yaml", "--overdue", "rerun"]).with_code(0);
    assert_eq!(told.stdout, "version 2 of \"hello\": no batch under way would follow\n");
}

#[test]
fn the_schema_for_editors_is_printed_without_a_server() {
    let home = tempfile::tempdir().unwrap();
    let schema = run(program(home.path()).args(["runbook", "schema"])).with_code(0).json();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
}

// A-161, A-138: automation is switched with who and when.
#[test]
fn automation_is_off_until_somebody_switches_it_on() {
    let site = Site::new();
    assert_eq!(site.json(&["automation", "status", "hello"])["automation_enabled"], false);
    let on = site.json(&["automation", "enable", "hello"]);
    assert_eq!(on["automation_enabled"], true);
    assert!(on["enabled_by"].as_str().unwrap().contains("admin"), "{on}");
    let off = site.json(&["automation", "disable", "hello"]);
    assert_eq!(off["automation_enabled"], false);
    assert!(off["disabled_at"].is_string());
    let told = site.run(&["automation", "status", "hello"]).with_code(0).stdout;
    assert!(told.contains("automation   off"), "{told}");
    let ended = site.run(&["automation", "enable", "nobody"]).with_code(3);
    assert!(ended.stderr.contains("next: see `stepwell runbook list`"), "{}", ended.stderr);
}

// A-161, X-087: the query is asked and nothing is made of it.
#[test]
fn a_query_without_its_variable_says_which_one_is_missing() {
    let site = Site::new();
    let ended = site.run(&["query", "preview", "hello"]);
    assert_ne!(ended.code, Some(0));
    assert!(ended.stderr.contains("MEMBERS_CSV"), "{}", ended.stderr);
    assert_eq!(site.json(&["batch", "list"])["total"], 0);
}

// A-161, X-081: the template has the key and every column that a step uses.
#[test]
fn a_template_is_printed_or_written() {
    let site = Site::new();
    assert_eq!(site.run(&["template", "download", "hello"]).with_code(0).stdout, "Mail\n");
    site.run(&["template", "download", "hello", "--file", "list.csv"]).with_code(0);
    assert_eq!(std::fs::read_to_string(site.path("list.csv")).unwrap().trim(), "Mail");
}
