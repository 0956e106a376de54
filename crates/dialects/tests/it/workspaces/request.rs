//! Requests for a job: what is read, and what is refused.

use expect_test::expect;
use serde_json::{Value, json};
use stepwell_core::credit::Credits;
use stepwell_dialects::workspaces::policy;
use stepwell_dialects::workspaces::request::read;

use super::{body, request};
use crate::world::refusal;

#[test]
fn a_request_needs_a_workflow_and_a_user_and_nothing_else() {
    // C-006, C-007
    let request = read(br#"{"workflow_id": "transcribe", "user_id": "user-7"}"#, None).unwrap();
    assert_eq!((request.workflow_id.as_str(), request.user_id.as_str()), ("transcribe", "user-7"));
    assert_eq!(request.trigger_type.word(), "manual");
    assert_eq!(
        (request.idempotency_key, request.max_attempts, request.priority),
        (None, None, None)
    );
    assert!(request.input.is_empty() && request.references.is_empty());
}

#[test]
fn every_problem_of_a_request_is_reported_at_once_with_its_place() {
    let wrong = json!({
        "workflow_id": "", "user_id": 7, "trigger_type": "cron", "idempotency_key": "a\nb",
        "max_attempts": 101, "credits_estimate": -1, "input": [], "references": {"a b": "s3://x", "ok": 1},
        "trace_id": "", "priority": 11, "workfow_id": "x",
    });
    let rejection = read(wrong.to_string().as_bytes(), None).unwrap_err();
    expect![[r#"
        422 invalid_request
        workflow_id: this text must not be empty
        user_id: this must be text, not a number
        trigger_type: "cron" is not possible here; use one of manual, schedule, webhook, file_drop
        idempotency_key: this text has a control character; remove line breaks, tabs and other control characters
        max_attempts: 101 is out of range; use 1 to 100
        credits_estimate: -1 is less than nothing; write 0 or more
        input: this must be an object, not a list
        references["a b"]: this cannot be the name of a reference; use letters, digits, '_' and '-', and begin with a letter or a digit
        references.ok: this must be text, not a number
        trace_id: this text must not be empty
        priority: 11 is out of range; use 0 to 10
        workfow_id: there is no field "workfow_id"; did you mean "workflow_id"?"#]]
    .assert_eq(&refusal(&rejection));
}

#[test]
fn a_key_may_come_in_the_header_and_two_keys_must_agree() {
    // C-012, C-036
    let key = |body: &[u8], header| read(body, header).map(|request| request.idempotency_key);
    let without = body(&json!({"idempotency_key": null}));
    assert_eq!(key(&without, Some("h-1")).unwrap().as_deref(), Some("h-1"));
    assert_eq!(key(&body(&json!({})), Some("upload-42")).unwrap().as_deref(), Some("upload-42"));
    let rejection = key(&body(&json!({})), Some("upload-43")).unwrap_err();
    expect![[r#"
        422 invalid_request
        idempotency_key: the header Idempotency-Key says something else; send one of them, or the same in both"#]]
    .assert_eq(&refusal(&rejection));
}

#[test]
fn large_data_is_refused_with_the_advice_to_keep_it_elsewhere() {
    // C-016, X-163: 256 KB, and the way out.
    let text = |kib: usize| "x".repeat(kib * 1024);
    assert!(read(&body(&json!({"input": {"language": text(255)}})), None).is_ok());
    for (kib, status) in [(257, 422), (600, 400)] {
        let rejection = read(&body(&json!({"input": {"language": text(kib)}})), None).unwrap_err();
        assert_eq!(rejection.kind.status(), status);
        let [problem] = rejection.problems.iter().collect::<Vec<_>>().try_into().unwrap();
        assert_eq!(problem.code, "too_large");
        let help = problem.help.as_deref().unwrap();
        assert!(help.contains("object storage") && help.contains("reference"), "{help}");
    }
}

#[test]
fn amounts_may_be_numbers_or_texts() {
    // C-011
    for estimate in [json!(1.5), json!("1.5"), json!("1.500000")] {
        let request = request(&json!({"credits_estimate": estimate}));
        assert_eq!(request.credits_estimate, Some(Credits(1_500_000)));
    }
}

#[test]
fn a_workspace_agrees_on_what_it_says_and_leaves_the_rest() {
    let body = br#"{"keep": "7d", "restore": "unfinished", "jobs_open_max": 50}"#;
    let policy = policy::read(body).unwrap();
    let expected =
        json!({"keep": "7d", "keep_dead": null, "restore": "unfinished", "jobs_open_max": 50});
    assert_eq!(json!(policy), expected);
    assert_eq!(json!(policy::read(b"{}").unwrap())["keep"], Value::Null);
    let wrong =
        br#"{"keep": "1s", "keep_dead": "soon", "restore": "maybe", "jobs_open_max": 0, "ttl": 1}"#;
    expect![[r#"
        422 invalid_request
        keep: 1s is out of range; use 1m to 3650d
        keep_dead: "soon" is not a duration: it does not begin with a whole number; write a whole number and one of ms, s, m, h or d, without spaces, such as 30s or 15m
        restore: "maybe" is not possible here; use one of never, failed, unfinished
        jobs_open_max: 0 is out of range; use 1 to 4294967295
        ttl: there is no field "ttl"; known fields are keep, keep_dead, restore, jobs_open_max"#]]
    .assert_eq(&refusal(&policy::read(wrong).unwrap_err()));
}
