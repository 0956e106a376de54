//! What people ask of batches and runbooks.

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use stepwell_dialects::fields::{Field, Fields};
use stepwell_dialects::problem::{Problems, Report};
use stepwell_dialects::runbooks::request::{self, Operation};

/// What a reader makes of a body.
fn read<V>(
    body: &Value,
    read: impl FnOnce(&mut Fields<'_, Value>) -> Option<V>,
) -> Result<V, Problems> {
    let report = Report::new();
    let value = Field::root(body, &report).fields().and_then(|mut fields| {
        let value = read(&mut fields);
        fields.finish();
        value
    });
    report.finish(value)
}

#[track_caller]
fn check_refused<V: std::fmt::Debug>(
    body: &Value,
    reader: impl FnOnce(&mut Fields<'_, Value>) -> Option<V>,
    expected: Expect,
) {
    expected.assert_eq(&read(body, reader).unwrap_err().to_string());
}

#[test]
fn an_order_says_what_is_done_to_whom_and_why() {
    let body = json!({
        "operation": "mark_done",
        "filter": {
            "keys": ["ada@contoso.com"], "members": [505], "member_status": "failed",
            "phase": "cutover", "step": "start-mailbox-move", "step_status": ["failed", "poll_timeout"],
        },
        "reason": "moved by hand",
        "result": {"UserId": "u-1"},
        "dry_run": true,
        "limit": 10,
    });
    let order = read(&body, request::order).unwrap();
    assert_eq!(order.operation, Operation::MarkDone { result: json!({"UserId": "u-1"}) });
    assert_eq!(order.filter.member_statuses, ["failed"]);
    assert_eq!(order.filter.step_statuses, ["failed", "poll_timeout"]);
    assert_eq!((order.dry_run, order.limit), (true, Some(10)));
}

#[test]
fn an_order_with_many_faults_is_told_all_of_them() {
    let body = json!({
        "operation": "retyr",
        "filter": {"member_status": ["failed", "gone"], "stepp": "x", "members": ["505"]},
        "limit": 0,
    });
    check_refused(
        &body,
        request::order,
        expect![[r#"
        operation: "retyr" is not possible here; did you mean "retry"?
        filter.members[0]: this must be a whole number, not text
        filter.member_status[1]: "gone" is not possible here; use one of active, removed, failed
        filter.stepp: there is no field "stepp"; did you mean "step"?
        reason: this field is required
        limit: 0 is out of range; use 1 to 100000"#]],
    );
}

#[test]
fn an_order_for_everybody_is_refused_unless_it_only_tries_again() {
    let order = |operation: &str, filter: Value| {
        let body = json!({"operation": operation, "filter": filter, "reason": "x"});
        read(&body, request::order).map(drop).map_err(|problems| problems.to_string())
    };
    for operation in ["skip", "mark_done", "rollback", "cancel", "remove"] {
        let told = order(operation, json!({})).unwrap_err();
        assert!(told.contains("would be done to every member of the batch"), "{told}");
        assert_eq!(order(operation, json!({"step_status": "failed"})), Ok(()));
        assert_eq!(order(operation, json!({"keys": ["a"]})), Ok(()));
    }
    assert_eq!(order("retry", json!({})), Ok(()), "everything that failed is tried again");
    let body = json!({"operation": "retry", "filter": {}, "reason": "x", "result": 1});
    check_refused(
        &body,
        request::order,
        expect!["result: only mark_done takes a result; leave it out"],
    );
}

#[test]
fn a_moved_start_is_a_moment_with_any_offset() {
    let body = json!({"batch_start_time": "2026-01-16T09:00:00+01:00", "reason": "later"});
    let moved = read(&body, request::move_start).unwrap();
    assert_eq!(moved.start.0.to_string(), "2026-01-16T08:00:00.000Z");
    check_refused(
        &json!({"batch_start_time": "soon"}),
        request::move_start,
        expect!["batch_start_time: this is not a moment; write it as 2026-03-15T08:00:00Z"],
    );
    check_refused(
        &json!({}),
        request::move_start,
        expect!["batch_start_time: this field is required"],
    );
}

#[test]
fn a_switch_is_on_or_off() {
    // X-080
    assert_eq!(read(&json!({"enabled": true}), request::automation), Ok(true));
    check_refused(
        &json!({"enabled": "yes"}),
        request::automation,
        expect!["enabled: this must be true or false, not text"],
    );
    check_refused(
        &json!({"enable": true}),
        request::automation,
        expect![[r#"
        enabled: this field is required
        enable: there is no field "enable"; did you mean "enabled"?"#]],
    );
}

#[test]
fn a_reason_may_be_missing_and_may_not_be_a_novel() {
    assert_eq!(read(&json!({}), request::reason).as_deref(), Ok(""));
    assert!(read(&json!({"reason": "x".repeat(501)}), request::reason).is_err());
}

#[test]
fn a_draft_has_the_defaults_of_a_publication() {
    // X-072
    let draft = read(&json!({"yaml_content": "name: a"}), request::publication_draft).unwrap();
    assert_eq!((draft.overdue_behavior.word(), draft.rerun_init), ("ignore", false));
    let body = json!({"yaml_content": "", "overdue_behavior": "again", "rerun_init": 1});
    check_refused(
        &body,
        request::publication_draft,
        expect![[r#"
        yaml_content: this text must not be empty
        overdue_behavior: "again" is not possible here; use one of rerun, ignore
        rerun_init: this must be true or false, not a number"#]],
    );
}
