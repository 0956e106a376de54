//! The message that gives a worker a job.

use expect_test::expect;
use serde_json::{Map, Value, json};
use stepwell_core::id::{BatchId, MemberId, RunNumber, StepIndex};
use stepwell_dialects::runbooks::directive::{CorrelationData, WorkerJobMessage};
use stepwell_dialects::runbooks::job_id::Job;
use stepwell_dialects::runbooks::message::{CONTENT_TYPE, topic};
use stepwell_dialects::runbooks::{JobId, StepExecutionId};

use super::execution;

fn message(job_id: JobId, parameters: &Map<String, Value>) -> WorkerJobMessage<'_> {
    WorkerJobMessage {
        job_id,
        batch_id: BatchId(42),
        worker_id: "worker-01",
        function_name: "New-EntraUser",
        parameters,
        correlation_data: CorrelationData {
            step_execution_id: execution(),
            is_init_step: false,
            runbook_name: "contoso-mailbox-migration",
            runbook_version: 1,
        },
    }
}

fn parameters() -> Map<String, Value> {
    let pairs = [("DisplayName", "John Doe"), ("UserPrincipalName", "jdoe@contoso.com")];
    pairs.into_iter().map(|(name, value)| (name.to_owned(), json!(value))).collect()
}

#[test]
fn a_job_has_the_fields_of_the_contract_in_its_order() {
    // A-080, A-202, X-008: capitals, every field, nothing more.
    let parameters = parameters();
    let message = message(Job::Step(execution()).directive(1, 0), &parameters);
    expect![[
        r#"{"JobId":"step-123-attempt-1","BatchId":42,"WorkerId":"worker-01","FunctionName":"New-EntraUser","Parameters":{"DisplayName":"John Doe","UserPrincipalName":"jdoe@contoso.com"},"CorrelationData":{"StepExecutionId":123,"IsInitStep":false,"RunbookName":"contoso-mailbox-migration","RunbookVersion":1}}"#
    ]]
    .assert_eq(&message.to_body());
}

#[test]
fn a_job_carries_the_property_that_brings_it_to_its_worker() {
    // A-078, A-192, A-194
    let parameters = Map::new();
    let message = message(Job::Step(execution()).directive(1, 0), &parameters);
    assert_eq!(message.properties(), [("WorkerId", "worker-01")]);
    assert_eq!(topic::worker_subscription("worker-01"), "worker-worker-01");
    assert_eq!(CONTENT_TYPE, "application/json");
}

#[test]
fn a_job_without_parameters_says_so_with_an_empty_object() {
    // A-202: Parameters is always an object.
    let parameters = Map::new();
    let body = message(Job::Init(execution()).directive(1, 0), &parameters).to_body();
    assert!(body.contains(r#""JobId":"init-123-attempt-1""#), "{body}");
    assert!(body.contains(r#""Parameters":{}"#), "{body}");
}

#[test]
fn a_job_of_a_rollback_correlates_to_the_step_that_failed() {
    // X-033: a rollback has no number of its own; its job tells which of its steps it is.
    let rollback = Job::Rollback { step: execution(), number: 2 };
    let parameters = Map::new();
    let message = message(rollback.directive(1, 0), &parameters);
    assert_eq!(rollback.execution(), Some(message.correlation_data.step_execution_id));
    assert_eq!(message.job_id.to_string(), "rollback-123-2");
    let own = StepExecutionId::of(RunNumber(9), StepIndex(0));
    assert_eq!(Job::Step(own).execution(), Some(own));
    assert_eq!(Job::Removal { member: MemberId(505), number: 1 }.execution(), None);
}
