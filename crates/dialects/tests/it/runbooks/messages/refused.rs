//! Messages that are not used, and what their senders are told.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::{Value, json};
use stepwell_dialects::runbooks::message::{REASONS, Rejection};
use stepwell_dialects::runbooks::{event, outcome};

use super::{result, with};

/// What a person reads in a dead letter, with each part on a line of its own.
fn told(rejection: &Rejection) -> String {
    format!("{}: {rejection}", rejection.reason()).replace("; ", ";\n")
}

#[track_caller]
fn refused_event(message_type: Option<&str>, body: &Value, expected: Expect) -> Rejection {
    let rejection = event::read(message_type, body.to_string().as_bytes()).unwrap_err();
    expected.assert_eq(&told(&rejection));
    rejection
}

#[track_caller]
fn refused_result(body: &Value, expected: Expect) -> Rejection {
    let rejection = outcome::read(body.to_string().as_bytes()).unwrap_err();
    expected.assert_eq(&told(&rejection));
    rejection
}

#[test]
fn an_event_of_an_unknown_type_becomes_a_dead_letter_that_says_what_to_do() {
    // X-032
    let body = json!({"BatchId": 42});
    let rejection = refused_event(
        Some("batch-int"),
        &body,
        expect![[r#"
            UnknownMessageType: there is no message type "batch-int";
            did you mean "batch-init"?"#]],
    );
    assert!(rejection.is_dead_letter());
    assert_eq!(rejection.error().code, "unknown_message_type");
    refused_event(
        Some("batch-finished"),
        &body,
        expect![[r#"
            UnknownMessageType: there is no message type "batch-finished";
            use one of batch-init, phase-due, member-added, member-removed, poll-check, retry-check"#]],
    );
    refused_event(
        Some("BATCH-INIT"),
        &body,
        expect![[r#"
            UnknownMessageType: there is no message type "BATCH-INIT";
            did you mean "batch-init"?"#]],
    );
    refused_event(
        None,
        &body,
        expect![[r#"
            UnknownMessageType: the message has no type;
            set the property MessageType to one of batch-init, phase-due, member-added, member-removed, poll-check, retry-check"#]],
    );
    refused_event(
        None,
        &json!({"messageType": 7}),
        expect![[r#"
            UnknownMessageType: the message has no type;
            set the property MessageType to one of batch-init, phase-due, member-added, member-removed, poll-check, retry-check"#]],
    );
    refused_event(
        Some(&"x".repeat(100_000)),
        &body,
        expect![[r#"
            UnknownMessageType: there is no message type "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…";
            use one of batch-init, phase-due, member-added, member-removed, poll-check, retry-check"#]],
    );
}

#[test]
fn every_field_that_an_event_lacks_is_told_at_once() {
    // A-197, A-198, A-199, A-200, A-201
    let refused = |message_type, expected| refused_event(Some(message_type), &json!({}), expected);
    refused(
        "batch-init",
        expect![[r#"
            MessageInvalid: BatchId: this field is required;
            RunbookName: this field is required;
            RunbookVersion: this field is required"#]],
    );
    refused(
        "phase-due",
        expect![[r#"
            MessageInvalid: BatchId: this field is required;
            RunbookName: this field is required;
            RunbookVersion: this field is required;
            PhaseName: this field is required;
            PhaseExecutionId: this field is required"#]],
    );
    refused(
        "member-added",
        expect![[r#"
            MessageInvalid: BatchId: this field is required;
            MemberKey: this field is required;
            BatchMemberId: this field is required"#]],
    );
    refused(
        "member-removed",
        expect![[r#"
            MessageInvalid: BatchId: this field is required;
            MemberKey: this field is required;
            BatchMemberId: this field is required"#]],
    );
    refused("poll-check", expect!["MessageInvalid: StepExecutionId: this field is required"]);
    let rejection =
        refused("retry-check", expect!["MessageInvalid: StepExecutionId: this field is required"]);
    assert!(rejection.is_dead_letter());
}

#[test]
fn every_field_of_an_event_that_is_wrong_is_told_at_once() {
    let body = json!({
        "batchId": "42", "runbookName": "", "RUNBOOKVERSION": 0, "phaseName": null,
        "PhaseExecutionId": 1.5,
    });
    refused_event(
        Some("phase-due"),
        &body,
        expect![[r#"
            MessageInvalid: BatchId: this must be a whole number, not text;
            RunbookName: this text must not be empty;
            RunbookVersion: 0 is out of range;
            use 1 to 4294967295;
            PhaseName: this field is required;
            PhaseExecutionId: this must be a whole number, not a decimal number"#]],
    );
    let body = json!({"StepExecutionId": -1, "IsInitStep": "no"});
    refused_event(
        Some("poll-check"),
        &body,
        expect![[r#"
            MessageInvalid: StepExecutionId: -1 is out of range;
            use 0 to 9007199254740991;
            IsInitStep: this must be true or false, not text"#]],
    );
    let body = json!({"StepExecutionId": 1, "stepExecutionId": 2});
    refused_event(
        Some("poll-check"),
        &body,
        expect![[r#"
            MessageInvalid: StepExecutionId: this field is there more than once: "StepExecutionId", "stepExecutionId";
            send StepExecutionId once;
            capitals make no difference"#]],
    );
}

#[test]
fn every_field_that_a_result_lacks_is_told_at_once() {
    // A-203
    refused_result(
        &json!({}),
        expect![[r#"
            MessageInvalid: JobId: this field is required;
            Status: this field is required;
            CorrelationData: this field is required"#]],
    );
    let body = json!({
        "jobId": 7, "status": "", "result": {}, "error": [], "correlationData": {"isInitStep": 1},
    });
    refused_result(
        &body,
        expect![[r#"
            MessageInvalid: JobId: this must be text, not a number;
            Status: this text must not be empty;
            Error: this must be an object, not a list;
            CorrelationData.StepExecutionId: this field is required;
            CorrelationData.IsInitStep: this must be true or false, not a number"#]],
    );
    let failure = with(result(), "/Status", json!("Failure"));
    refused_result(
        &with(failure, "/Error", json!({"message": 1})),
        expect!["MessageInvalid: Error.Message: this must be text, not a number"],
    );
    refused_result(
        &with(result(), "/jobid", json!("step-123-retry-1")),
        expect![[r#"
            MessageInvalid: JobId: this field is there more than once: "JobId", "jobid";
            send JobId once;
            capitals make no difference"#]],
    );
    let large = json!({"data": "x".repeat(256 * 1024)});
    refused_result(
        &with(result(), "/Result", large),
        expect![[r#"
            MessageInvalid: Result: the result has 262155 bytes;
            256 KiB are allowed;
            keep large data elsewhere and return a reference"#]],
    );
}

#[test]
fn a_result_of_a_job_that_was_never_sent_is_noted_and_no_more() {
    // X-033: it is not an error, whatever else it lacks.
    let rejection = refused_result(
        &json!({"JobId": "job-0815"}),
        expect![[r#"
            UnknownJobId: "job-0815" is no JobId of ours;
            send back the one of the job unchanged"#]],
    );
    assert!(!rejection.is_dead_letter());
    refused_result(
        &with(result(), "/JobId", json!("step-0123-attempt-1")),
        expect![[r#"
            UnknownJobId: "step-0123-attempt-1" is no JobId of ours;
            send back the one of the job unchanged"#]],
    );
}

#[test]
fn a_result_that_names_two_steps_settles_neither() {
    // A-084: one of the two was mixed up, and nobody knows which.
    refused_result(
        &with(result(), "/CorrelationData/StepExecutionId", json!(124)),
        expect![[r#"
            MessageInvalid: JobId: "step-123-attempt-1" is not the job that CorrelationData is about;
            send back JobId and CorrelationData of one job, both unchanged"#]],
    );
    let rollback = with(result(), "/JobId", json!("rollback-124-1"));
    refused_result(
        &rollback,
        expect![[r#"
            MessageInvalid: JobId: "rollback-124-1" is not the job that CorrelationData is about;
            send back JobId and CorrelationData of one job, both unchanged"#]],
    );
    refused_result(
        &with(result(), "/CorrelationData/IsInitStep", json!(true)),
        expect![[r#"
            MessageInvalid: JobId: "step-123-attempt-1" is not the job that CorrelationData is about;
            send back JobId and CorrelationData of one job, both unchanged"#]],
    );
}

#[test]
fn what_is_no_message_at_all_is_refused() {
    let large = format!(r#"{{"JobId":"{}"}}"#, "x".repeat(600_000));
    for body in ["", "null", "[]", "{", "\u{feff}{}", r#"{"JobId":1,"JobId":2}"#, &large] {
        let of_event = event::read(Some("batch-init"), body.as_bytes()).unwrap_err();
        let of_result = outcome::read(body.as_bytes()).unwrap_err();
        assert!(matches!(of_event, Rejection::Invalid(_)), "{of_event}");
        assert!(matches!(of_result, Rejection::Invalid(_)), "{of_result}");
    }
}

#[test]
fn a_message_that_was_handed_out_too_often_tells_what_stood_in_the_way() {
    let cause = "the store is away".to_owned();
    let rejection = Rejection::DeliveryLimit { deliveries: 10, cause };
    assert_eq!(rejection.to_string(), "handed out 10 times without success: the store is away");
    assert!(REASONS.contains(&(rejection.reason(), rejection.error().code.as_str())));
}

proptest! {
    #[test]
    fn a_result_with_a_piece_cut_out_is_read_or_refused(from in 0..400_usize, length in 0..60_usize) {
        let mut body = result().to_string().into_bytes();
        let from = from.min(body.len());
        body.drain(from..(from + length).min(body.len()));
        if let Err(rejection) = outcome::read(&body) {
            prop_assert!(!rejection.to_string().is_empty());
        }
        let _ = event::read(None, &body);
    }
}
