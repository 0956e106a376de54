//! What workers call back.

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use stepwell_core::command::{Command, Fence, StepRef};
use stepwell_core::duration::Interval;
use stepwell_core::step::{Outcome, StepError, StepStatus};
use stepwell_dialects::commands::Rejection;
use stepwell_dialects::commands::outcome::{self, JobRef};

use crate::world::{TWO_STEPS, World, accepted, lease, refusal, run_id};

type Read = Result<(JobRef, Command), Rejection>;

/// A callback with nothing wrong; `changes` replaces fields, and null removes them.
fn body(changes: &Value) -> Value {
    let mut body = json!({
        "jobId": run_id(1), "stepId": "ocr", "tenant_id": "contoso",
        "attempt_no": 2, "lease_id": lease(7),
    });
    let fields = body.as_object_mut().unwrap();
    for (key, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => fields.remove(key),
            value => fields.insert(key.clone(), value.clone()),
        };
    }
    body
}

#[track_caller]
fn reported(changes: &Value) -> Outcome {
    let (job, command) = outcome::result(&body(changes)).unwrap();
    assert_eq!(job.run, run_id(1));
    let Command::Report { step, fence, outcome, .. } = command else { panic!("{command:?}") };
    assert_eq!(step, StepRef::Id("ocr".to_owned()));
    assert_eq!(fence, Fence { attempt: 2, lease: lease(7) });
    outcome
}

#[track_caller]
fn check(read: fn(&Value) -> Read, cases: &[Value], expected: Expect) {
    let mut lines = Vec::new();
    for case in cases {
        lines.push(case.to_string().chars().take(100).collect::<String>());
        let rejection = read(&body(case)).unwrap_err();
        lines.extend(rejection.problems.iter().map(|problem| format!("    {problem}")));
    }
    expected.assert_eq(&(lines.join("\n") + "\n"));
}

fn failed(error: StepError, retryable: bool, retry_after: Option<Interval>) -> Outcome {
    Outcome::Failed { error, retryable, retry_after }
}

#[test]
fn an_ack_names_the_attempt_it_takes() {
    // D-035: job, step, tenant, attempt and lease, and nothing else is needed.
    let (job, command) = outcome::ack(&body(&json!({"correlation_id": "c-1", "more": 1}))).unwrap();
    assert_eq!((job.run, job.tenant.as_str()), (run_id(1), "contoso"));
    let fence = Fence { attempt: 2, lease: lease(7) };
    assert_eq!(command, Command::Ack { step: StepRef::Id("ocr".to_owned()), fence });
}

