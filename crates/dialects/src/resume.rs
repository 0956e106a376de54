//! A new run for one that has ended: what was done stays done, the rest is done now.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;
use stepwell_core::command::Carried;
use stepwell_core::id::{RunId, StepIndex};
use stepwell_core::run::{Header, Run};
use stepwell_core::step::StepStatus;
use stepwell_core::time::Timestamp;

use crate::workspaces::job_id::public_id;

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
) -> (Header, Vec<Carried>) {
    let mut header = Header {
        id,
        resumes: Some(run.id()),
        actor: actor.into(),
        created_at: now,
        ..Header::clone(&run.header)
    };
    let job_id = public_id(&header).to_string();
    if let Some(job) = header.special.get_mut("_job_id") {
        *job = job_id.into();
    }
    (header, carried(run))
}

/// Steps that succeeded are taken over whole; of a step that did not, the items that did.
fn carried(run: &Run) -> Vec<Carried> {
    run.own_steps()
        .filter_map(|(index, _)| whole(run, index).or_else(|| in_part(run, index)))
        .collect()
}

fn whole(run: &Run, step: StepIndex) -> Option<Carried> {
    let succeeded = run.steps[step.position()].status == StepStatus::Succeeded;
    let result = || run.result(step).map_or(Value::Null, Cow::into_owned);
    succeeded.then(|| Carried::Step { step, result: result() })
}

fn in_part(run: &Run, step: StepIndex) -> Option<Carried> {
    let items = run.steps[step.position()].params.clone()?;
    let results: Vec<Option<Arc<Value>>> = run
        .expansion(step)?
        .items()
        .map(|item| {
            let item = &run.steps[item.position()];
            let result = || item.result.clone().unwrap_or_default();
            (item.status == StepStatus::Succeeded).then(result)
        })
        .collect();
    // Without a finished item there is nothing to keep the list for.
    results.iter().any(Option::is_some).then_some(Carried::Items { step, items, results })
}
