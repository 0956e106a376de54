//! The order that waits in the queue.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use stepwell_core::duration::Interval;
use stepwell_core::time::Timestamp;
use stepwell_dialects::moment::Moment;
use stepwell_dialects::platform::message::read;
use stepwell_dialects::platform::{JobQueueMessage, queue};

use super::{delivery, message};

#[track_caller]
fn refused(body: &Value, expected: Expect) {
    expected.assert_eq(&read(&body.to_string(), &delivery()).unwrap_err().to_string());
}

#[test]
fn a_message_has_the_fields_of_the_contract_and_no_job_id() {
    // B-001, B-030, B-031: one declared model, every field written in its order.
    expect![[
        r#"{"workflow_id":"raster_ingest","input_params":{"blob_name":"data/file.tif"},"correlation_id":"ddh-req-12345","submitted_by":"ddh-gateway","callback_url":"https://ddh.example/done","idempotency_key":"ddh-12345","priority":3,"submitted_at":"2026-01-05T08:00:00.000Z","message_id":"m-1"}"#
    ]]
    .assert_eq(&message().to_body());
}

#[test]
fn what_a_message_does_not_say_has_a_declared_default() {
    // B-003, B-030: {} and 0 and nothing; moment and id of the delivery, which the sender left open.
    let read = read(r#"{"workflow_id": "raster_ingest"}"#, &delivery()).unwrap();
    let expected = JobQueueMessage {
        input_params: Map::new(),
        correlation_id: None,
        submitted_by: None,
        callback_url: None,
        idempotency_key: None,
        priority: 0,
        ..message()
    };
    assert_eq!(read, expected);
    let nulls = json!({
        "workflow_id": "raster_ingest", "input_params": null, "correlation_id": null,
        "submitted_by": null, "callback_url": null, "idempotency_key": null, "priority": null,
        "submitted_at": null, "message_id": null,
    });
    assert_eq!(super::message::read(&nulls.to_string(), &delivery()).unwrap(), expected);
    let empty = json!({"workflow_id": "raster_ingest", "correlation_id": "", "callback_url": ""});
    assert_eq!(super::message::read(&empty.to_string(), &delivery()).unwrap(), expected);
}

#[test]
fn a_message_of_an_older_sender_is_read() {
    // Its moments have no offset and microseconds; a newer sender may say more than we know.
    let body = json!({
        "workflow_id": "raster_ingest",
        "input_params": {"container_name": "bronze", "blob_name": "data/file.tif"},
        "correlation_id": "ddh-req-12345",
        "submitted_by": "ddh-gateway",
        "priority": 0,
        "submitted_at": "2026-02-03T12:00:00.123456",
        "message_id": "0b8f3a56-7d43-4ab0-9a0a-6c0f4c1f4c11",
        "trace": {"sampled": true},
    });
    let read = read(&body.to_string(), &delivery()).unwrap();
    assert_eq!(read.submitted_at.0.to_string(), "2026-02-03T12:00:00.123Z");
    assert_eq!(read.message_id, "0b8f3a56-7d43-4ab0-9a0a-6c0f4c1f4c11");
}

#[test]
fn every_field_that_is_out_of_bounds_is_told_at_once() {
    // B-015, B-033: lengths count characters, not bytes.
    let long = |chars| "ø".repeat(chars);
    let body = json!({
        "workflow_id": long(65), "input_params": [], "correlation_id": long(65),
        "submitted_by": long(65), "callback_url": format!("https://a.example/{}", "x".repeat(512)),
        "idempotency_key": long(65), "priority": 11, "submitted_at": "soon", "message_id": long(129),
    });
    refused(
        &body,
        expect![[r#"
            workflow_id: this text has 65 characters; write 1 to 64
            input_params: this must be an object, not a list
            correlation_id: this text has 65 characters; write 1 to 64
            callback_url: this text has 530 characters; write 1 to 512
            priority: 11 is out of range; use 0 to 10
            idempotency_key: this text has 65 characters; write 1 to 64
            submitted_by: this text has 65 characters; write 1 to 64
            submitted_at: "soon" is not a moment; write UTC as 2026-02-03T12:00:00Z
            message_id: this text has 129 characters; write 1 to 128"#]],
    );
    let within = json!({
        "workflow_id": long(64), "correlation_id": long(64), "submitted_by": long(64),
        "callback_url": format!("https://a.example/{}", "x".repeat(512 - 18)),
        "idempotency_key": long(64), "priority": 10, "message_id": long(128),
    });
    read(&within.to_string(), &delivery()).unwrap();
}

#[test]
fn a_message_that_says_nothing_usable_is_refused() {
    // B-015, B-033
    refused(&json!({}), expect!["workflow_id: this field is required"]);
    refused(
        &json!({"workflow_id": "a", "priority": -1}),
        expect!["priority: -1 is out of range; use 0 to 10"],
    );
    refused(
        &json!({"workflow_id": "a", "priority": "3"}),
        expect!["priority: this must be a whole number, not text"],
    );
    refused(
        &json!({"workflow_id": "a\u{0}b"}),
        expect![
            "workflow_id: this text has a control character; remove line breaks, tabs and other control characters"
        ],
    );
    refused(
        &json!({"workflow_id": "a", "callback_url": "ftp://a.example"}),
        expect![
            "callback_url: this is not a URL that can be called back; write https://host/path, without user name and blanks"
        ],
    );
    refused(
        &json!({"workflow_id": "a", "input_params": {"x": "y".repeat(256 * 1024)}}),
        expect![
            "input_params: input_params has 262152 bytes; 256 KiB are allowed; keep large data elsewhere and pass a reference"
        ],
    );
    for body in ["", "null", "[]", "{", "\"x\"", r#"{"workflow_id": "a", "workflow_id": "b"}"#] {
        assert!(read(body, &delivery()).is_err(), "{body}");
    }
}

#[test]
fn the_queue_has_the_name_and_the_limits_of_the_contract() {
    // B-035, B-063, B-068, X-097
    assert_eq!(queue::NAME_DEFAULT, "dag-jobs");
    assert_eq!(queue::TTL, Interval::from_secs(86_400));
    assert_eq!(queue::LOCK, Interval::from_secs(300));
    assert_eq!(queue::DELIVERIES_MAX, 10);
}

fn text() -> impl Strategy<Value = Option<String>> {
    prop::option::of("\\PC{1,64}")
}

prop_compose! {
    fn any_message()(
        workflow_id in "\\PC{1,64}",
        numbers in prop::collection::btree_map("\\PC{0,8}", any::<i64>(), 0..4),
        correlation_id in text(),
        submitted_by in text(),
        idempotency_key in text(),
        callback_url in prop::option::of("https://[a-z]{1,20}\\.example/[a-z0-9/]{0,100}"),
        priority in 0..=10_u8,
        submitted_at in 0..7_258_118_399_999_i64,
        message_id in "\\PC{1,128}",
    ) -> JobQueueMessage {
        let number = |(name, number): (String, i64)| (name, Value::from(number));
        JobQueueMessage {
            workflow_id,
            input_params: numbers.into_iter().map(number).collect(),
            correlation_id,
            submitted_by,
            callback_url,
            idempotency_key,
            priority,
            submitted_at: Moment(Timestamp::from_millis(submitted_at)),
            message_id,
        }
    }
}

proptest! {
    // B-008, B-032, B-071: it is serialized by itself; parsed again, it is an equal message.
    #[test]
    fn a_message_that_was_written_is_read_as_it_was(message in any_message()) {
        prop_assert_eq!(read(&message.to_body(), &delivery()).unwrap(), message);
    }

    #[test]
    fn a_message_with_a_piece_cut_out_is_read_or_refused(
        message in any_message(), from in any::<prop::sample::Index>(), length in 0..60_usize,
    ) {
        let mut body: Vec<char> = message.to_body().chars().collect();
        let from = from.index(body.len());
        body.drain(from..(from + length).min(body.len()));
        let _ = read(&body.into_iter().collect::<String>(), &delivery());
    }
}
