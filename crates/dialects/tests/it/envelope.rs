//! The envelope of a command: what is accepted, and what is refused field by field.

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use stepwell_core::lane::Mode;
use stepwell_dialects::commands::{self, RejectionKind};

use crate::world::{body, envelope, refusal};

/// Each change of a sound envelope, and what is said of it.
#[track_caller]
fn check(cases: &[Value], expected: Expect) {
    let mut lines = Vec::new();
    for case in cases {
        lines.push(case.to_string().chars().take(100).collect::<String>());
        let rejection = commands::envelope(&body(case)).unwrap_err();
        assert_eq!(rejection.kind, RejectionKind::Invalid);
        lines.extend(rejection.problems.iter().map(|problem| format!("    {problem}")));
    }
    expected.assert_eq(&(lines.join("\n") + "\n"));
}

#[track_caller]
fn check_body(body: &[u8], expected: Expect) {
    expected.assert_eq(&refusal(&commands::envelope(body).unwrap_err()));
}

#[test]
fn an_envelope_with_the_required_fields_is_enough() {
    // D-013: these six and no more.
    let read = envelope(&json!({}));
    assert_eq!(read.tenant_id, "contoso");
    assert_eq!(read.request_type, "document.ingest");
    assert_eq!(read.input_ref, "https://store.example/in/1.pdf");
    assert_eq!(read.output_ref, "https://store.example/out/1.json");
    assert_eq!(Value::Object(read.payload), json!({"language": "en"}));
    assert_eq!(read.mode, Mode::Default);
    assert_eq!((read.idempotency_key, read.doc_id, read.correlation_id), (None, None, None));
    assert_eq!((read.traceparent, read.callback_urls), (None, vec![]));
}

#[test]
fn an_envelope_may_say_more() {
    // D-014: every optional field.
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let read = envelope(&json!({
        "mode": "BURST",
        "idempotency_key": "order 17",
        "doc_id": "doc-42",
        "callback_urls": {"done": "https://a.example/x?y=1", "audit": "http://b.example:8080"},
        "correlation_id": "c-1",
        "traceparent": trace,
    }));
    assert_eq!(read.mode, Mode::Burst);
    assert_eq!(read.idempotency_key.as_deref(), Some("order 17"));
    assert_eq!(read.doc_id.as_deref(), Some("doc-42"));
    assert_eq!(read.callback_urls, ["http://b.example:8080", "https://a.example/x?y=1"]);
    assert_eq!(read.correlation_id.as_deref(), Some("c-1"));
    assert_eq!(read.traceparent.as_deref(), Some(trace));
    let urls =
        json!({"callback_urls": ["https://a.example", "https://a.example", "http://[::1]:80/"]});
    assert_eq!(envelope(&urls).callback_urls, ["https://a.example", "http://[::1]:80/"]);
}

