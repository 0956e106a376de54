//! What a run was granted beyond its workflow.

use serde::{Deserialize, Serialize};

use crate::credit::CreditTerms;
use crate::duration::Interval;
use crate::retry::RetryPolicy;

/// What a run was granted beyond its workflow. Never changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Terms {
    /// attempts of the whole run, in place of the workflow's
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_retry: Option<RetryPolicy>,
    /// one worker does all steps of an attempt
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keeping: Option<Keeping>,
    /// what it may cost
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credits: Option<CreditTerms>,
}

/// One worker does all steps of an attempt: one message starts the attempt, and whoever reports a step
/// done is given the next one with the answer, as long as it gives signs of life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keeping {
    /// from one sign of life to the next; after more silence the attempt has failed
    pub lease: Interval,
    /// how long the message that starts an attempt may wait for a worker
    pub unclaimed: Interval,
}
