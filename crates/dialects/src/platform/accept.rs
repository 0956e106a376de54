//! Station 2, accept: from an order to the header of a run, or to the reason why it never becomes one.
//!
//! The same order arrives in two ways. From the queue, [`order`] reads it, the caller looks its workflow
//! up, and [`Order::header`] holds its input against the schemas; whatever is wrong is a [`Rejection`],
//! which is kept as a dead letter. Over HTTP, [`super::request::read`] reads it, and [`check_input`]
//! answers with all the problems. Whoever refuses has created nothing.

use std::sync::Arc;

use serde_json::{Map, Value};
use stepwell_core::definition::{Part, Workflow};
use stepwell_core::id::{RunId, Tenant};
use stepwell_core::run::{Dialect, Header};
use stepwell_core::time::Timestamp;

use super::context::Context;
use super::key::Key;
use super::message::{self, JobQueueMessage};
use super::queue::{DELIVERIES_MAX, Delivery};
use super::rejection::Rejection;
use crate::problem::{Problems, Report};
use crate::special::special;
use crate::workflow::Checks;

/// Who asked, if an order does not say.
const SUBMITTER_UNKNOWN: &str = "unknown";

/// An order that can be read and is still wanted.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    message: JobQueueMessage,
}

/// Reads the order of a delivery.
///
/// # Errors
///
/// When it waited for too long, was handed out too often, or is not what it must be. None of these
/// gets better by trying again.
pub fn order(body: &str, delivery: &Delivery<'_>) -> Result<Order, Rejection> {
    if delivery.expires_at <= delivery.received_at {
        return Err(Rejection::expired(delivery.expires_at));
    }
    if delivery.deliveries > DELIVERIES_MAX {
        let cause = "whoever took it did not come back";
        return Err(Rejection::delivery_limit(delivery.deliveries - 1, cause));
    }
    let message = message::read(body, delivery);
    let message = message.map_err(|problems| Rejection::message_invalid(&problems))?;
    Ok(Order { message })
}

impl From<JobQueueMessage> for Order {
    fn from(message: JobQueueMessage) -> Self {
        Self { message }
    }
}

impl Order {
    /// The name of its workflow.
    #[must_use]
    pub fn workflow_id(&self) -> &str {
        &self.message.workflow_id
    }

    /// What it says.
    #[must_use]
    pub fn message(&self) -> &JobQueueMessage {
        &self.message
    }

    /// What makes it the same order.
    #[must_use]
    pub fn key(&self) -> Key {
        Key::of(self.message.idempotency_key.as_deref(), &self.message.message_id)
    }

    /// The answer when there is no workflow of that name.
    #[must_use]
    pub fn workflow_not_found(&self) -> Rejection {
        Rejection::workflow_not_found(&self.message.workflow_id)
    }

    /// Makes the header of the run that the order asks for, and the key under which it is made once.
    ///
    /// # Errors
    ///
    /// When the workflow does not take its input.
    pub fn header(
        self,
        run: RunId,
        workflow: &Arc<Workflow>,
        checks: &Checks,
        now: Timestamp,
    ) -> Result<(Header, Key), Rejection> {
        let key = self.key();
        let header = header(self.message, run, workflow, checks, now);
        let header = header.map_err(|problems| Rejection::input_invalid(&problems))?;
        Ok((header, key))
    }
}

fn header(
    mut message: JobQueueMessage,
    run: RunId,
    workflow: &Arc<Workflow>,
    checks: &Checks,
    now: Timestamp,
) -> Result<Header, Problems> {
    let input = check_input(std::mem::take(&mut message.input_params), checks)?;
    let special = specials(&message, run);
    let actor = message.submitted_by.clone();
    Ok(Header {
        id: run,
        tenant: Tenant::default_tenant(),
        dialect: Dialect::Platform,
        workflow: Arc::clone(workflow),
        part: Part::Main,
        parent: None,
        resumes: None,
        input,
        special,
        routing: None,
        context: Context {
            message_id: message.message_id,
            idempotency_key: message.idempotency_key,
            callback_url: message.callback_url,
            submitted_by: message.submitted_by,
            submitted_at: message.submitted_at.0.to_string(),
        }
        .into_map(),
        priority: message.priority,
        correlation_id: message.correlation_id,
        traceparent: None,
        actor: actor.unwrap_or_else(|| SUBMITTER_UNKNOWN.to_owned()),
        created_at: now,
        membership: None,
        terms: None,
    })
}

/// Gives the input back if the workflow takes it.
///
/// # Errors
///
/// Every problem of the input, each at its place under `input_params`.
pub fn check_input(
    input: Map<String, Value>,
    checks: &Checks,
) -> Result<Map<String, Value>, Problems> {
    let value = Value::Object(input);
    let report = Report::new();
    let problems = checks.check_value_at(&value, "input_params");
    problems.into_iter().for_each(|problem| report.add(problem));
    report.finish(Some(()))?;
    match value {
        Value::Object(input) => Ok(input),
        _ => unreachable!("the input was wrapped as an object above"),
    }
}

fn specials(message: &JobQueueMessage, run: RunId) -> Map<String, Value> {
    special([
        ("_job_id", run.to_string().into()),
        ("_tenant_id", Tenant::default_tenant().as_str().into()),
        ("_correlation_id", message.correlation_id.clone().into()),
    ])
}
