//! What a client submits.

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use stepwell_dialects::platform::request::read;
use stepwell_dialects::rejection::RejectionKind;

use super::message;
use crate::world::{refusal, start};

#[track_caller]
fn refused(body: &Value, expected: Expect) {
    expected.assert_eq(&refusal(&read(body.to_string().as_bytes()).unwrap_err()));
}

#[test]
fn a_request_becomes_the_order_that_asks_for_the_same() {
    // B-061: six fields; submitter, moment and id are the gateway's.
    let body = json!({
        "workflow_id": "raster_ingest",
        "input_params": {"blob_name": "data/file.tif"},
        "correlation_id": "ddh-req-12345",
        "callback_url": "https://ddh.example/done",
        "priority": 3,
        "idempotency_key": "ddh-12345",
    });
    let request = read(body.to_string().as_bytes()).unwrap();
    let order = request.into_message("m-1".to_owned(), Some("ddh-gateway".to_owned()), start());
    assert_eq!(order, message());
    let least = read(br#"{"workflow_id": "raster_ingest"}"#).unwrap();
    assert_eq!((least.input_params.len(), least.priority), (0, 0));
}

#[test]
fn everything_that_is_wrong_with_a_request_is_told_at_once() {
    // B-033, B-061, B-064
    let body = json!({
        "input_params": "x", "correlation_id": "c".repeat(65), "callback_url": "https://u:p@a.example",
        "priority": 11, "idempotency_key": "k".repeat(65), "prioritty": 1,
    });
    refused(
        &body,
        expect![[r#"
            422 invalid_request
            workflow_id: this field is required
            input_params: this must be an object, not text
            correlation_id: this text has 65 characters; write 1 to 64
            callback_url: this is not a URL that can be called back; write https://host/path, without user name and blanks
            priority: 11 is out of range; use 0 to 10
            idempotency_key: this text has 65 characters; write 1 to 64
            prioritty: there is no field "prioritty"; did you mean "priority"?"#]],
    );
}

#[test]
fn a_client_cannot_say_who_submits_or_under_which_id() {
    // B-061, B-063: these are for the gateway to say.
    let body = json!({"workflow_id": "a", "submitted_by": "root", "message_id": "m"});
    let rejection = read(body.to_string().as_bytes()).unwrap_err();
    let told: Vec<_> = rejection.problems.iter().map(|it| (it.code, it.path.as_str())).collect();
    assert_eq!(told, [("unknown_field", "message_id"), ("unknown_field", "submitted_by")]);
}

#[test]
fn a_body_that_cannot_be_read_is_malformed() {
    for body in ["", "{", "[]", "null"] {
        assert_eq!(read(body.as_bytes()).unwrap_err().kind, RejectionKind::Malformed, "{body}");
    }
}

#[test]
fn a_refusal_says_which_request_it_is_about() {
    let body = json!({"correlation_id": "c-1"}).to_string();
    assert_eq!(read(body.as_bytes()).unwrap_err().correlation_id.as_deref(), Some("c-1"));
}
