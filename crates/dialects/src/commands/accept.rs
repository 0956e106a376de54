//! Station 2, accept: from a command's envelope to the header of a run, or to all that is wrong with it.
//!
//! The order is fixed (D-016): [`super::envelope()`] reads the fields, the caller looks the protocol up
//! and answers [`unknown_protocol`] if there is none, and [`accept`] holds the payload against the
//! schemas and the references against the policy. Whoever refuses has created nothing.

use std::sync::Arc;

use serde_json::{Map, Value};
use stepwell_core::definition::{Part, Workflow};
use stepwell_core::id::{RunId, Tenant};
use stepwell_core::lane::{Lane, Mode, RoutingKey};
use stepwell_core::run::{Dialect, Header, Routing};
use stepwell_core::template::near;
use stepwell_core::time::Timestamp;

use super::context::Context;
use super::envelope::Envelope;
use super::reference::ReferencePolicy;
use crate::problem::{Problem, Report, quoted};
use crate::rejection::Rejection;
use crate::special::special;
use crate::workflow::Checks;

/// Neither urgent nor idle: an envelope has no word for it.
const PRIORITY: u8 = 5;

/// What the caller adds to an envelope.
#[derive(Clone, Debug)]
pub struct Accept<'a> {
    /// the id of the run to be
    pub run: RunId,
    /// who asks
    pub actor: String,
    /// when
    pub now: Timestamp,
    /// which references are accepted
    pub references: &'a ReferencePolicy,
}

/// Makes the header of the run that the envelope asks for.
///
/// # Errors
///
/// Every problem of the payload, then every problem of the references.
pub fn accept(
    mut envelope: Envelope,
    protocol: &Arc<Workflow>,
    checks: &Checks,
    at: Accept<'_>,
) -> Result<Header, Rejection> {
    let payload = Value::Object(std::mem::take(&mut envelope.payload));
    let problems = checks.check_value(&payload);
    let references = at.references.check(&envelope.input_ref, &envelope.output_ref);
    let report = Report::new();
    problems.into_iter().chain(references).for_each(|problem| report.add(problem));
    report.finish(Some(())).map_err(|problems| {
        Rejection::invalid(problems).about(envelope.correlation_id.as_deref())
    })?;
    let Value::Object(input) = payload else {
        unreachable!("the payload was wrapped as an object above");
    };
    Ok(header(envelope, input, protocol, at))
}

/// Refuses a request type that no protocol has (D-018).
pub fn unknown_protocol<'k>(
    request_type: &str,
    known: impl IntoIterator<Item = &'k str>,
) -> Rejection {
    let message = format!("there is no protocol for {}", quoted(request_type));
    let problem = Problem::new("unknown_request_type", message).at("request_type");
    Rejection::invalid(match near(request_type, known) {
        Some(near) => problem.did_you_mean(Some(near)),
        None => problem.help("publish a workflow with this request_type first"),
    })
}

fn header(
    envelope: Envelope,
    input: Map<String, Value>,
    protocol: &Arc<Workflow>,
    at: Accept<'_>,
) -> Header {
    let workspace_ref = format!("{}{}", at.references.workspace_prefix, at.run);
    Header {
        id: at.run,
        tenant: Tenant::new(&envelope.tenant_id),
        dialect: Dialect::Commands,
        workflow: Arc::clone(protocol),
        part: Part::Main,
        parent: None,
        resumes: None,
        input,
        special: specials(&envelope, at.run, &workspace_ref),
        routing: Some(routing(&envelope)),
        context: Context {
            input_ref: envelope.input_ref,
            output_ref: envelope.output_ref,
            workspace_ref,
            mode: mode_word(envelope.mode).into(),
            doc_id: envelope.doc_id,
            request_type: envelope.request_type,
            callback_urls: envelope.callback_urls,
        }
        .into_map(),
        priority: PRIORITY,
        correlation_id: envelope.correlation_id,
        traceparent: envelope.traceparent,
        actor: at.actor,
        created_at: at.now,
        membership: None,
        terms: None,
    }
}

/// The lane is chosen once, here, and never again for this run (D-021 to D-024).
fn routing(envelope: &Envelope) -> Routing {
    let tenant_id = &envelope.tenant_id;
    let key = match (envelope.mode, &envelope.doc_id) {
        (Mode::Burst, Some(doc_id)) => RoutingKey::of_document(tenant_id, doc_id),
        (Mode::Burst, None) | (Mode::Default, _) => RoutingKey::of_tenant(tenant_id),
    };
    Routing { lane: Lane::of(&key), key: key.as_str().to_owned() }
}

fn mode_word(mode: Mode) -> &'static str {
    match mode {
        Mode::Default => "DEFAULT",
        Mode::Burst => "BURST",
    }
}

fn specials(envelope: &Envelope, run: RunId, workspace_ref: &str) -> Map<String, Value> {
    special([
        ("_job_id", run.to_string().into()),
        ("_tenant_id", envelope.tenant_id.clone().into()),
        ("_correlation_id", envelope.correlation_id.clone().into()),
        ("_input_ref", envelope.input_ref.clone().into()),
        ("_output_ref", envelope.output_ref.clone().into()),
        ("_workspace_ref", workspace_ref.into()),
        ("_doc_id", envelope.doc_id.clone().into()),
        ("_request_type", envelope.request_type.clone().into()),
    ])
}
