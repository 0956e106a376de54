//! A workflow with a list and conditions, from its publication to its end: a real server on a real
//! store, and a worker that talks HTTP.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use stepwell_worker::{Directive, Outcome};
use tokio::sync::{Notify, mpsc};

use crate::start;
use crate::world::World;

const PAGES: &str = r#"
name: pages
request_type: pages
retry: {max_attempts: 2, interval: 100ms}
steps:
  - {id: split, type: SPLIT, pool: workers, outputs: {pages: pages}}
  - id: read
    type: READ
    pool: workers
    after: [split]
    for_each: "{{pages}}"
    max_parallel: 3
    params: {page: "{{item.number}}", of: "{{_job_id}}"}
    outputs: {texts: text}
  - {id: bind, type: BIND, pool: workers, after: [read], when: "{{texts.9}} != null"}
  - {id: staple, type: STAPLE, pool: workers, after: [read], when: "{{texts.9}} == null"}
  - {id: file, type: FILE, pool: workers, after: [bind, staple], params: "{{texts}}"}
"#;

const COUNT: usize = 12;

/// Does every kind of work; page 5 fails once, and page 7 waits until it is told to go on.
struct Desk {
    reading: AtomicUsize,
    most: AtomicUsize,
    begun: mpsc::UnboundedSender<()>,
    go_on: Notify,
}

impl Desk {
    async fn work(&self, directive: &Directive) -> Outcome {
        match directive.step_type.as_str() {
            "SPLIT" => {
                let pages: Value = (0..COUNT).map(|number| json!({ "number": number })).collect();
                Outcome::succeeded(json!({ "pages": pages }))
            }
            "READ" => {
                let under_way = self.reading.fetch_add(1, Ordering::SeqCst) + 1;
                self.most.fetch_max(under_way, Ordering::SeqCst);
                let outcome = self.read(directive).await;
                self.reading.fetch_sub(1, Ordering::SeqCst);
                outcome
            }
            other => Outcome::succeeded(json!({ "done": other, "given": directive.payload })),
        }
    }

    async fn read(&self, directive: &Directive) -> Outcome {
        let page = directive.payload["page"].as_u64().expect("a page is given");
        assert_eq!(directive.attempt.step_id, format!("read[{page}]"));
        if page == 5 && directive.attempt.attempt_no == 1 {
            return Outcome::retryable("blurred", "the page is blurred");
        }
        if page == 7 {
            let _ = self.begun.send(());
            self.go_on.notified().await;
        }
        Outcome::succeeded(json!({ "text": format!("text {page}") }))
    }
}

