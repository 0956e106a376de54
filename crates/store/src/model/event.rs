//! Events for others: a log that consumers follow, and the addresses that are told.

use serde::{Deserialize, Serialize};
use stepwell_core::id::{RunId, Tenant};
use stepwell_core::run::Dialect;
use stepwell_core::time::Timestamp;

use super::NewMessage;

/// Something others are told, to be stored with the decision that made it happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEvent {
    /// whose it is
    pub tenant: Tenant,
    /// in which dialect
    pub dialect: Dialect,
    /// about which run
    pub run: Option<RunId>,
    /// `workflow_run_completed`, …
    pub kind: String,
    /// a CloudEvent as JSON; its `id` makes a repetition recognizable
    pub body: String,
    /// when
    pub at: Timestamp,
}

/// What others are told of something, to be stored with it: exactly once, or not at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// for the log, in order
    pub events: Vec<NewEvent>,
    /// to whoever has subscribed
    pub messages: Vec<NewMessage>,
}

/// An event as it stands in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEvent {
    /// its place; whoever has seen it has seen all before it
    pub place: EventPlace,
    /// what happened
    pub event: NewEvent,
}

/// A place in the log. Events that become visible later have higher places, whatever instance wrote
/// them.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct EventPlace(pub i64);

/// Which events to read. Empty fields do not restrict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// of this tenant only
    pub tenant: Option<Tenant>,
    /// of these dialects only
    pub dialects: Vec<Dialect>,
    /// of these kinds only
    pub kinds: Vec<String>,
    /// about this run only
    pub run: Option<RunId>,
}

impl EventFilter {
    /// Whether an event is asked for.
    pub(crate) fn matches(&self, event: &NewEvent) -> bool {
        self.tenant.as_ref().is_none_or(|tenant| event.tenant == *tenant)
            && self.run.is_none_or(|run| event.run == Some(run))
            && self.takes(event.dialect, &event.kind)
    }

    /// Whether events of this dialect and kind are asked for.
    pub(crate) fn takes(&self, dialect: Dialect, kind: &str) -> bool {
        (self.dialects.is_empty() || self.dialects.contains(&dialect))
            && (self.kinds.is_empty() || self.kinds.iter().any(|wanted| wanted == kind))
    }
}

/// Events from a place on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Events {
    /// oldest first
    pub events: Vec<StoredEvent>,
    /// the place up to which all were looked at; where to go on from
    pub upto: EventPlace,
    /// the oldest place that is still kept; who was before it has missed some
    pub oldest: Option<EventPlace>,
}

/// An address that is told of events, over a webhook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subscription {
    /// its id
    pub id: String,
    /// of whose events; `None`: of everybody's
    pub tenant: Option<Tenant>,
    /// of which dialects; empty: all
    pub dialects: Vec<Dialect>,
    /// of which kinds; empty: all
    pub kinds: Vec<String>,
    /// where to
    pub url: String,
    /// for people
    pub description: String,
    /// it is told at present
    pub enabled: bool,
    /// by whom it was made
    pub actor: String,
    /// when
    pub created_at: Timestamp,
}
