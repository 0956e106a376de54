//! A dead letter as callers see it.

use serde::Serialize;
use serde_json::{Map, Value};
use stepwell_core::id::{RunId, Tenant};
use stepwell_core::run::Run;
use stepwell_core::step::StepError;
use stepwell_core::time::Timestamp;
use stepwell_dialects::moment::Moment;
use stepwell_store::DeadLetter;

use crate::job_id;

/// A dead letter.
#[derive(Serialize)]
pub(super) struct DeadLetterView {
    id: i64,
    dialect: Option<&'static str>,
    job_id: Option<RunId>,
    tenant_id: Tenant,
    protocol_id: String,
    reason: String,
    step_id: Option<String>,
    error: StepError,
    first_error: Option<StepError>,
    at: Moment,
    age_seconds: u64,
    settlement: Option<SettlementView>,
    #[serde(flatten)]
    more: Option<More>,
}

#[derive(Serialize)]
struct SettlementView {
    at: Moment,
    actor: String,
    replayed_as: Option<RunId>,
    reason: String,
}

/// What a list leaves out, because it is large or must be looked up.
#[derive(Serialize)]
struct More {
    /// the order itself, if it is one that never became a job
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// attempts that were made of what was given up
    #[serde(skip_serializing_if = "Option::is_none")]
    attempts: Option<u32>,
    /// where the data of the job lies; never the data
    #[serde(skip_serializing_if = "Option::is_none")]
    references: Option<Map<String, Value>>,
}

impl DeadLetterView {
    /// A line of a list.
    pub(super) fn brief(dead: DeadLetter, now: Timestamp) -> Self {
        let shown = |run| job_id::shown(dead.dialect, run);
        Self {
            id: dead.id,
            dialect: dead.dialect.map(|dialect| dialect.word()),
            job_id: dead.run.map(shown),
            tenant_id: dead.tenant,
            protocol_id: dead.workflow,
            reason: dead.letter.reason,
            step_id: dead.letter.step,
            error: dead.letter.error,
            first_error: dead.letter.first_error,
            at: Moment(dead.letter.at),
            age_seconds: now.since(dead.letter.at).as_millis() / 1_000,
            settlement: dead.settlement.map(|settlement| SettlementView {
                at: Moment(settlement.at),
                actor: settlement.actor,
                replayed_as: settlement.replayed_as.map(shown),
                reason: settlement.reason,
            }),
            more: None,
        }
    }

    /// With what it stands for; the run is missing once retention has deleted it.
    pub(super) fn whole(mut dead: DeadLetter, run: Option<&Run>, now: Timestamp) -> Self {
        let more = More {
            message: dead.message.take(),
            attempts: run.map(|run| attempts(run, dead.letter.step.as_deref())),
            references: run.map(references),
        };
        Self { more: Some(more), ..Self::brief(dead, now) }
    }
}

/// Attempts of the whole run where that is what is tried again, otherwise of the step that failed.
fn attempts(run: &Run, step: Option<&str>) -> u32 {
    let step = step.and_then(|step| run.step_named(step));
    let of_step = step.map_or(0, |step| run.steps[step.position()].attempt);
    if run.header.terms.as_ref().is_some_and(|terms| terms.run_retry.is_some()) {
        return run.attempt;
    }
    of_step.max(run.attempt)
}

/// Where the data of a run lies, in the words of its dialect.
fn references(run: &Run) -> Map<String, Value> {
    let mut references = Map::new();
    for name in ["input_ref", "workspace_ref", "output_ref"] {
        if let Some(Value::String(reference)) = run.header.special.get(&format!("_{name}")) {
            references.insert(name.to_owned(), reference.clone().into());
        }
    }
    if let Some(Value::Object(named)) = run.header.context.get("references") {
        references.extend(named.clone());
    }
    references
}
