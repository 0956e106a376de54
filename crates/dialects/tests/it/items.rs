//! Items on the wire: what a worker is told, what a caller sees, what a new job takes over.

use expect_test::expect;
use serde_json::json;
use stepwell_core::command::Carried;
use stepwell_core::id::StepIndex;
use stepwell_core::run::RunStatus;
use stepwell_core::step::{Outcome, StepError};
use stepwell_dialects::commands::directive::{CallbackUrls, render};
use stepwell_dialects::commands::{outcome, view};
use stepwell_dialects::platform;
use stepwell_dialects::resume::resume;

use crate::world::{World, accepted, run_id, start};

const PAGES: &str = r#"
name: intake
request_type: document.ingest
steps:
  - id: ocr
    type: OCR
    service: ocr-service
    for_each: "{{pages}}"
    max_parallel: 2
    params: {page: "{{item.url}}", number: "{{_item_index}}"}
    outputs: {texts: text}
  - {id: file, type: SIS, service: sis-service, params: {texts: "{{texts}}"}}
"#;

fn pages() -> World {
    let pages = [json!({ "url": "a" }), json!({ "url": "b" }), json!({ "url": "c" })];
    World::start(accepted(&json!({ "payload": { "pages": pages } }), PAGES))
}

fn text(text: &str) -> Outcome {
    Outcome::Succeeded { result: json!({ "text": text }) }
}

fn failed() -> Outcome {
    let error = StepError::new("blurred", "the page cannot be read");
    Outcome::Failed { error, retryable: false, retry_after: None }
}

// B-021: a worker is told which item it has before it, and answers under that name.
#[test]
fn a_directive_names_the_item_and_carries_what_is_to_be_done_for_it() {
    let world = pages();
    let urls = CallbackUrls { ack: String::new(), result: String::new() };
    let second = world.run.step_named("ocr[1]").unwrap();
    let directive = json!(render(&world.run, second, &urls).unwrap());
    assert_eq!(directive["stepId"], "ocr[1]");
    assert_eq!(directive["payload"], json!({ "page": "b", "number": 1 }));
    assert_eq!(directive["service"], "ocr-service");
    assert!(render(&world.run, StepIndex(0), &urls).is_none(), "the step itself is never sent");
}

// B-021: the job counts the items of a step; the list of its steps shows each, right after its step.
#[test]
fn a_job_counts_items_and_its_steps_show_them() {
    let mut world = pages();
    world.ack("ocr[0]");
    world.report("ocr[0]", text("first"));
    world.report("ocr[1]", failed());
    let job = json!(view::job(&world.run));
    assert_eq!(
        (&job["steps"][0]["status"], &job["current_step_id"]),
        (&json!("PROCESSING"), &json!("ocr"))
    );
    assert_eq!(job["steps"][0]["waiting_for"], "items");
    world.report("ocr[2]", text("third"));
    let job = json!(view::job(&world.run));
    let shown = job["steps"].as_array().unwrap().iter();
    let shown: Vec<_> = shown.map(|step| json!([step["step_id"], step["status"]])).collect();
    assert_eq!(shown, [json!(["ocr", "FAILED_FINAL"]), json!(["file", "CANCELLED"])]);
    assert_eq!(
        job["steps"][0]["items"],
        json!({ "count": 3, "ended": 3, "failed": 1, "under_way": 0, "waiting": 0 })
    );
    let steps = view::steps(&world.run, &world.history);
    let lines: Vec<String> = steps
        .iter()
        .map(|step| {
            let attempts = step.attempts.as_ref().map_or(0, Vec::len);
            let result = step.result.as_deref().map(ToString::to_string).unwrap_or_default();
            format!("{} {} {attempts} {result}", step.step_id, step.status).trim_end().to_owned()
        })
        .collect();
    expect![[r#"
        ocr FAILED_FINAL 0
        ocr[0] SUCCEEDED 1 {"text":"first"}
        ocr[1] FAILED_FINAL 1
        ocr[2] SUCCEEDED 1 {"text":"third"}
        file CANCELLED 0"#]]
    .assert_eq(&lines.join("\n"));
    let job = json!(platform::view::job(&world.run, None));
    assert_eq!(job["nodes"][0]["items"]["failed"], 1);
    assert_eq!(job["nodes"][0]["error"]["code"], "item_failed");
}

#[test]
fn the_result_of_a_step_with_items_is_the_list_of_theirs() {
    let mut world = pages();
    for (item, found) in [("ocr[1]", "b"), ("ocr[0]", "a"), ("ocr[2]", "c")] {
        world.report(item, text(found));
    }
    let steps = view::steps(&world.run, &world.history);
    let result = steps[0].result.as_deref().unwrap();
    assert_eq!(*result, json!([{ "text": "a" }, { "text": "b" }, { "text": "c" }]));
    let file = &world.run.steps[1];
    assert_eq!(file.params.as_deref(), Some(&json!({ "texts": ["a", "b", "c"] })));
}

// B-021: a job that takes up a failed one does again only what was not finished.
#[test]
fn a_new_job_takes_over_the_items_that_were_finished() {
    let mut world = pages();
    world.report("ocr[0]", text("a"));
    world.report("ocr[2]", text("c"));
    world.report("ocr[1]", failed());
    assert_eq!(world.run.status, RunStatus::Failed);
    let (header, carried) = resume(&world.run, run_id(2), "operator", start());
    let [Carried::Items { results, .. }] = carried.as_slice() else { panic!("{carried:?}") };
    assert_eq!(results.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false, true]);

    let mut next = World::start_with(header, carried);
    next.report("ocr[1]", text("b"));
    assert_eq!(next.run.outputs["texts"], json!(["a", "b", "c"]));
    next.report("file", failed());
    let (header, carried) = resume(&next.run, run_id(3), "operator", start());
    assert!(matches!(carried.as_slice(), [Carried::Step { .. }]), "a finished step is taken whole");
    let last = World::start_with(header, carried);
    assert_eq!(last.run.steps[1].params.as_deref(), Some(&json!({ "texts": ["a", "b", "c"] })));
}

#[test]
fn the_longest_name_of_an_item_is_read_back() {
    let id = format!("{}[9999]", "s".repeat(64));
    let body = json!({
        "jobId": run_id(1), "tenant_id": "contoso", "stepId": id, "attempt_no": 1,
        "lease_id": crate::world::lease(1), "status": "SUCCEEDED",
    });
    let read = outcome::result(&body);
    assert!(read.is_ok(), "{read:?}");
}
