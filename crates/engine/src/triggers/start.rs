//! The run of a firing: from what its trigger says to a start, and from the answer to what became of it.

use std::sync::Arc;

use serde_json::{Map, Value};
use stepwell_core::id::RunId;
use stepwell_dialects::rejection::Rejection;
use stepwell_dialects::workspaces::{Accept, accept, redact, trigger as document};
use stepwell_store::{Key, Trigger};

use super::error::TriggerError;
use crate::error::EngineError;
use crate::intake::{Answered, Ask, Intake, Reply, Start};
use crate::shared::Shared;

/// A job that a firing asks for.
pub(super) struct Order<'a> {
    pub(super) trigger: &'a Trigger,
    pub(super) document: &'a document::Trigger,
    /// the key of the firing
    pub(super) key: &'a str,
    /// what its templates may ask for
    pub(super) variables: Map<String, Value>,
    /// put over what they say
    pub(super) input: Map<String, Value>,
}

/// The run that a firing has made, and whether it had made it before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Made {
    pub(super) run: RunId,
    pub(super) repeated: bool,
}

/// Starts the runs of firings, all in one group; the answers keep the order.
pub(super) async fn start_all(
    shared: &Shared,
    intake: &Intake,
    orders: &[Order<'_>],
) -> Vec<Result<Made, TriggerError>> {
    let mut answers = Vec::with_capacity(orders.len());
    let mut asks = Vec::with_capacity(orders.len());
    let mut asked = Vec::with_capacity(orders.len());
    for (place, order) in orders.iter().enumerate() {
        let start = prepare(shared, order).await;
        answers.push(match start {
            Ok(start) => {
                asks.push(Ask::Start(Box::new(start)));
                asked.push(place);
                Err(EngineError::Stopped.into())
            }
            Err(error) => Err(error),
        });
    }
    if asks.is_empty() {
        return answers;
    }
    // Without an answer they stay as they were put above: to be tried again.
    if let Ok(replies) = intake.ask_patiently(asks).await {
        for (place, reply) in asked.into_iter().zip(replies) {
            answers[place] = became(reply);
        }
    }
    answers
}

fn became(answer: Answered) -> Result<Made, TriggerError> {
    match answer {
        Ok(Reply::Started(run) | Reply::Applied(run) | Reply::Stored(run)) => {
            Ok(Made { run: run.id(), repeated: false })
        }
        Ok(Reply::Repeated(run)) => Ok(Made { run, repeated: true }),
        Err(error) => Err(error.into()),
    }
}

/// The trigger may have been changed since its firing made a run: what was made stays made.
pub(super) fn made_before(answer: Result<Made, TriggerError>) -> Result<Made, TriggerError> {
    match answer {
        Err(TriggerError::Engine(EngineError::KeyReused { run })) => {
            Ok(Made { run, repeated: true })
        }
        other => other,
    }
}

/// The start that a firing asks for: the same as if a client had asked for the job.
async fn prepare(shared: &Shared, order: &Order<'_>) -> Result<Start, TriggerError> {
    let Order { trigger, document, .. } = order;
    let Some(compiled) = shared.catalog.newest(&document.workflow_id).await? else {
        return Err(TriggerError::WorkflowNotFound(document.workflow_id.clone()));
    };
    let now = shared.now();
    let firing = document::Firing {
        key: order.key.to_owned(),
        variables: order.variables.clone(),
        input: order.input.clone(),
    };
    let request = document.request(firing, now).map_err(Rejection::invalid)?;
    let policy = shared.tenant_policy(&trigger.tenant);
    let mut defaults = shared.settings.workspaces.clone();
    defaults.restore = policy.restore.unwrap_or(defaults.restore);
    let settings = &shared.settings.triggers;
    let at = Accept {
        run: RunId(shared.fresh_id()),
        workspace: &trigger.tenant,
        actor: format!("trigger:{}", trigger.name),
        now,
        traceparent: None,
        references: &settings.references,
        defaults: &defaults,
    };
    let (header, key) = accept(request, &compiled.workflow, &compiled.checks, at)?;
    Ok(Start {
        header: Arc::new(header),
        carried: Vec::new(),
        key: key.map(|key| Key { hash: key.hash, request_hash: key.request_hash }),
        tenant_cap: policy.runs_open_max.or(settings.tenant_cap),
    })
}

/// What to do about a firing that has made no run.
#[derive(Debug)]
pub(super) enum Hindrance {
    /// the same firing may make one in a while
    NotNow(String),
    /// it never will
    Never(String),
    /// the engine is busy or the store away: nothing of the firing itself
    Fault(EngineError),
}

impl From<TriggerError> for Hindrance {
    fn from(error: TriggerError) -> Self {
        match error {
            TriggerError::Engine(
                EngineError::CreditsShort { .. } | EngineError::TenantFull { .. },
            ) => Self::NotNow(error.to_string()),
            TriggerError::Engine(error @ EngineError::BadWorkflow { .. }) => {
                Self::Never(error.to_string())
            }
            TriggerError::Engine(error) if error.is_passing() => Self::Fault(error),
            // A problem may repeat what came from outside.
            TriggerError::Rejected(_) => Self::Never(redact::message(&error.to_string())),
            other => Self::Never(other.to_string()),
        }
    }
}
