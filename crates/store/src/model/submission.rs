//! Orders for runs that wait in a queue until an instance takes them (B-018, B-031).

use stepwell_core::id::Tenant;
use stepwell_core::run::Dialect;
use stepwell_core::time::Timestamp;

use super::GivenUp;

/// An order to be put in a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSubmission {
    /// of which queue
    pub queue: String,
    /// what makes it the same message; one of this id at a time (B-034)
    pub message_id: String,
    /// the workflow it asks for, as it says, for lists of dead letters
    pub workflow: String,
    /// 0..=10, 10 is most urgent. A minute of waiting counts as much as one step of it, so that
    /// nothing starves
    pub priority: u8,
    /// the message as its dialect wrote it
    pub body: String,
    /// when it was put there
    pub enqueued_at: Timestamp,
    /// from then on it is not taken any more, but given up
    pub expires_at: Timestamp,
}

impl NewSubmission {
    /// Where it stands in its queue: earlier goes first.
    #[must_use]
    pub fn place(&self) -> Timestamp {
        let ahead_ms = i64::from(self.priority) * 60_000;
        Timestamp::from_millis(self.enqueued_at.as_millis().saturating_sub(ahead_ms))
    }
}

/// An order in the hands of an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submission {
    /// its number
    pub id: i64,
    /// how often it was taken, this time included; settles only this delivery
    pub deliveries: u32,
    /// the order
    pub message: NewSubmission,
}

/// Orders that an instance has taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Received {
    /// in the order of their places, the expired among them
    pub messages: Vec<Submission>,
    /// when the next one may be taken: a lock or a rest ends
    pub next: Option<Timestamp>,
}

/// What becomes of an order that was taken: one settlement each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubmissionSettlement {
    /// which
    pub id: i64,
    /// of which delivery; a later one is not touched
    pub deliveries: u32,
    /// how it ends
    pub disposition: Disposition,
}

/// How the delivery of an order ends (B-016).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// the run is stored, or was before
    Complete,
    /// it is taken again, not before a moment
    Abandon {
        /// the moment
        until: Timestamp,
    },
    /// it can never become a run: kept with the reason, for a person
    DeadLetter {
        /// whose it is
        tenant: Tenant,
        /// by whose door it came
        dialect: Dialect,
        /// why, and what others are told
        given_up: Box<GivenUp>,
    },
}
