//! A message that is not used: why, for the dead letter and for the person who reads it.

use std::fmt;

use stepwell_core::step::StepError;
use stepwell_core::template::near;

use crate::problem::{Problem, Problems, quoted};
use crate::runbooks::event::MESSAGE_TYPES;

/// Every reason, with the word that stands for it where errors have codes.
pub const REASONS: [(&str, &str); 4] = [
    ("UnknownMessageType", "unknown_message_type"),
    ("MessageInvalid", "message_invalid"),
    ("UnknownJobId", "unknown_job_id"),
    ("DeliveryLimit", "delivery_limit"),
];

/// A message that is not used. No other message is affected by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rejection {
    /// nobody here knows such an event
    UnknownMessageType {
        /// what the message calls itself, if it does
        message_type: Option<String>,
    },
    /// it is not what it must be
    Invalid(Problems),
    /// a result of a job that was never sent from here
    UnknownJobId {
        /// what it names
        job_id: String,
    },
    /// it was handed out too often, and nothing came of it
    DeliveryLimit {
        /// how often
        deliveries: u32,
        /// what stood in the way the last time
        cause: String,
    },
}

impl Rejection {
    /// The reason of the dead letter: one of [`REASONS`].
    #[must_use]
    pub fn reason(&self) -> &'static str {
        REASONS[self.place()].0
    }

    /// The same as an error.
    #[must_use]
    pub fn error(&self) -> StepError {
        StepError::new(REASONS[self.place()].1, self.to_string())
    }

    /// Whether it is kept for somebody to look at. A result of an unknown job is only noted: workers
    /// of another installation may share the topic, and nobody has to do anything about it.
    #[must_use]
    pub fn is_dead_letter(&self) -> bool {
        match self {
            Self::UnknownMessageType { .. } | Self::Invalid(_) | Self::DeliveryLimit { .. } => true,
            Self::UnknownJobId { .. } => false,
        }
    }

    fn place(&self) -> usize {
        match self {
            Self::UnknownMessageType { .. } => 0,
            Self::Invalid(_) => 1,
            Self::UnknownJobId { .. } => 2,
            Self::DeliveryLimit { .. } => 3,
        }
    }
}

impl From<Problems> for Rejection {
    fn from(problems: Problems) -> Self {
        Self::Invalid(problems)
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownMessageType { message_type: Some(named) } => {
                write!(f, "there is no message type {}; ", quoted(named))?;
                match near(named, MESSAGE_TYPES) {
                    Some(near) => write!(f, "did you mean {}?", quoted(near)),
                    None => write!(f, "use one of {}", MESSAGE_TYPES.join(", ")),
                }
            }
            Self::UnknownMessageType { message_type: None } => {
                let types = MESSAGE_TYPES.join(", ");
                write!(f, "the message has no type; set the property MessageType to one of {types}")
            }
            // A message has few fields and nobody is told of unknown ones, so that the list is short.
            Self::Invalid(problems) => {
                let problems: Vec<String> = problems.iter().map(Problem::to_string).collect();
                f.write_str(&problems.join("; "))
            }
            Self::UnknownJobId { job_id } => {
                let job_id = quoted(job_id);
                write!(f, "{job_id} is no JobId of ours; send back the one of the job unchanged")
            }
            Self::DeliveryLimit { deliveries, cause } => {
                write!(f, "handed out {deliveries} times without success: {cause}")
            }
        }
    }
}

impl std::error::Error for Rejection {}
