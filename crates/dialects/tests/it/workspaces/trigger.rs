//! Documents of triggers, and what their firings ask for.

use expect_test::expect;
use serde_json::{Map, Value, json};
use stepwell_core::credit::Credits;
use stepwell_core::duration::Interval;
use stepwell_core::time::Timestamp;
use stepwell_core::trigger::TriggerKind;
use stepwell_dialects::workspaces::trigger::{Firing, Kind, of_json, read, schema};
use stepwell_dialects::workspaces::{Key, Trigger};

use crate::world::start;

pub(super) const NIGHTLY: &str = "
name: nightly
kind: schedule
workflow_id: digest
user_id: reports
credits_estimate: 3.5
max_attempts: 2
input: {day: \"{{_scheduled_for}}\", by: \"{{_trigger}}\", pages: 10}
schedule: {cron: 30 2 * * *, time_zone: Europe/Berlin, overlap: queue, catch_up: 6h, catch_up_mode: all}
";

pub(super) const ORDERS: &str = "
name: orders
kind: webhook
workflow_id: order
input: {order: \"{{_body.order}}\", from: \"shop {{_headers.x-shop}}\"}
webhook: {secret_env: ORDERS_SECRET, tolerance: 2m}
";

pub(super) const INCOMING: &str = "
name: incoming
kind: file_drop
workflow_id: import
references: {file: \"file://{{_file.path}}\"}
file_drop: {directory: /srv/incoming, glob: \"*.csv\", settle: 10s, after: remember}
";

pub(super) const BUTTON: &str = "{name: button, kind: manual, workflow_id: digest}";

#[track_caller]
pub(super) fn trigger(text: &str) -> Trigger {
    read(text.as_bytes()).unwrap_or_else(|problems| panic!("{text}\n{problems}"))
}

fn map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        other => panic!("{other} is no object"),
    }
}

#[test]
fn a_schedule_says_when_where_and_what_about_overlaps_and_downtime() {
    // C-007
    let trigger = trigger(NIGHTLY);
    assert_eq!((trigger.name.as_str(), trigger.workflow_id.as_str()), ("nightly", "digest"));
    assert_eq!(trigger.credits_estimate, Some(Credits(3_500_000)));
    let Kind::Schedule(schedule) = &trigger.kind else { panic!("{trigger:?}") };
    assert_eq!(schedule.catch_up, Interval::from_secs(6 * 3_600));
    // 02:30 in Berlin is 01:30 UTC in winter.
    let next = schedule.schedule.next_after(start()).unwrap();
    assert_eq!(next.to_string(), "2026-01-06T01:30:00.000Z");
}

#[test]
fn what_is_stored_reads_the_same_with_every_default_spelled_out() {
    for text in [NIGHTLY, ORDERS, INCOMING, BUTTON] {
        let stored = trigger(text).to_json();
        assert_eq!(of_json(&stored).unwrap().to_json(), stored, "{text}");
        assert_eq!(read(stored.to_string().as_bytes()).unwrap().to_json(), stored, "{text}");
    }
    let least = "{name: x, kind: schedule, workflow_id: w, schedule: {cron: '@hourly'}}";
    expect![[r#"
        {
          "description": "",
          "enabled": true,
          "input": {},
          "kind": "schedule",
          "name": "x",
          "references": {},
          "schedule": {
            "catch_up": "1h",
            "catch_up_mode": "latest",
            "cron": "@hourly",
            "overlap": "skip",
            "time_zone": "UTC"
          },
          "workflow_id": "w"
        }
    "#]]
    .assert_eq(&format!("{:#}\n", trigger(least).to_json()));
    let least = "{name: x, kind: file_drop, workflow_id: w, file_drop: {directory: /in}}";
    expect![[r#"
        {
          "description": "",
          "enabled": true,
          "file_drop": {
            "after": "move",
            "directory": "/in",
            "glob": "*",
            "processed": "processed/",
            "settle": "5s"
          },
          "input": "{{_file}}",
          "kind": "file_drop",
          "name": "x",
          "references": {},
          "workflow_id": "w"
        }
    "#]]
    .assert_eq(&format!("{:#}\n", trigger(least).to_json()));
    let least = "{name: x, kind: webhook, workflow_id: w}";
    expect![[r#"
        {
          "description": "",
          "enabled": true,
          "input": "{{_body}}",
          "kind": "webhook",
          "name": "x",
          "references": {},
          "webhook": {
            "secret_env": null,
            "tolerance": "5m"
          },
          "workflow_id": "w"
        }
    "#]]
    .assert_eq(&format!("{:#}\n", trigger(least).to_json()));
}

#[test]
fn a_document_may_be_json_or_yaml() {
    let yaml = trigger(NIGHTLY).to_json();
    let json = trigger(&yaml.to_string()).to_json();
    assert_eq!(json, yaml);
}

#[test]
fn a_scheduled_firing_knows_its_moment() {
    // C-007, C-036: the key makes it one job, however often it is made.
    let moment = "2026-01-06T01:30:00.000Z";
    let firing = Firing {
        key: moment.to_owned(),
        variables: map(json!({"_scheduled_for": moment})),
        ..Firing::default()
    };
    let later = start().after(Interval::from_secs(86_400));
    let request = trigger(NIGHTLY).request(firing.clone(), later).unwrap();
    assert_eq!(json!(request.input), json!({"day": moment, "by": "nightly", "pages": 10}));
    assert_eq!(request.trigger_type, TriggerKind::Schedule);
    assert_eq!((request.user_id.as_str(), request.max_attempts), ("reports", Some(2)));
    let key = "trigger:nightly:2026-01-06T01:30:00.000Z";
    assert_eq!(request.idempotency_key.as_deref(), Some(key));
    let again = trigger(NIGHTLY).request(firing, later.after(Interval::from_secs(5))).unwrap();
    assert_eq!(Key::of("atelier", &request), Key::of("atelier", &again));
}

#[test]
fn a_webhook_puts_its_body_into_the_input() {
    let hook = |body: Value| Firing {
        key: "msg-1".to_owned(),
        variables: map(json!({"_body": body, "_headers": {"x-shop": "7"}})),
        ..Firing::default()
    };
    let order = json!({"order": {"id": 9, "lines": [1, 2]}});
    let request = trigger(ORDERS).request(hook(order.clone()), start()).unwrap();
    let expected = json!({"order": {"id": 9, "lines": [1, 2]}, "from": "shop 7"});
    assert_eq!(json!(request.input), expected);
    assert_eq!(request.user_id, "trigger:orders");
    let problems = trigger(ORDERS).request(hook(json!({"ordr": 1})), start()).unwrap_err();
    expect![[r#"
        input: /order: unresolved: _body.order; names that begin with an underscore are reserved, and this one is not known; what fired the trigger does not have it; change the template, or the sender
    "#]]
    .assert_eq(&format!("{problems}\n"));
    let plain = trigger("{name: x, kind: webhook, workflow_id: w}");
    let request = plain.request(hook(order.clone()), start()).unwrap();
    assert_eq!(json!(request.input), order, "without a template it is the body");
    let problems = plain.request(hook(json!([1])), start()).unwrap_err();
    expect![[r#"
        input: what fired the trigger is not an object; name its place in the document, such as input: {message: "{{_body}}"}
    "#]]
    .assert_eq(&format!("{problems}\n"));
}

#[test]
fn a_template_in_a_body_is_data_and_stays_data() {
    let body = json!({"order": "{{_headers.authorization}}"});
    let variables = map(json!({"_body": body, "_headers": {"x-shop": "7", "authorization": "s"}}));
    let firing = Firing { key: "k".to_owned(), variables, ..Firing::default() };
    let request = trigger(ORDERS).request(firing, start()).unwrap();
    assert_eq!(request.input["order"], "{{_headers.authorization}}");
}

#[test]
fn a_file_is_passed_by_reference() {
    // C-016
    let file = json!({"path": "/srv/incoming/a.csv", "name": "a.csv", "size": 12});
    let variables = map(json!({ "_file": file }));
    let firing = |key: &str| Firing {
        key: key.to_owned(),
        variables: variables.clone(),
        ..Firing::default()
    };
    let request = trigger(INCOMING).request(firing("a.csv:12:0"), start()).unwrap();
    assert_eq!(json!(request.references), json!({"file": "file:///srv/incoming/a.csv"}));
    assert_eq!(json!(request.input), file);
    let long = trigger(INCOMING).request(firing(&"x".repeat(4_096)), start()).unwrap();
    let key = long.idempotency_key.unwrap();
    assert!(key.starts_with("trigger:incoming:sha256:") && key.len() < 100, "{key}");
}

#[test]
fn whoever_fires_by_hand_may_add_to_the_input() {
    let document = "{name: x, kind: manual, workflow_id: w, input: {a: 1, b: '{{_fired_at}}'}}";
    let input = map(json!({"a": 2, "c": "{{_key}}"}));
    let firing = Firing { key: "k".to_owned(), input, ..Firing::default() };
    let at = Timestamp::from_millis(0);
    let request = trigger(document).request(firing, at).unwrap();
    let expected = json!({"a": 2, "b": "1970-01-01T00:00:00.000Z", "c": "{{_key}}"});
    assert_eq!(json!(request.input), expected);
}

#[test]
fn the_published_schema_of_triggers_is_the_one_we_have_and_takes_what_we_take() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs/schemas/trigger.schema.json");
    let ours = format!("{:#}\n", schema());
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &ours).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), ours, "run once with UPDATE_EXPECT=1");
    let validator = jsonschema::options().offline().build(&schema()).unwrap();
    for text in [NIGHTLY, ORDERS, INCOMING, BUTTON] {
        let document = trigger(text).to_json();
        let errors: Vec<String> =
            validator.iter_errors(&document).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{document}: {errors:?}");
    }
    for text in super::trigger_refused::REFUSED {
        let document = stepwell_dialects::yaml::read(text.as_bytes()).unwrap();
        let document = stepwell_dialects::fields::Tree::to_json(&document);
        assert!(!validator.is_valid(&document), "the schema accepts {text}");
    }
}
