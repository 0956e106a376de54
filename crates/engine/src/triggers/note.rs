//! Writing down what became of a trigger and of its firings.

use stepwell_core::id::RunId;
use stepwell_core::time::Timestamp;
use stepwell_dialects::problem::Problems;
use stepwell_dialects::workspaces::trigger as document;
use stepwell_store::{Firing, FiringOutcome, Trigger, TriggerProgress};

use crate::error::EngineError;
use crate::shared::Shared;

/// A firing as it waits for its start.
pub(super) fn queued(
    trigger: &Trigger,
    key: String,
    scheduled_for: Option<Timestamp>,
    now: Timestamp,
) -> Firing {
    Firing {
        tenant: trigger.tenant.clone(),
        trigger: trigger.name.clone(),
        key,
        scheduled_for,
        at: now,
        run: None,
        outcome: FiringOutcome::Queued,
        reason: None,
    }
}

/// The same, once it has made a run.
pub(super) fn started(firing: Firing, run: RunId, now: Timestamp) -> Firing {
    Firing { at: now, run: Some(run), outcome: FiringOutcome::Started, reason: None, ..firing }
}

/// The same, with another outcome and why.
pub(super) fn ended(firing: Firing, outcome: FiringOutcome, reason: impl Into<String>) -> Firing {
    Firing { outcome, reason: Some(reason.into()), ..firing }
}

/// What is written of a trigger that stands where it stood.
pub(super) fn unmoved(trigger: &Trigger, firings: Vec<Firing>) -> TriggerProgress {
    TriggerProgress {
        tenant: trigger.tenant.clone(),
        name: trigger.name.clone(),
        version: trigger.version,
        next_at: trigger.next_at,
        fired_until: trigger.fired_until,
        last_error: trigger.last_error.clone(),
        firings,
    }
}

/// What the document of a stored trigger means.
pub(super) fn read(trigger: &Trigger) -> Result<document::Trigger, Problems> {
    document::of_json(&trigger.document)
}

/// Notes that a document which an earlier release has accepted cannot be used: a person must look.
pub(super) async fn unusable(
    shared: &Shared,
    trigger: &Trigger,
    why: &str,
) -> Result<(), EngineError> {
    let why = format!("the document cannot be used: {why}");
    tracing::error!(trigger = trigger.name, why, "trigger_unusable");
    let progress =
        TriggerProgress { next_at: None, last_error: Some(why), ..unmoved(trigger, Vec::new()) };
    shared.note_trigger(progress).await.map(|_| ())
}

impl Shared {
    /// Writes what became of a trigger; `false` if it has changed since it was read.
    pub(super) async fn note_trigger(
        &self,
        progress: TriggerProgress,
    ) -> Result<bool, EngineError> {
        let firings = progress.firings.clone();
        let written = self.store.progress_triggers(vec![progress]).await?;
        let written = written.first().copied().unwrap_or(false);
        if written {
            firings.iter().for_each(|firing| self.metrics.fired(firing));
        }
        Ok(written)
    }
}
