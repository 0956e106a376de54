//! The message that gives a worker a job.

use serde::Serialize;
use serde_json::{Map, Value};
use stepwell_core::id::BatchId;

use super::job_id::JobId;
use super::message::{self, StepExecutionId, WORKER_ID};

/// A job on the topic `worker-jobs`.
///
/// The [`JobId`] is the id of the bus message too, so that a directive that is published twice
/// arrives once.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct WorkerJobMessage<'a> {
    /// what is to be done, and which try of it this is
    pub job_id: JobId,
    /// the batch it belongs to
    pub batch_id: BatchId,
    /// who shall do it
    pub worker_id: &'a str,
    /// what it is called in the worker's words
    pub function_name: &'a str,
    /// what the function is given
    pub parameters: &'a Map<String, Value>,
    /// what the worker sends back unchanged
    pub correlation_data: CorrelationData<'a>,
}

/// What ties a result to its step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct CorrelationData<'a> {
    /// the step; of a rollback, the step that failed: see [`super::job_id::Job::execution`]
    pub step_execution_id: StepExecutionId,
    /// whether it is done once for the batch, and not for a member
    pub is_init_step: bool,
    /// the runbook
    pub runbook_name: &'a str,
    /// its version
    pub runbook_version: u32,
}

impl WorkerJobMessage<'_> {
    /// The message as it travels.
    #[must_use]
    pub fn to_body(&self) -> String {
        message::body(self)
    }

    /// The application properties of the message.
    #[must_use]
    pub fn properties(&self) -> [(&'static str, &str); 1] {
        [(WORKER_ID, self.worker_id)]
    }
}
