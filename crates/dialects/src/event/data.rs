//! What an event says of a run, in the words of the run's dialect.

use serde_json::{Map, Value, json};
use stepwell_core::id::StepIndex;
use stepwell_core::run::{Dialect, Run, RunStatus};
use stepwell_core::step::StepError;
use stepwell_core::time::Timestamp;

use crate::amount::Amount;
use crate::workspaces::job_id::public_id;
use crate::workspaces::{redact, view};
use crate::{commands, platform, workspaces};

/// The data of an event, field by field.
pub(super) struct Data<'r> {
    run: &'r Run,
    fields: Map<String, Value>,
}

impl<'r> Data<'r> {
    /// What every event says of its run.
    pub(super) fn of(run: &'r Run, status: RunStatus) -> Self {
        let header = &*run.header;
        let owner = match header.dialect {
            Dialect::Workspaces => "workspace_id",
            Dialect::Runbooks | Dialect::Platform | Dialect::Commands => "tenant_id",
        };
        let mut data = Self { run, fields: Map::new() }
            .set("job_id", public_id(header).to_string())
            .set(owner, header.tenant.as_str())
            .set("workflow_id", header.workflow.name.as_str())
            .set("workflow_version", header.workflow.version)
            .set("status", word(header.dialect, status));
        if header.dialect == Dialect::Workspaces {
            data = data.set("trigger_type", view::trigger_type(header).word());
        }
        data
    }

    /// Which attempt it is about.
    pub(super) fn attempt(self, attempt: u32) -> Self {
        let attempts_max = attempts_max(self.run);
        self.set("attempt", attempt).set("max_attempts", attempts_max)
    }

    /// Which step is done, and how far the run has come.
    pub(super) fn step(self, step: StepIndex) -> Self {
        let run = self.run;
        self.set("step_id", run.spec(step).id.as_str())
            .set("step_index", step.0)
            .set("step_cursor", view::step_cursor(run))
            .set("steps_total", run.header.specs().len())
            .credits()
    }

    /// Why it failed, if it did.
    pub(super) fn error(self, error: Option<&StepError>) -> Self {
        let error = error.map(redact::error);
        let code = error.as_ref().map(|error| error.code.clone());
        self.set("error_code", code).set("error_message", error.map(|error| error.message))
    }

    /// When the next attempt begins.
    pub(super) fn next_attempt(self, at: Timestamp) -> Self {
        self.set("next_attempt_at", at.to_string())
    }

    /// How it ended, how long it took and what it cost.
    pub(super) fn end(self, status: RunStatus) -> Self {
        let run = self.run;
        let outcome = word(run.header.dialect, status);
        self.set("success", status == RunStatus::Succeeded)
            .set("outcome", outcome)
            .set("attempts", run.attempts_begun())
            .set("max_attempts", attempts_max(run))
            .set("steps_done", view::step_cursor(run))
            .set("steps_total", run.header.specs().len())
            .set("durations_ms", durations(run))
            .credits()
    }

    fn credits(self) -> Self {
        let Some(credits) = self.run.credits else { return self };
        let estimate = Amount(view::credits_estimate(&self.run.header)).to_json();
        let (reserved, spent) =
            (Amount(credits.reserved).to_json(), Amount(credits.spent).to_json());
        self.set("credits", json!({"estimate": estimate, "reserved": reserved, "spent": spent}))
    }

    fn set(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.fields.insert(key.to_owned(), value.into());
        self
    }

    /// As JSON.
    pub(super) fn into_json(self) -> Value {
        Value::Object(self.fields)
    }
}

/// Until a worker first had it, from then on, and in all.
fn durations(run: &Run) -> Value {
    let created_at = run.header.created_at;
    let ended_at = run.ended_at.unwrap_or(run.updated_at);
    let started_at = run.started_at.unwrap_or(ended_at);
    json!({
        "queued": started_at.since(created_at).as_millis(),
        "running": ended_at.since(started_at).as_millis(),
        "total": ended_at.since(created_at).as_millis(),
    })
}

fn attempts_max(run: &Run) -> u32 {
    let header = &*run.header;
    let granted = header.terms.as_ref().and_then(|terms| terms.run_retry.as_ref());
    granted.or(header.workflow.run_retry.as_ref()).map_or(1, |retry| retry.attempts_max)
}

fn word(dialect: Dialect, status: RunStatus) -> &'static str {
    match dialect {
        Dialect::Workspaces => workspaces::status::job(status),
        Dialect::Commands => commands::status::job(status),
        Dialect::Platform => platform::status::job(status),
        // A member's own words are about its way through a batch; its run has the kernel's.
        Dialect::Runbooks => status.word(),
    }
}