// B-021, X-111, X-112: fan-out over a list that a step found, conditions, and a join, with a server
// that is stopped and started again in the middle.
#[tokio::test]
async fn a_step_is_done_for_each_item_of_a_list_and_the_branch_that_is_not_wanted_is_passed_over() {
    let mut world = World::start().await;
    world.publish(PAGES).await;
    let (begun, mut has_begun) = mpsc::unbounded_channel();
    let go_on = Notify::new();
    let (reading, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let desk = Arc::new(Desk { reading, most, begun, go_on });
    let worker = start(world.worker().concurrency(8), {
        let desk = Arc::clone(&desk);
        move |directive: Directive| {
            let desk = Arc::clone(&desk);
            async move { desk.work(&directive).await }
        }
    });
    let job = world.submit_to("pages", json!({})).await;
    has_begun.recv().await.expect("page 7 is read");
    let items = world.job(&job).await["steps"][1]["items"].clone();
    assert_eq!((&items["count"], &items["failed"]), (&json!(COUNT), &json!(0)));
    world.stop().await;
    world.start_again().await;
    desk.go_on.notify_one();
    assert_eq!(world.ended(&job).await, "SUCCEEDED");
    worker.stop().await;

    assert!(desk.most.load(Ordering::SeqCst) <= 3, "no more than three at a time");
    let steps = world.steps(&job).await;
    let ids: Vec<&str> = steps.iter().filter_map(|step| step["step_id"].as_str()).collect();
    assert_eq!(ids[..3], ["split", "read", "read[0]"]);
    assert_eq!(ids.len(), 5 + COUNT);
    let step = |id: &str| steps.iter().find(|step| step["step_id"] == id).expect("it is listed");
    assert_eq!(step("read[5]")["attempts"].as_array().map(Vec::len), Some(2));
    assert_eq!(step("read")["result"][11], json!({ "text": "text 11" }));
    assert_eq!(
        (&step("bind")["status"], &step("staple")["status"]),
        (&json!("SUCCEEDED"), &json!("CANCELLED"))
    );
    let texts: Value = (0..COUNT).map(|page| json!(format!("text {page}"))).collect();
    assert_eq!(step("file")["result"]["given"], texts);
}

// B-021: who follows a job from its beginning is told of items that it did not have then.
#[tokio::test]
async fn the_events_of_a_job_name_items_that_came_after_the_first_look() {
    let world = World::start().await;
    world.publish(PAGES).await;
    let job = world.submit_to("pages", json!({})).await;
    let events = tokio::spawn(world.events(&job).await.text());
    let worker =
        start(world.worker(), async |directive: Directive| match directive.step_type.as_str() {
            "SPLIT" => Outcome::succeeded(json!({ "pages": [{ "number": 0 }, { "number": 1 }] })),
            _ => Outcome::succeeded(json!({ "text": "text" })),
        });
    let events = events.await.expect("no panic").expect("the stream ends with the job");
    worker.stop().await;
    assert!(events.contains("event: run_succeeded"), "{events}");
    assert!(events.contains(r#""step_id":"read[1]""#), "{events}");
    let history = world.history(&job).await.to_string();
    assert!(history.contains(r#""step_id":"read[1]""#), "{history}");
}

// B-021: a person names an item as people do, with or without percent signs in the address.
#[tokio::test]
async fn a_person_completes_one_item_and_skips_another() {
    let world = World::start().await;
    world.publish(PAGES).await;
    let (begun, mut has_begun) = mpsc::unbounded_channel();
    let two_at_once = world.worker().concurrency(4).visibility(Duration::from_secs(1));
    let worker = start(two_at_once, move |directive: Directive| {
        let begun = begun.clone();
        async move {
            match directive.step_type.as_str() {
                "SPLIT" => {
                    Outcome::succeeded(json!({ "pages": [{ "number": 0 }, { "number": 1 }] }))
                }
                "READ" => {
                    let _ = begun.send(());
                    std::future::pending().await
                }
                _ => Outcome::succeeded(json!({})),
            }
        }
    });
    let job = world.submit_to("pages", json!({})).await;
    for _ in 0..2 {
        has_begun.recv().await.expect("both pages are begun");
    }
    let result = json!({ "result": { "text": "by hand" }, "reason": "it is a photograph" });
    world.post(&format!("/v1/jobs/{job}/steps/read[0]:complete"), &result).await;
    world.post(&format!("/v1/jobs/{job}/steps/read%5B1%5D:skip"), &json!({})).await;
    assert_eq!(world.ended(&job).await, "SUCCEEDED");
    worker.stop().await;
    let steps = world.steps(&job).await;
    assert_eq!(steps[1]["result"], json!([{ "text": "by hand" }, null]));
}

// X-112: a list that is longer than its step allows is refused before anything is written.
#[tokio::test]
async fn a_request_with_too_long_a_list_is_refused_and_leaves_nothing_behind() {
    let world = World::start().await;
    let document = PAGES
        .replace("request_type: pages", "request_type: lists")
        .replace("{{pages}}", "{{given}}");
    world.publish(&document).await;
    let long: Vec<u8> = vec![0; 1_001];
    let problem = world.refused("lists", json!({ "given": long })).await;
    assert_eq!(problem["status"], 422, "{problem}");
    assert_eq!(problem["details"][0]["code"], "for_each_too_many", "{problem}");
    let detail = problem["details"][0].to_string();
    assert!(detail.contains("1001 items") && detail.contains("may have 1000"), "{detail}");
    assert_eq!(world.jobs().await, json!([]));
}
