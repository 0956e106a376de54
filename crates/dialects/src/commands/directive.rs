//! The message that starts an attempt, or asks a polling one again, as platform workers know it.
//!
//! Everything is borrowed from the run: a payload is written once, straight into the message.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use stepwell_core::id::{LeaseId, RunId, StepIndex};
use stepwell_core::run::Run;

use super::context;
use crate::moment::Moment;
use crate::workspaces::job_id::public_id;

/// Where a worker answers. Each URL carries the proof that belongs to this one attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CallbackUrls {
    /// for "I have it"
    pub ack: String,
    /// for what came of it
    pub result: String,
}

/// A directive on the wire (D-033).
///
/// Every field of the contract is always there, `null` if there is no value. `service`, `timeout_at`
/// and `poll` go beyond it; workers that do not know them lose nothing.
#[derive(Clone, Debug, Serialize)]
pub struct DirectiveMessage<'a> {
    /// the job
    #[serde(rename = "jobId")]
    pub job_id: RunId,
    /// whose it is
    pub tenant_id: &'a str,
    /// the step; for an item of it, with its number: `resize[3]`
    #[serde(rename = "stepId")]
    pub step_id: Cow<'a, str>,
    /// the protocol it belongs to
    pub protocol_id: &'a str,
    /// the kind of work
    pub step_type: &'a str,
    /// which try; with `lease_id` it tells a repetition from a new try (D-034)
    pub attempt_no: u32,
    /// what makes an answer count
    pub lease_id: LeaseId,
    /// what to work on
    pub input_ref: Option<&'a str>,
    /// where the job keeps what its steps hand on
    pub workspace_ref: Option<&'a str>,
    /// where to put what comes of it
    pub output_ref: Option<&'a str>,
    /// what the step is given
    pub payload: Payload<'a>,
    /// where to answer
    pub callback_urls: &'a CallbackUrls,
    /// ties it to what the requester knows
    pub correlation_id: Option<&'a str>,
    /// W3C trace context
    pub traceparent: Option<&'a str>,
    /// the platform service that does the work
    pub service: &'a str,
    /// when the attempt is given up
    pub timeout_at: Moment,
    /// which question of a poll this is, counted from 1; absent in a directive that starts work
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll: Option<u32>,
}

/// What a step is given.
#[derive(Clone, Copy, Debug)]
pub enum Payload<'a> {
    /// its own `params`, with their placeholders filled in
    Params(&'a Value),
    /// the payload of the job, for a step without params
    Input(&'a Map<String, Value>),
}

impl Serialize for Payload<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Params(params) => params.serialize(serializer),
            Self::Input(input) => input.serialize(serializer),
        }
    }
}

/// Renders the directive of the step's attempt under way; `None` if none is.
#[must_use]
pub fn render<'a>(
    run: &'a Run,
    step: StepIndex,
    callback_urls: &'a CallbackUrls,
) -> Option<DirectiveMessage<'a>> {
    let header = &*run.header;
    let state = run.steps.get(step.position())?;
    let lease = state.lease?;
    let spec = run.spec(step);
    Some(DirectiveMessage {
        job_id: public_id(header),
        tenant_id: header.tenant.as_str(),
        step_id: run.step_id(step),
        protocol_id: &header.workflow.name,
        step_type: state.kind.as_deref().unwrap_or(&spec.kind),
        attempt_no: lease.attempt,
        lease_id: lease.id,
        input_ref: context::input_ref(header),
        workspace_ref: context::workspace_ref(header),
        output_ref: context::output_ref(header),
        payload: state.params.as_deref().map_or(Payload::Input(&header.input), Payload::Params),
        callback_urls,
        correlation_id: header.correlation_id.as_deref(),
        traceparent: header.traceparent.as_deref(),
        service: &spec.pool,
        timeout_at: Moment(lease.expires_at),
        poll: state.poll.map(|poll| poll.count).filter(|count| *count > 0),
    })
}
