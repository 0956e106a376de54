//! A new run for one that has ended: what was done stays done, the rest is done now.

use serde_json::Value;
use stepwell_core::id::{RunId, StepIndex};
use stepwell_core::run::{Header, Run};
use stepwell_core::step::StepStatus;
use stepwell_core::time::Timestamp;

/// The header of the new run, and the results it takes over.
///
/// The new run follows the same version of the workflow with the same input, lane and workspace, so
/// that what earlier steps left there is found. Only `_job_id` becomes its own.
#[must_use]
pub fn resume(
    run: &Run,
    id: RunId,
    actor: impl Into<String>,
    now: Timestamp,
) -> (Header, Vec<(StepIndex, Value)>) {
    let mut header = Header {
        id,
        resumes: Some(run.id()),
        actor: actor.into(),
        created_at: now,
        ..Header::clone(&run.header)
    };
    if let Some(job) = header.special.get_mut("_job_id") {
        *job = id.to_string().into();
    }
    (header, carried(run))
}

fn carried(run: &Run) -> Vec<(StepIndex, Value)> {
    run.indexed()
        .filter(|(_, step)| step.status == StepStatus::Succeeded)
        .map(|(index, step)| (index, step.result.as_deref().cloned().unwrap_or(Value::Null)))
        .collect()
}