#[test]
fn the_one_version_may_be_written_in_several_ways() {
    // D-018: anything else is not supported.
    for version in [json!("1"), json!("1.0"), json!("v1"), json!(1)] {
        envelope(&json!({"schema_version": version}));
    }
    check(
        &[
            json!({"schema_version": "2"}),
            json!({"schema_version": 2}),
            json!({"schema_version": 1.0}),
            json!({"schema_version": ["1"]}),
        ],
        expect![[r#"
            {"schema_version":"2"}
                schema_version: version "2" is not supported; use "1"
            {"schema_version":2}
                schema_version: version 2 is not supported; use "1"
            {"schema_version":1.0}
                schema_version: version 1.0 is not supported; use "1"
            {"schema_version":["1"]}
                schema_version: this must be text, not a list
        "#]],
    );
}

#[test]
fn every_missing_field_is_told_at_once() {
    // D-013: one structured answer with all of them.
    check_body(
        b"{}",
        expect![[r#"
        422 invalid_request
        tenant_id: this field is required
        request_type: this field is required
        input_ref: this field is required
        output_ref: this field is required
        payload: this field is required
        schema_version: this field is required"#]],
    );
}

#[test]
fn texts_have_lengths_and_characters() {
    let long = |length: usize| "x".repeat(length);
    check(
        &[
            json!({"tenant_id": ""}),
            json!({"tenant_id": 7}),
            json!({"tenant_id": "a b"}),
            json!({"tenant_id": long(129)}),
            json!({"request_type": {}}),
            json!({"request_type": "a b"}),
            json!({"request_type": long(129)}),
            json!({"input_ref": ""}),
            json!({"input_ref": false}),
            json!({"input_ref": long(2_049)}),
            json!({"output_ref": []}),
            json!({"output_ref": long(2_049)}),
            json!({"idempotency_key": ""}),
            json!({"idempotency_key": 1}),
            json!({"idempotency_key": long(256)}),
            json!({"doc_id": "a\nb"}),
            json!({"doc_id": {}}),
            json!({"doc_id": long(257)}),
            json!({"correlation_id": "a\u{1b}[31m"}),
            json!({"correlation_id": long(129)}),
        ],
        expect![[r#"
            {"tenant_id":""}
                tenant_id: this text must not be empty
            {"tenant_id":7}
                tenant_id: this must be text, not a number
            {"tenant_id":"a b"}
                tenant_id: "a b" cannot be used here; use letters, digits, '.', '_', ':' and '-'
            {"tenant_id":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
                tenant_id: this text has 129 characters; write 1 to 128
            {"request_type":{}}
                request_type: this must be text, not an object
            {"request_type":"a b"}
                request_type: "a b" cannot be used here; use letters, digits, '.', '_', '-', ':' and '/', and begin with a letter or a digit
            {"request_type":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
                request_type: this text has 129 characters; write 1 to 128
            {"input_ref":""}
                input_ref: this text must not be empty
            {"input_ref":false}
                input_ref: this must be text, not true or false
            {"input_ref":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
                input_ref: this text has 2049 characters; write 1 to 2048
            {"output_ref":[]}
                output_ref: this must be text, not a list
            {"output_ref":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
                output_ref: this text has 2049 characters; write 1 to 2048
            {"idempotency_key":""}
                idempotency_key: this text must not be empty
            {"idempotency_key":1}
                idempotency_key: this must be text, not a number
            {"idempotency_key":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
                idempotency_key: this text has 256 characters; write 1 to 255
            {"doc_id":"a\nb"}
                doc_id: this text has a control character; remove line breaks, tabs and other control characters
            {"doc_id":{}}
                doc_id: this must be text, not an object
            {"doc_id":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
                doc_id: this text has 257 characters; write 1 to 256
            {"correlation_id":"a\u001b[31m"}
                correlation_id: this text has a control character; remove line breaks, tabs and other control characters
            {"correlation_id":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
                correlation_id: this text has 129 characters; write 1 to 128
        "#]],
    );
}

#[test]
fn a_payload_is_an_object_of_limited_size() {
    // X-163: 256 KiB; larger data belongs elsewhere, with a reference to it.
    let text = |bytes: usize| "x".repeat(bytes);
    let just = 256 * 1024 - r#"{"a":""}"#.len();
    envelope(&json!({"payload": {"a": text(just)}}));
    check(
        &[
            json!({"payload": []}),
            json!({"payload": "text"}),
            json!({"payload": {"a": text(just + 1)}}),
        ],
        expect![[r#"
            {"payload":[]}
                payload: this must be an object, not a list
            {"payload":"text"}
                payload: this must be an object, not text
            {"payload":{"a":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
                payload: the payload has 262145 bytes; 256 KiB are allowed; keep large data elsewhere and pass a reference
        "#]],
    );
}

#[test]
fn burst_needs_a_document() {
    // D-015: without one there is no routing key.
    check(
        &[json!({"mode": "BURST"}), json!({"mode": "BURST", "doc_id": ""})],
        expect![[r#"
        {"mode":"BURST"}
            doc_id: this field is required
        {"doc_id":"","mode":"BURST"}
            doc_id: this text must not be empty
    "#]],
    );
    check(
        &[json!({"mode": "burst"}), json!({"mode": "FAST"}), json!({"mode": 1})],
        expect![[r#"
        {"mode":"burst"}
            mode: "burst" is not possible here; did you mean "BURST"?
        {"mode":"FAST"}
            mode: "FAST" is not possible here; use one of DEFAULT, BURST
        {"mode":1}
            mode: this must be text, not a number
    "#]],
    );
}

#[test]
fn callback_urls_are_urls() {
    let many: Vec<String> = (0..6).map(|n| format!("https://a.example/{n}")).collect();
    let long = format!("https://a.example/{}", "x".repeat(2_048));
    check(
        &[
            json!({"callback_urls": "https://a.example"}),
            json!({"callback_urls": many}),
            json!({"callback_urls": [long]}),
            json!({"callback_urls": [1, ""]}),
            json!({"callback_urls": ["ftp://a.example", "https://", "https://:80/", "a.example"]}),
            json!({"callback_urls": {"x": "https://me:secret@a.example", "y": "https://a.example/ b"}}),
        ],
        expect![[r#"
            {"callback_urls":"https://a.example"}
                callback_urls: this must be a list or an object of URLs, not text
            {"callback_urls":["https://a.example/0","https://a.example/1","https://a.example/2","https://a.examp
                callback_urls: there are 6 callback URLs; give at most 5
            {"callback_urls":["https://a.example/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
                callback_urls[0]: this text has 2066 characters; write 1 to 2048
            {"callback_urls":[1,""]}
                callback_urls[0]: this must be text, not a number
                callback_urls[1]: this text must not be empty
            {"callback_urls":["ftp://a.example","https://","https://:80/","a.example"]}
                callback_urls[0]: this is not a URL that can be called back; write https://host/path, without user name and blanks
                callback_urls[1]: this is not a URL that can be called back; write https://host/path, without user name and blanks
                callback_urls[2]: this is not a URL that can be called back; write https://host/path, without user name and blanks
                callback_urls[3]: this is not a URL that can be called back; write https://host/path, without user name and blanks
            {"callback_urls":{"x":"https://me:secret@a.example","y":"https://a.example/ b"}}
                callback_urls.x: this is not a URL that can be called back; write https://host/path, without user name and blanks
                callback_urls.y: this is not a URL that can be called back; write https://host/path, without user name and blanks
        "#]],
    );
}

#[test]
fn a_traceparent_has_the_form_of_the_standard() {
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let parent = "00f067aa0ba902b7";
    let refused = [
        "x".to_owned(),
        format!("00-{trace}-{parent}"),
        format!("ff-{trace}-{parent}-01"),
        format!("00-{}-{parent}-01", "0".repeat(32)),
        format!("00-{trace}-{}-01", "0".repeat(16)),
        format!("00-{}-{parent}-01", trace.to_uppercase()),
        format!("00-{trace}-{parent}-1"),
    ];
    for text in refused {
        let rejection = commands::envelope(&body(&json!({"traceparent": text}))).unwrap_err();
        let codes: Vec<&str> = rejection.problems.iter().map(|problem| problem.code).collect();
        assert_eq!(codes, ["bad_traceparent"], "{text}");
    }
    check(
        &[json!({"traceparent": 1})],
        expect![[r#"
        {"traceparent":1}
            traceparent: this must be text, not a number
    "#]],
    );
}

#[test]
fn a_field_that_nobody_knows_is_refused() {
    check(
        &[json!({"tenantid": "x"}), json!({"priority": 10}), json!({"status": "SUCCEEDED"})],
        expect![[r#"
            {"tenantid":"x"}
                tenantid: there is no field "tenantid"; did you mean "tenant_id"?
            {"priority":10}
                priority: there is no field "priority"; known fields are tenant_id, request_type, input_ref, output_ref, payload, schema_version, mode, doc_id, idempotency_key, callback_urls, correlation_id, traceparent
            {"status":"SUCCEEDED"}
                status: there is no field "status"; known fields are tenant_id, request_type, input_ref, output_ref, payload, schema_version, mode, doc_id, idempotency_key, callback_urls, correlation_id, traceparent
        "#]],
    );
}

#[test]
fn a_body_that_cannot_be_read_is_malformed() {
    // X-145: 400 for what is no request at all, 422 for what is a wrong one.
    check_body(
        b"{\"tenant_id\": ",
        expect![[r#"
        400 malformed_request
        1:14: tenant_id: this is not JSON: EOF while parsing a value"#]],
    );
    check_body(
        b"",
        expect![[r#"
        400 malformed_request
        1:1: this is not JSON: EOF while parsing a value"#]],
    );
    check_body(
        b"[]",
        expect![[r#"
        400 malformed_request
        the body must be a JSON object"#]],
    );
    check_body(
        b"{\"a\": 1, \"a\": 2}",
        expect![[r#"
        400 malformed_request
        1:12: the key "a" appears twice in this object"#]],
    );
    check_body(
        b"\xff",
        expect![[r#"
        400 malformed_request
        1:1: the text is not UTF-8 from here on; save or send it with UTF-8 encoding"#]],
    );
    check_body(
        &vec![b' '; 600_000],
        expect![[r#"
        400 malformed_request
        the body has 600000 bytes; 512 KiB are allowed"#]],
    );
    let deep = format!("{{\"payload\": {}{}}}", "[".repeat(40), "]".repeat(40));
    let rejection = commands::envelope(deep.as_bytes()).unwrap_err();
    assert_eq!(rejection.kind.status(), 400);
}

#[test]
fn a_rejection_has_the_form_of_the_contract() {
    // X-145: code, message, details and correlation_id.
    let rejection = commands::envelope(&body(&json!({
        "tenant_id": null,
        "mode": "BURTS",
        "correlation_id": "c-1",
    })))
    .unwrap_err();
    expect![[r#"
        {
          "code": "invalid_request",
          "message": "the request was refused, and nothing has changed: 2 problems, first tenant_id: this field is required",
          "details": [
            {
              "code": "missing_field",
              "path": "tenant_id",
              "message": "this field is required"
            },
            {
              "code": "unknown_word",
              "path": "mode",
              "message": "\"BURTS\" is not possible here",
              "help": "did you mean \"BURST\"?"
            }
          ],
          "correlation_id": "c-1"
        }"#]].assert_eq(&serde_json::to_string_pretty(&rejection.body()).unwrap());
    let long = body(&json!({"mode": 1, "correlation_id": "c".repeat(1_000)}));
    let rejection = commands::envelope(&long).unwrap_err();
    assert_eq!(rejection.correlation_id, None, "what is refused is not repeated");
}
