//! Triggers: what makes runs without being asked each time, and what they have made.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use stepwell_core::id::{RunId, Tenant};
use stepwell_core::time::Timestamp;
use stepwell_core::trigger::TriggerKind;

/// A trigger as it is stored. What its document means, the dialect knows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trigger {
    /// whose it is
    pub tenant: Tenant,
    /// unique for its tenant
    pub name: String,
    /// what makes it fire
    pub kind: TriggerKind,
    /// the workflow it starts
    pub workflow: String,
    /// all that was said of it
    pub document: Value,
    /// it fires at present
    pub enabled: bool,
    /// counted from 1, with every change of the document or of `enabled`
    pub version: u32,
    /// when it fires next, if that is known; the wait is this row
    pub next_at: Option<Timestamp>,
    /// firings before this moment were made, or passed over
    pub fired_until: Option<Timestamp>,
    /// why it did not fire when it should have
    pub last_error: Option<String>,
    /// by whom it was last changed
    pub actor: String,
    /// when it was made
    pub created_at: Timestamp,
    /// when it last changed
    pub updated_at: Timestamp,
}

/// Which triggers to list. Empty fields do not restrict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TriggerFilter {
    /// of this tenant only
    pub tenant: Option<Tenant>,
    /// with this name only
    pub name: Option<String>,
    /// of this kind only
    pub kind: Option<TriggerKind>,
    /// enabled ones only
    pub enabled_only: bool,
}

/// What became of one firing of a trigger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Firing {
    /// whose trigger
    pub tenant: Tenant,
    /// its name
    pub trigger: String,
    /// what makes this firing the same firing; unique for its trigger
    pub key: String,
    /// the moment it was meant for, for a schedule
    pub scheduled_for: Option<Timestamp>,
    /// when it fired
    pub at: Timestamp,
    /// the run it made
    pub run: Option<RunId>,
    /// what became of it
    pub outcome: FiringOutcome,
    /// why it made no run, or no run yet
    pub reason: Option<String>,
}

/// What became of a firing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FiringOutcome {
    /// it made a run
    Started,
    /// the run before it goes on; it waits for its end
    Queued,
    /// the run before it went on, or its time was long past
    Skipped,
    /// it made none: see the reason
    Failed,
}

impl FiringOutcome {
    /// Every outcome.
    pub const ALL: [Self; 4] = [Self::Started, Self::Queued, Self::Skipped, Self::Failed];

    /// The word stored and shown.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Queued => "queued",
            Self::Skipped => "skipped",
            Self::Failed => "failed",
        }
    }

    /// The outcome of a stored word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.word() == word)
    }
}

/// What is written when a trigger fired, or was looked at: all in one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriggerProgress {
    /// whose trigger
    pub tenant: Tenant,
    /// its name
    pub name: String,
    /// written only if the trigger is still at this version
    pub version: u32,
    /// when it fires next
    pub next_at: Option<Timestamp>,
    /// firings before this moment are done with
    pub fired_until: Option<Timestamp>,
    /// why it did not fire; `None` clears
    pub last_error: Option<String>,
    /// firings to note; one whose key is known replaces it, unless that has made a run
    pub firings: Vec<Firing>,
}
