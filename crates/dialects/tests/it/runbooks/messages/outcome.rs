//! What a worker says of a job.

use serde_json::{Value, json};
use stepwell_core::id::MemberId;
use stepwell_core::step::{Outcome, StepError};
use stepwell_core::template;
use stepwell_dialects::runbooks::job_id::{Job, fence_of};
use stepwell_dialects::runbooks::outcome::{Remarks, WorkerResult, read};

use super::{camel, execution, recased, result, with};

#[track_caller]
fn reading(message: &Value) -> WorkerResult {
    read(message.to_string().as_bytes()).unwrap_or_else(|rejection| panic!("{rejection}"))
}

fn failed(code: &str, message: &str) -> Outcome {
    let error = StepError::new(code, message);
    Outcome::Failed { error, retryable: true, retry_after: None }
}

/// The failure of the contract.
fn failure() -> Value {
    let error = json!({
        "Message": "User not found", "Type": "Microsoft.Graph.ServiceException",
        "IsThrottled": false, "Attempts": 1,
    });
    let message = with(with(result(), "/Status", json!("Failure")), "/Result", Value::Null);
    with(message, "/Error", error)
}

#[test]
fn a_result_is_read_as_the_contract_shows_it() {
    // the step, what came of it, and what else the worker tells.
    let read = reading(&result());
    assert_eq!(read.job_id, Job::Step(execution()).directive(1, 0));
    assert_eq!((read.execution, read.is_init_step), (execution(), false));
    let returned = json!({"complete": true, "data": {"UserId": "abc-123"}});
    assert_eq!(read.outcome, Outcome::Succeeded { result: returned });
    assert_eq!(read.remarks.result_type.as_deref(), Some("Object"));
    assert_eq!(read.remarks.duration_ms, Some(1234));
    let ended_at = read.remarks.ended_at.unwrap();
    assert_eq!(ended_at.0.to_string(), "2025-03-15T10:30:00.000Z");
}

#[test]
fn a_result_is_read_in_any_capitals() {
    //
    for message in [result(), failure()] {
        let changes: [fn(&str) -> String; 3] = [camel, str::to_uppercase, str::to_lowercase];
        for change in changes {
            assert_eq!(reading(&recased(&message, change)), reading(&message));
        }
    }
    let message = with(result(), "/Status", json!("success"));
    assert_eq!(reading(&message), reading(&result()));
}

#[test]
fn a_result_that_is_not_complete_asks_for_a_poll() {
    // exactly `complete: false`, which is looked for at the top of the result.
    for key in ["complete", "Complete", "COMPLETE"] {
        let message = with(result(), "/Result", json!({key: false, "data": {"Percent": 40}}));
        assert_eq!(reading(&message).outcome, Outcome::Incomplete, "{key}");
    }
    let inside = json!({"complete": true, "data": {"complete": false}});
    let message = with(result(), "/Result", inside.clone());
    assert_eq!(reading(&message).outcome, Outcome::Succeeded { result: inside });
}

#[test]
fn a_result_without_the_word_complete_is_a_success() {
    // functions that return true or false know nothing of polling.
    for returned in [json!(true), json!(false), json!({}), json!("done"), json!([]), Value::Null] {
        let message = with(result(), "/Result", returned.clone());
        assert_eq!(reading(&message).outcome, Outcome::Succeeded { result: returned });
    }
}

#[test]
fn every_status_but_success_is_a_failure_that_may_be_retried() {
    // and its message is the worker's.
    for status in ["Failure", "Failed", "Error", "Throttled", "Succeeded", "?"] {
        let read = reading(&with(failure(), "/Status", json!(status)));
        assert_eq!(read.outcome, failed("Microsoft.Graph.ServiceException", "User not found"));
        assert_eq!((read.remarks.is_throttled, read.remarks.attempts), (false, Some(1)));
    }
    // Even if it returned something, and even if that says that it is not complete.
    let message = with(failure(), "/Result", json!({"complete": false}));
    assert!(matches!(reading(&message).outcome, Outcome::Failed { .. }));
}

