//! From an envelope to the header of a run: schemas, references, lanes, variables.

use std::collections::BTreeSet;
use std::sync::Arc;

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use stepwell_core::definition::Workflow;
use stepwell_core::run::Dialect;
use stepwell_dialects::commands::{self, ReferencePolicy};
use stepwell_dialects::workflow::{Checks, SPECIALS};

use crate::world::{TWO_STEPS, accept, accepted, refusal, run_id, start, workflow};

const STRICT: &str = "
name: intake
request_type: document.ingest
input_schema:
  required: [language]
  properties:
    language: {type: string, pattern: '^[a-z]{2}$'}
    owner: {properties: {mail: {type: string, format: email}}}
    tags: {type: array, items: {enum: [a, b]}}
steps:
  - {id: ocr, type: OCR, service: ocr, payload_schema: {properties: {pages: {type: integer, maximum: 9}}}}
  - {id: file, type: SIS, service: sis, payload_schema: {required: [folder]}}
";

#[track_caller]
fn check(changes: &Value, protocol: &Arc<Workflow>, policy: &ReferencePolicy, expected: Expect) {
    expected.assert_eq(&refusal(&accept(changes, protocol, policy).unwrap_err()));
}

#[test]
fn a_payload_is_held_against_the_schema_of_every_step() {
    // D-016, D-019: each step of the protocol says what it needs; all of it is told at once.
    let payload = json!({"payload": {
        "language": "english", "owner": {"mail": "nobody"}, "tags": ["a", "c"], "pages": 12,
    }});
    check(
        &payload,
        &workflow(STRICT),
        &ReferencePolicy::default(),
        expect![[r#"
        422 invalid_request
        payload.language: this value does not match "^[a-z]{2}$"; the workflow's input_schema says so
        payload.owner.mail: this value is not a "email"; the workflow's input_schema says so
        payload.tags[1]: this value is not one of "a" or "b"; the workflow's input_schema says so
        payload.pages: this value is greater than the maximum of 9; the payload_schema of step "ocr" says so
        payload.folder: "folder" is a required property; the payload_schema of step "file" says so"#]],
    );
    let payload = json!({"payload": {"pages": 1.5, "folder": null}});
    check(
        &payload,
        &workflow(STRICT),
        &ReferencePolicy::default(),
        expect![[r#"
        422 invalid_request
        payload.language: "language" is a required property; the workflow's input_schema says so
        payload.pages: this value is not of type "integer"; the payload_schema of step "ocr" says so"#]],
    );
    let payload = json!({"payload": {"language": "en", "folder": "f", "pages": 3}});
    accept(&payload, &workflow(STRICT), &ReferencePolicy::default()).unwrap();
}

#[test]
fn protocols_come_from_documents() {
    // D-006: another document under the same request type gives another job, without other code.
    let strict = accepted(&json!({"payload": {"language": "en", "folder": "f"}}), STRICT);
    let other = accepted(&json!({}), "name: other\nsteps: [{id: only, type: X, service: x}]");
    assert_eq!((strict.workflow.name.as_str(), strict.specs().len()), ("intake", 2));
    assert_eq!((other.workflow.name.as_str(), other.specs().len()), ("other", 1));
}

#[test]
fn references_are_judged_after_the_payload() {
    // D-016: schemas first, then references and policy.
    let changes = json!({
        "payload": {}, "input_ref": "/in/../../secret", "output_ref": "https://",
    });
    check(
        &changes,
        &workflow(STRICT),
        &ReferencePolicy::default(),
        expect![[r#"
        422 invalid_request
        payload.language: "language" is a required property; the workflow's input_schema says so
        payload.folder: "folder" is a required property; the payload_schema of step "file" says so
        input_ref: "/in/../../secret" climbs with ".."; write a URI such as https://host/in.pdf, or a path such as in/1.pdf
        output_ref: "https://" names a scheme and nothing in it; write a URI such as https://host/in.pdf, or a path such as in/1.pdf"#]],
    );
}

#[test]
fn a_reference_is_a_uri_or_a_path() {
    let protocol = workflow(TWO_STEPS);
    let any = ReferencePolicy::default();
    for reference in ["s3://bucket/key", "/mnt/in.pdf", "in/1 (2).pdf", "urn:doc:7", "C:\\in.pdf"] {
        accept(&json!({"input_ref": reference}), &protocol, &any).unwrap();
    }
    for reference in [" in.pdf", "in\n.pdf", "///", "s3:", "..", "a\\..\\b", "https://a/../b"] {
        let changes = json!({"output_ref": reference});
        let rejection = accept(&changes, &protocol, &any).unwrap_err();
        let places: Vec<(&str, &str)> = rejection
            .problems
            .iter()
            .map(|problem| (problem.path.as_str(), problem.code))
            .collect();
        assert_eq!(places, [("output_ref", "bad_reference")], "{reference:?}");
    }
    let same = json!({"input_ref": "a/b", "output_ref": "a/b"});
    check(
        &same,
        &protocol,
        &any,
        expect![[r#"
        422 invalid_request
        output_ref: input_ref and output_ref are the same; the output would overwrite the input; write it elsewhere"#]],
    );
}

#[test]
fn a_policy_may_allow_certain_schemes_only() {
    // D-016: the policy of the installation has the last word on references.
    let schemes = ["https".to_owned(), "s3".to_owned()];
    let policy = ReferencePolicy {
        allowed_schemes: Some(BTreeSet::from(schemes)),
        ..ReferencePolicy::default()
    };
    let protocol = workflow(TWO_STEPS);
    accept(&json!({"input_ref": "S3://bucket/in"}), &protocol, &policy).unwrap();
    let changes = json!({"input_ref": "file:///etc/passwd", "output_ref": "out/1"});
    check(
        &changes,
        &protocol,
        &policy,
        expect![[r#"
        422 invalid_request
        input_ref: "file:///etc/passwd" leads where it may not; allowed schemes are https, s3
        output_ref: "out/1" leads where it may not; allowed schemes are https, s3"#]],
    );
}

#[test]
fn an_unknown_request_type_is_refused_with_what_was_probably_meant() {
    // D-018: it is a validation failure like any other.
    let known = ["document.ingest", "mailbox.move"];
    let near = commands::unknown_protocol("document.injest", known);
    let far = commands::unknown_protocol("audit", known);
    expect![[r#"
        422 invalid_request
        request_type: there is no protocol for "document.injest"; did you mean "document.ingest"?"#]]
    .assert_eq(&refusal(&near));
    expect![[r#"
        422 invalid_request
        request_type: there is no protocol for "audit"; publish a workflow with this request_type first"#]]
    .assert_eq(&refusal(&far));
}

#[test]
fn the_lane_is_chosen_once_and_kept_in_the_header() {
    // D-021, D-022, D-023, D-024: by tenant, or in burst mode by tenant and document.
    let routing = |changes: Value| {
        let routing = accepted(&changes, TWO_STEPS).routing.unwrap();
        (routing.key, routing.lane.number(), routing.lane.topic())
    };
    let plain = routing(json!({"doc_id": "doc-42"}));
    assert_eq!(plain, ("contoso".to_owned(), 15, "global-bus-p15".to_owned()));
    let burst = routing(json!({"doc_id": "doc-42", "mode": "BURST"}));
    assert_eq!(burst, ("contosodoc-42".to_owned(), 4, "global-bus-p4".to_owned()));
}

#[test]
fn an_ambiguous_routing_key_mixes_nobody_up() {
    // X-142: two tenants may share a key and a lane; whose job it is, the tenant alone says.
    let burst = |tenant: &str, doc: &str| {
        let changes = json!({"tenant_id": tenant, "doc_id": doc, "mode": "BURST"});
        accepted(&changes, TWO_STEPS)
    };
    let (one, other) = (burst("acme", "1doc"), burst("acme1", "doc"));
    assert_eq!(one.routing, other.routing);
    assert_ne!(one.tenant, other.tenant);
    assert_ne!(one.special["_tenant_id"], other.special["_tenant_id"]);
}

#[test]
fn a_header_holds_what_the_run_and_its_messages_need() {
    // D-039: id, tenant, protocol, steps with service and payload, references, lane, mode.
    let header = accepted(
        &json!({"doc_id": "doc-42", "correlation_id": "c-1", "callback_urls": ["https://a.example"]}),
        TWO_STEPS,
    );
    assert_eq!(header.id, run_id(1));
    assert_eq!(header.tenant.as_str(), "contoso");
    assert_eq!(header.dialect, Dialect::Commands);
    assert_eq!((header.actor.as_str(), header.created_at), ("intake", start()));
    assert_eq!(header.correlation_id.as_deref(), Some("c-1"));
    assert_eq!(Value::Object(header.input), json!({"language": "en"}));
    expect![[r#"
        {
          "_correlation_id": "c-1",
          "_doc_id": "doc-42",
          "_input_ref": "https://store.example/in/1.pdf",
          "_job_id": "019b8d3c-0000-7000-8000-000000000001",
          "_output_ref": "https://store.example/out/1.json",
          "_references": null,
          "_request_type": "document.ingest",
          "_tenant_id": "contoso",
          "_user_id": null,
          "_workspace_ref": "workspace/019b8d3c-0000-7000-8000-000000000001"
        }"#]]
    .assert_eq(&format!("{:#}", Value::Object(header.special)));
    expect![[r#"
        {
          "callback_urls": [
            "https://a.example"
          ],
          "doc_id": "doc-42",
          "input_ref": "https://store.example/in/1.pdf",
          "mode": "DEFAULT",
          "output_ref": "https://store.example/out/1.json",
          "request_type": "document.ingest",
          "workspace_ref": "workspace/019b8d3c-0000-7000-8000-000000000001"
        }"#]]
    .assert_eq(&format!("{:#}", Value::Object(header.context)));
    let services: Vec<&str> = header.workflow.steps.iter().map(|step| step.pool.as_str()).collect();
    assert_eq!(services, ["ocr-service", "sis-service"]);
}

#[test]
fn every_special_variable_has_a_value() {
    let header = accepted(&json!({}), TWO_STEPS);
    let names: BTreeSet<&str> = header.special.keys().map(String::as_str).collect();
    assert_eq!(names, BTreeSet::from(SPECIALS), "what documents may name is what jobs are given");
}

#[test]
fn checks_are_shared_between_threads_and_cost_nothing_without_schemas() {
    fn shared<T: Send + Sync>(_: &T) {}
    let checks = Checks::compile(&workflow(TWO_STEPS)).unwrap();
    shared(&checks);
    let payload = json!({"anything": [1, 2, 3]});
    assert_eq!(checks.check(payload.as_object().unwrap()), []);
    assert_eq!(checks.check_value(&payload), []);
}

#[test]
fn a_refused_payload_is_not_repeated() {
    let payload = json!({"language": "secret-4711", "folder": "f", "pages": "secret-4711"});
    let checks = Checks::compile(&workflow(STRICT)).unwrap();
    let problems = checks.check(payload.as_object().unwrap());
    assert_eq!(problems.len(), 2);
    assert!(problems.iter().all(|problem| !problem.to_string().contains("4711")), "{problems:?}");
}
