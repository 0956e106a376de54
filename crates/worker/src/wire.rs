//! What travels between a worker and the server, field by field as `docs/workers.md` names them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// An order to make one attempt of one step.
///
/// The same attempt may be delivered more than once: whoever must not act twice remembers the
/// [`Attempt`] it has acted on (D-034).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directive {
    /// which attempt, and the right to report on it
    #[serde(flatten)]
    pub attempt: Attempt,
    /// the workflow
    pub protocol_id: String,
    /// what kind of work it is
    pub step_type: String,
    /// what to work on
    #[serde(default)]
    pub payload: Value,
    /// ties it to what the requester knows
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
    /// every other field, as it came
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

impl Directive {
    /// One worker does all steps of the attempt: whoever reports this one done is given the next with
    /// the answer, and keeps what it has by signs of life. So it is for jobs of workspaces.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.more.contains_key("message")
    }
}

/// Names one attempt of one step, and proves the right to report on it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Attempt {
    /// the job
    #[serde(rename = "jobId")]
    pub job_id: String,
    /// the step of the job
    #[serde(rename = "stepId")]
    pub step_id: String,
    /// whom the job belongs to
    pub tenant_id: String,
    /// counted from 1
    pub attempt_no: u32,
    /// never reused
    pub lease_id: String,
}

/// A directive in this worker's hands.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Leased {
    /// extends or gives back this delivery
    pub delivery: String,
    /// how often it was handed out, this time included
    #[serde(default)]
    pub deliveries: u32,
    /// the order
    pub directive: Directive,
}

/// What came of an attempt.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// which
    #[serde(flatten)]
    pub attempt: Attempt,
    /// how it ended
    pub status: Status,
    /// what the work produced
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// why it did not succeed
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Failure>,
    /// seconds to rest, at least, before another attempt
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u64>,
    /// what the attempt has cost the workspace, with at most six digits after the point
    #[serde(skip_serializing_if = "is_nothing")]
    pub credits_spent: f64,
}

impl Report {
    /// A report that says no more than how the attempt ended.
    #[must_use]
    pub fn new(attempt: Attempt, status: Status) -> Self {
        Self { attempt, status, result: None, error: None, retry_after: None, credits_spent: 0.0 }
    }
}

fn is_nothing(credits: &f64) -> bool {
    *credits == 0.0
}

/// How an attempt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Status {
    /// done
    Succeeded,
    /// not done, and another attempt would not help
    FailedFinal,
    /// not done, but another attempt may help
    FailedRetryable,
    /// accepted, but not finished: ask again
    Incomplete,
}

/// Why an attempt did not succeed. Short, and free of personal data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// a stable word
    pub code: String,
    /// a sentence
    pub message: String,
}

/// What the server made of an ack or a report.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Answer {
    /// it counted
    pub applied: bool,
    /// why it did not, as a stable word
    #[serde(default)]
    pub reason: Option<String>,
    /// what was wrong with it; without one it merely came too late
    #[serde(default)]
    pub problem: Option<ItemProblem>,
    /// what the worker goes on with: it has it already
    #[serde(default)]
    pub next: Option<Next>,
}

/// What a worker goes on with.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Next {
    /// the order
    pub directive: Directive,
}

/// What was wrong with one item of a batch.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ItemProblem {
    /// of HTTP, had the item been sent alone
    #[serde(default)]
    pub status: u16,
    /// what happened
    #[serde(default)]
    pub detail: String,
}

impl Answer {
    /// The server could not take the item now; the same item again may count.
    #[must_use]
    pub fn is_not_now(&self) -> bool {
        self.problem.as_ref().is_some_and(|problem| matches!(problem.status, 429 | 500..=599))
    }
}

/// What became of the wish to keep or to give back a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kept {
    /// as wished
    Ok,
    /// it is no longer this worker's
    Lost,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn directive() -> Value {
        json!({
            "jobId": "j", "stepId": "s", "tenant_id": "t", "attempt_no": 2, "lease_id": "l",
            "protocol_id": "p", "step_type": "OCR", "payload": {"a": 1}, "input_ref": "in",
            "callback_urls": {"ack": "http://a", "result": "http://r"},
        })
    }

    #[test]
    fn a_directive_is_handed_on_with_fields_that_this_worker_does_not_know() {
        let read: Directive = serde_json::from_value(directive()).unwrap();
        assert_eq!(read.attempt.attempt_no, 2);
        assert_eq!(read.more["input_ref"], "in");
        assert_eq!(serde_json::to_value(&read).unwrap(), directive());
    }

    // D-036, X-137: a report names job, step, tenant, attempt, lease and one of the status words.
    #[test]
    fn a_report_names_its_attempt_and_its_status() {
        let read: Directive = serde_json::from_value(directive()).unwrap();
        let report = Report {
            error: Some(Failure { code: "busy".to_owned(), message: "try later".to_owned() }),
            retry_after: Some(3),
            ..Report::new(read.attempt, Status::FailedRetryable)
        };
        let expected = json!({
            "jobId": "j", "stepId": "s", "tenant_id": "t", "attempt_no": 2, "lease_id": "l",
            "status": "FAILED_RETRYABLE", "error": {"code": "busy", "message": "try later"},
            "retry_after": 3,
        });
        assert_eq!(serde_json::to_value(&report).unwrap(), expected);
    }

    #[test]
    fn an_answer_may_hold_the_next_step_of_the_job() {
        let mut next = directive();
        next["message"] = json!({"v": 1});
        let answer = json!({"applied": true, "next": {"locked_until": "t", "directive": next}});
        let answer: Answer = serde_json::from_value(answer).unwrap();
        assert!(answer.next.unwrap().directive.is_kept());
        let plain: Directive = serde_json::from_value(directive()).unwrap();
        assert!(!plain.is_kept());
    }

    #[test]
    fn an_item_that_the_server_could_not_take_now_is_worth_another_try() {
        let answer = |text: &str| serde_json::from_str::<Answer>(text).unwrap();
        let busy = r#"{"applied":false,"reason":"busy","problem":{"status":503,"detail":"full"}}"#;
        assert!(answer(busy).is_not_now());
        let wrong = r#"{"applied":false,"reason":"invalid","problem":{"status":422}}"#;
        assert!(!answer(wrong).is_not_now());
        assert!(!answer(r#"{"applied":false,"reason":"stale_attempt"}"#).is_not_now());
        assert!(!answer(r#"{"applied":true}"#).is_not_now());
    }
}