#[test]
fn a_callback_that_lacks_a_field_is_refused_with_all_it_lacks() {
    // D-037: nothing is guessed, and nothing changes.
    let empty = json!({});
    expect![[r#"
        422 invalid_request
        jobId: this field is required
        stepId: this field is required
        tenant_id: this field is required
        attempt_no: this field is required
        lease_id: this field is required"#]]
    .assert_eq(&refusal(&outcome::ack(&empty).unwrap_err()));
    expect![[r#"
        422 invalid_request
        jobId: this field is required
        stepId: this field is required
        tenant_id: this field is required
        attempt_no: this field is required
        lease_id: this field is required
        status: this field is required"#]]
    .assert_eq(&refusal(&outcome::result(&empty).unwrap_err()));
    for field in ["jobId", "stepId", "tenant_id", "attempt_no", "lease_id"] {
        let lacking = body(&json!({field: null, "status": "SUCCEEDED"}));
        for read in [outcome::ack, outcome::result] {
            let rejection = read(&lacking).unwrap_err();
            let problems: Vec<(&str, &str)> =
                rejection.problems.iter().map(|one| (one.path.as_str(), one.code)).collect();
            assert_eq!(problems, [(field, "missing_field")]);
        }
    }
}

#[test]
fn a_callback_whose_fields_are_wrong_is_refused() {
    // D-037: every field is checked.
    let cases = [
        json!({"jobId": "17"}),
        json!({"jobId": 17}),
        json!({"stepId": ""}),
        json!({"stepId": ["ocr"]}),
        json!({"tenant_id": "a b"}),
        json!({"attempt_no": 0}),
        json!({"attempt_no": "2"}),
        json!({"lease_id": "x"}),
        json!({"lease_id": {}}),
    ];
    check(
        outcome::ack,
        &cases,
        expect![[r#"
        {"jobId":"17"}
            jobId: "17" is not an id; send back what the directive said
        {"jobId":17}
            jobId: this must be text, not a number
        {"stepId":""}
            stepId: this text must not be empty
        {"stepId":["ocr"]}
            stepId: this must be text, not a list
        {"tenant_id":"a b"}
            tenant_id: "a b" cannot be used here; use letters, digits, '.', '_', ':' and '-'
        {"attempt_no":0}
            attempt_no: 0 is out of range; use 1 to 4294967295
        {"attempt_no":"2"}
            attempt_no: this must be a whole number, not text
        {"lease_id":"x"}
            lease_id: "x" is not an id; send back what the directive said
        {"lease_id":{}}
            lease_id: this must be text, not an object
    "#]],
    );
}

#[test]
fn a_result_succeeds_fails_for_good_or_fails_for_now() {
    // D-036, X-137: the two statuses of the contract, and one that lets the attempt be repeated.
    let result = json!({"data": {"text": "r"}});
    let succeeded = Outcome::Succeeded { result: result.clone() };
    assert_eq!(reported(&json!({"status": "SUCCEEDED", "result": result})), succeeded);
    assert_eq!(reported(&json!({"status": "SUCCEEDED", "output": result})), succeeded);
    let nothing = Outcome::Succeeded { result: Value::Null };
    assert_eq!(reported(&json!({"status": "SUCCEEDED"})), nothing);
    let error = json!({"code": "bad_scan", "message": "page 3 is empty", "extra": true});
    let known = StepError::new("bad_scan", "page 3 is empty");
    assert_eq!(
        reported(&json!({"status": "FAILED_FINAL", "error": error, "retry_after": 9})),
        failed(known.clone(), false, None)
    );
    assert_eq!(
        reported(&json!({"status": "FAILED_RETRYABLE", "error": error, "retry_after": 1.5})),
        failed(known, true, Some(Interval::from_millis(1_500)))
    );
}

#[test]
fn an_error_may_be_a_text_or_nothing() {
    let told = |error: Value| match reported(&json!({"status": "FAILED_FINAL", "error": error})) {
        Outcome::Failed { error, .. } => (error.code, error.message),
        other => panic!("{other:?}"),
    };
    let pair = |code: &str, message: &str| (code.to_owned(), message.to_owned());
    assert_eq!(told(json!("no paper")), pair("worker_failed", "no paper"));
    assert_eq!(told(Value::Null), pair("worker_failed", "the worker gave no reason"));
    assert_eq!(told(json!({"code": "x"})), pair("x", "the worker gave no reason"));
    let (code, message) = told(json!({"code": "c".repeat(500), "message": "é".repeat(5_000)}));
    assert_eq!((code.chars().count(), message.chars().count()), (128, 1_024));
}

#[test]
fn unfinished_work_is_said_by_status_or_in_the_result() {
    // X-028: `complete: false` means ask again; a result without the field is a success.
    assert_eq!(reported(&json!({"status": "INCOMPLETE"})), Outcome::Incomplete);
    let unfinished = json!({"status": "SUCCEEDED", "result": {"complete": false, "percent": 40}});
    assert_eq!(reported(&unfinished), Outcome::Incomplete);
    for result in [json!({"complete": true}), json!({"percent": 100}), json!(true), json!("false")]
    {
        let outcome = reported(&json!({"status": "SUCCEEDED", "result": result}));
        assert_eq!(outcome, Outcome::Succeeded { result });
    }
}

#[test]
fn unfinished_work_of_a_step_that_is_not_asked_again_has_failed() {
    // X-027: taking it for success would go on over unfinished work; another try would not help.
    let mut world = World::start(accepted(&json!({}), TWO_STEPS));
    let lease = world.run.steps[0].lease.unwrap();
    let unfinished = body(&json!({
        "attempt_no": lease.attempt, "lease_id": lease.id,
        "status": "SUCCEEDED", "result": {"complete": false},
    }));
    let (_, command) = outcome::result(&unfinished).unwrap();
    world.tell(&command);
    let step = &world.run.steps[0];
    assert_eq!((step.status, step.attempt), (StepStatus::Failed, 1));
    assert_eq!(step.error.as_ref().unwrap().code, "poll_not_configured");
}

#[test]
fn a_result_that_cannot_be_used_is_refused() {
    // X-137, X-163: unknown statuses and results beyond 256 KiB.
    let cases = [
        json!({"status": "OK"}),
        json!({"status": "SUCCEDED"}),
        json!({"status": 1}),
        json!({"status": "SUCCEEDED", "result": {"a": "x".repeat(256 * 1024)}}),
        json!({"status": "SUCCEEDED", "result": 1, "output": 2}),
        json!({"status": "FAILED_FINAL", "error": ["x"]}),
        json!({"status": "FAILED_FINAL", "error": {"code": 7, "message": {}}}),
        json!({"status": "FAILED_RETRYABLE", "retry_after": -1}),
        json!({"status": "FAILED_RETRYABLE", "retry_after": "soon"}),
    ];
    check(
        outcome::result,
        &cases,
        expect![[r#"
        {"status":"OK"}
            status: "OK" is not possible here; use one of SUCCEEDED, FAILED_FINAL, FAILED_RETRYABLE, INCOMPLETE
        {"status":"SUCCEDED"}
            status: "SUCCEDED" is not possible here; did you mean "SUCCEEDED"?
        {"status":1}
            status: this must be text, not a number
        {"result":{"a":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
            result: the result has 262152 bytes; 256 KiB are allowed; keep large data in the workspace and return a reference
        {"output":2,"result":1,"status":"SUCCEEDED"}
            output: result and output are two names of one field; send one of them
        {"error":["x"],"status":"FAILED_FINAL"}
            error: this must be an object, not a list
        {"error":{"code":7,"message":{}},"status":"FAILED_FINAL"}
            error.code: this must be text, not a number
            error.message: this must be text, not an object
        {"retry_after":-1,"status":"FAILED_RETRYABLE"}
            retry_after: -1 is out of range; use 0 to 315360000
        {"retry_after":"soon","status":"FAILED_RETRYABLE"}
            retry_after: this must be a number, not text
    "#]],
    );
}

#[test]
fn many_callbacks_have_an_answer_each() {
    let bodies = [body(&json!({"status": "SUCCEEDED"})), json!({}), body(&json!({"status": "?"}))];
    let results: Vec<bool> = outcome::results(&bodies).iter().map(Result::is_ok).collect();
    assert_eq!(results, [true, false, false]);
    let acks: Vec<bool> = outcome::acks(&bodies).iter().map(Result::is_ok).collect();
    assert_eq!(acks, [true, false, true]);
}