#[test]
fn a_throttled_job_may_be_retried_like_any_other() {
    // the worker gave up for now; the retry policy of the step decides.
    let message = with(failure(), "/Error/IsThrottled", json!(true));
    let read = reading(&with(message, "/Error/Attempts", json!(5)));
    assert!(matches!(read.outcome, Outcome::Failed { retryable: true, retry_after: None, .. }));
    assert_eq!((read.remarks.is_throttled, read.remarks.attempts), (true, Some(5)));
}

#[test]
fn a_failure_without_a_reason_is_still_a_failure() {
    // the worst worker must not hold its member for ever.
    for error in
        [Value::Null, json!({}), json!({"Message": null}), json!(""), json!({"Message": ""})]
    {
        let message = with(failure(), "/Error", error);
        let expected = failed("worker_failed", "the worker gave no reason");
        assert_eq!(reading(&message).outcome, expected);
    }
    let message = with(failure(), "/Error", json!("it broke"));
    assert_eq!(reading(&message).outcome, failed("worker_failed", "it broke"));
    let message = with(failure(), "/Error/Message", json!("ø".repeat(5_000)));
    let expected = failed("Microsoft.Graph.ServiceException", &"ø".repeat(1_024));
    assert_eq!(reading(&message).outcome, expected);
}

#[test]
fn what_only_describes_never_costs_a_result() {
    // finished work is worth more than a well-formed duration.
    let mut message = with(result(), "/DurationMs", json!("1s"));
    for (pointer, value) in [("/Timestamp", json!(12)), ("/ResultType", json!({}))] {
        message = with(message, pointer, value);
    }
    let read = reading(&message);
    assert!(matches!(read.outcome, Outcome::Succeeded { .. }));
    assert_eq!(read.remarks, Remarks::default());
    let fraction = with(result(), "/DurationMs", json!(12.75));
    assert_eq!(reading(&fraction).remarks.duration_ms, Some(12));
    for odd in [json!(-1), json!(1e300), json!(null)] {
        assert_eq!(reading(&with(result(), "/DurationMs", odd)).remarks.duration_ms, None);
    }
}

#[test]
fn a_result_tells_which_attempt_and_which_poll_it_answers() {
    // By that, whoever knows the step tells a late result of attempt 1 from one of attempt 2.
    let fence = |job_id: &str| fence_of(&reading(&with(result(), "/JobId", json!(job_id))).job_id);
    assert_eq!(fence("step-123-attempt-1"), (1, 0));
    assert_eq!(fence("step-123-retry-1"), (2, 0));
    assert_eq!(fence("step-123-retry-1-poll-3"), (2, 3));
}

#[test]
fn a_result_of_an_init_step_is_known_by_its_job() {
    // with the flag, and without it.
    let message = with(result(), "/JobId", json!("init-123-attempt-1"));
    for flag in [json!(true), json!(null)] {
        let read = reading(&with(message.clone(), "/CorrelationData/IsInitStep", flag));
        assert!(read.is_init_step);
        assert_eq!(read.execution, execution());
    }
}

#[test]
fn the_result_of_a_rollback_or_a_removal_leads_to_their_own_step() {
    // of a rollback by the failed step and the place; of a removal by its own execution.
    let rollback = reading(&with(result(), "/JobId", json!("rollback-123-2")));
    assert_eq!(rollback.job_id.job, Job::Rollback { step: rollback.execution, number: 2 });
    let removal = reading(&with(result(), "/JobId", json!("removal-505-2-retry-1")));
    assert_eq!(removal.job_id.job, Job::Removal { member: MemberId(505), number: 2 });
    assert_eq!(removal.execution, execution());
}

#[test]
fn outputs_are_found_under_data_and_else_at_the_top() {
    // in a result as it was read, the kernel finds what `output_params` names.
    let returned = json!({
        "complete": true, "UserId": "top", "Mail": {"Primary": "a@b"}, "data": {"UserId": "data"},
    });
    let Outcome::Succeeded { result } = reading(&with(result(), "/Result", returned)).outcome
    else {
        panic!("it is a success");
    };
    assert_eq!(template::output(&result, "UserId"), Some(&json!("data")));
    assert_eq!(template::output(&result, "Mail.Primary"), Some(&json!("a@b")));
    assert_eq!(template::output(&result, "Missing"), None);
}
