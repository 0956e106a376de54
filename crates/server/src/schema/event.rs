//! Events and subscriptions, as they travel over HTTP.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

/// Which events to read.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct EventLogQuery {
    /// events after this one
    #[param(required = false)]
    after: Option<i64>,
    /// at most this many in a page; 100 if not given
    #[param(required = false, minimum = 1, maximum = 1000)]
    limit: Option<u32>,
    /// of this tenant; a token that is bound to a tenant sees no other
    #[param(required = false)]
    tenant: Option<String>,
    /// of these dialects, repeated or separated by commas
    #[param(required = false)]
    dialect: Option<String>,
    /// of these kinds, repeated or separated by commas
    #[param(required = false)]
    kind: Option<String>,
    /// about this job
    #[param(required = false)]
    job_id: Option<uuid::Uuid>,
}

/// A page of events.
#[derive(Serialize, ToSchema)]
pub(crate) struct EventPage {
    /// oldest first
    items: Vec<LoggedEvent>,
    /// the `after` of the next page, now or later
    next_after: i64,
    /// the oldest event that is still kept; null if none is
    oldest: Option<i64>,
}

/// An event with its place in the log.
#[derive(Serialize, ToSchema)]
pub(crate) struct LoggedEvent {
    /// its place: the `after` or `Last-Event-ID` of whoever goes on from here
    id: i64,
    /// a CloudEvent; docs/dialects/workspaces.md has the kinds
    #[schema(value_type = BTreeMap<String, Value>)]
    event: BTreeMap<String, Value>,
}

/// Whom to tell of which events.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SubscriptionRequest {
    /// where events are posted; the installation must allow it
    #[schema(min_length = 1, max_length = 2048, example = "https://hooks.example/stepwell")]
    url: String,
    /// of whose events; of everybody's, or of the token's tenant, if not given
    #[schema(min_length = 1, max_length = 128)]
    tenant: Option<String>,
    /// of which dialects; all if empty
    dialects: Option<Vec<String>>,
    /// of which kinds; all if empty
    kinds: Option<Vec<String>>,
    /// for people
    #[schema(max_length = 200)]
    description: Option<String>,
    /// true if not given
    enabled: Option<bool>,
}

/// An address that is told of events.
#[derive(Serialize, ToSchema)]
pub(crate) struct Subscription {
    /// its id
    id: String,
    /// of whose events; null: of everybody's
    tenant: Option<String>,
    /// of which dialects; empty: all
    dialects: Vec<String>,
    /// of which kinds; empty: all
    kinds: Vec<String>,
    /// where events are posted
    url: String,
    /// for people
    description: String,
    /// whether it is told at present
    enabled: bool,
    /// by whom it was made
    actor: String,
    /// when
    #[schema(format = DateTime)]
    created_at: String,
}

/// Subscriptions.
#[derive(Serialize, ToSchema)]
pub(crate) struct SubscriptionList {
    /// oldest first
    items: Vec<Subscription>,
}

/// The subscription in the path.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct SubscriptionPath {
    /// the id of the subscription
    id: String,
}

/// What came of a test event.
#[derive(Serialize, ToSchema)]
pub(crate) struct Tested {
    /// whether the address accepted it
    delivered: bool,
    /// what the address answered
    #[schema(required = false)]
    status: Option<u16>,
    /// why it was not delivered
    #[schema(required = false)]
    error: Option<String>,
}
