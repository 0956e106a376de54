//! Station 2, accept: from a request to the header of a run, or to all that is wrong with it.
//!
//! [`super::request::read`] reads the fields, the caller looks the workflow up, and [`accept`] holds the
//! input against the schemas and the references against the policy. Whoever refuses has created nothing.

use std::sync::Arc;

use serde_json::{Map, Value};
use stepwell_core::credit::{CreditTerms, Credits};
use stepwell_core::definition::{Part, Workflow};
use stepwell_core::id::{RunId, Tenant};
use stepwell_core::retry::RetryPolicy;
use stepwell_core::run::{Dialect, Header};
use stepwell_core::terms::Terms;
use stepwell_core::time::Timestamp;

use super::context::Context;
use super::job_id::JobId;
use super::key::Key;
use super::policy::Defaults;
use super::request::{JobRequest, PRIORITY_DEFAULT};
use crate::commands::ReferencePolicy;
use crate::problem::{Problem, Report, key_path};
use crate::rejection::Rejection;
use crate::special::special;
use crate::trace;
use crate::workflow::Checks;

/// What the caller adds to a request.
#[derive(Clone, Debug)]
pub struct Accept<'a> {
    /// the id of the run to be
    pub run: RunId,
    /// whose job it is
    pub workspace: &'a Tenant,
    /// who asks
    pub actor: String,
    /// when
    pub now: Timestamp,
    /// the W3C trace context of the request itself
    pub traceparent: Option<String>,
    /// which references are accepted
    pub references: &'a ReferencePolicy,
    /// what every job is granted
    pub defaults: &'a Defaults,
}

/// Makes the header of the run that the request asks for, and the key under which it is made once.
///
/// # Errors
///
/// Every problem of the input, of the references, and a workspace that is another one's.
pub fn accept(
    mut request: JobRequest,
    workflow: &Arc<Workflow>,
    checks: &Checks,
    at: Accept<'_>,
) -> Result<(Header, Option<Key>), Rejection> {
    let key = Key::of(at.workspace.as_str(), &request);
    let input = Value::Object(std::mem::take(&mut request.input));
    let report = Report::new();
    checks.check_value_at(&input, "input").into_iter().for_each(|problem| report.add(problem));
    check_references(&request, at.references, &report);
    check_workspace(&request, at.workspace, &report);
    report.finish(Some(())).map_err(Rejection::invalid)?;
    let Value::Object(input) = input else {
        unreachable!("the input was wrapped as an object above");
    };
    Ok((header(request, input, workflow, at), key))
}

fn check_references(request: &JobRequest, policy: &ReferencePolicy, report: &Report) {
    for (name, reference) in &request.references {
        let problem = reference.as_str().and_then(|reference| policy.refuse(reference));
        if let Some(problem) = problem {
            report.add(problem.at(key_path("references", name)));
        }
    }
}

fn check_workspace(request: &JobRequest, workspace: &Tenant, report: &Report) {
    if request.workspace_id.as_deref().is_some_and(|named| named != workspace.as_str()) {
        let problem =
            Problem::new("workspace_mismatch", "this is not the workspace of the request")
                .at("workspace_id")
                .help("leave it out, or name the workspace of the path or of the token");
        report.add(problem);
    }
}

fn header(
    request: JobRequest,
    input: Map<String, Value>,
    workflow: &Arc<Workflow>,
    at: Accept<'_>,
) -> Header {
    let terms = terms(&request, workflow, at.defaults);
    let (trace_id, traceparent) = trace(&request, &at);
    let reference = |name: &str| request.references.get(name).cloned().unwrap_or_default();
    let special = special([
        ("_job_id", JobId::of(at.run).to_string().into()),
        ("_tenant_id", at.workspace.as_str().into()),
        ("_user_id", request.user_id.as_str().into()),
        ("_input_ref", reference("input")),
        ("_output_ref", reference("output")),
        ("_references", request.references.clone().into()),
    ]);
    Header {
        id: at.run,
        tenant: at.workspace.clone(),
        dialect: Dialect::Workspaces,
        workflow: Arc::clone(workflow),
        part: Part::Main,
        parent: None,
        resumes: None,
        input,
        special,
        routing: None,
        context: Context {
            user_id: request.user_id,
            trigger_type: request.trigger_type,
            idempotency_key: request.idempotency_key,
            trace_id,
            references: request.references,
        }
        .into_map(),
        priority: request.priority.unwrap_or(PRIORITY_DEFAULT),
        correlation_id: None,
        traceparent,
        actor: at.actor,
        created_at: at.now,
        membership: None,
        terms: Some(Arc::new(terms)),
    }
}

/// The request has the first word, then the workflow, then the installation.
fn terms(request: &JobRequest, workflow: &Workflow, defaults: &Defaults) -> Terms {
    let said = workflow.run_retry.as_ref().unwrap_or(&defaults.retry);
    let attempts_max = request.max_attempts.unwrap_or(said.attempts_max);
    let estimate = request.credits_estimate.or(workflow.credits).unwrap_or(Credits::ZERO);
    Terms {
        run_retry: Some(RetryPolicy { attempts_max, ..said.clone() }),
        keeping: Some(defaults.keeping),
        credits: Some(CreditTerms {
            estimate,
            restore: defaults.restore,
            charged: defaults.charged,
        }),
    }
}

/// The trace id of the record, and the trace context that leads to it: what the request says of
/// itself, else what carried it, else the job's own id (C-027).
fn trace(request: &JobRequest, at: &Accept<'_>) -> (String, Option<String>) {
    let carried = at.traceparent.clone().filter(|text| trace::is_traceparent(text));
    let of_carrier = carried.as_deref().and_then(trace::trace_id).map(str::to_owned);
    let id = request.trace_id.clone().or(of_carrier).unwrap_or_else(|| trace::own_trace_id(at.run));
    let made = || trace::traceparent(&id, at.run);
    let traceparent =
        if request.trace_id.is_some() { made().or(carried) } else { carried.or_else(made) };
    (id, traceparent)
}
