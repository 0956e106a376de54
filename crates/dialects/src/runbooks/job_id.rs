//! The id of a job: what is to be done, and which try of it this is.
//!
//! A bus swallows a message whose id it has seen within ten minutes, so every directive has an id of
//! its own: an attempt, and each question of a poll.
//!
//! | text | attempt | poll |
//! |---|---|---|
//! | `step-123-attempt-1` | 1 | 0 |
//! | `step-123-retry-2` | 3 | 0 |
//! | `init-123-attempt-1-poll-4` | 1 | 4 |
//! | `rollback-123-1`, `removal-505-1` | 1 | 0 |
//! | `rollback-123-1-retry-1-poll-2` | 2 | 2 |

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use stepwell_core::id::MemberId;

use super::message::StepExecutionId;
use crate::problem::quoted;

/// One directive of a batch, for the worker and for the bus.
///
/// Equal ids have equal texts: what does not read exactly as it is written is not an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId {
    /// what is to be done
    pub job: Job,
    /// which try, counted from 1
    pub attempt: u32,
    /// which question of a poll, counted from 1 within an attempt; 0: the attempt itself
    pub poll: u32,
}

/// What a job is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Job {
    /// a step of a phase, for one member
    Step(StepExecutionId),
    /// a step that is done once for the batch
    Init(StepExecutionId),
    /// a step of a rollback
    Rollback {
        /// the step that failed
        step: StepExecutionId,
        /// which step of the rollback, counted from 1
        number: u32,
    },
    /// a step for a member that left
    Removal {
        /// the member
        member: MemberId,
        /// which step of `on_member_removed`, counted from 1
        number: u32,
    },
}

impl Job {
    /// The id of the directive of this attempt, or of this question of its poll.
    #[must_use]
    pub fn directive(self, attempt: u32, poll: u32) -> JobId {
        JobId { job: self, attempt, poll }
    }

    /// The execution that the id itself names: of a rollback, the step that failed, because a rollback
    /// has no number but that of the run it undoes. A removal has one, which only the correlation data
    /// tell.
    #[must_use]
    pub fn execution(self) -> Option<StepExecutionId> {
        match self {
            Self::Step(id) | Self::Init(id) | Self::Rollback { step: id, .. } => Some(id),
            Self::Removal { .. } => None,
        }
    }
}

/// What must be current for a result to count: the attempt, and the question of its poll.
#[must_use]
pub fn fence_of(job_id: &JobId) -> (u32, u32) {
    (job_id.attempt, job_id.poll)
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let retries = self.attempt.saturating_sub(1);
        match self.job {
            Job::Step(id) => write!(f, "step-{id}")?,
            Job::Init(id) => write!(f, "init-{id}")?,
            Job::Rollback { step, number } => write!(f, "rollback-{step}-{number}")?,
            Job::Removal { member, number } => write!(f, "removal-{member}-{number}")?,
        }
        match (self.job, retries) {
            (Job::Step(_) | Job::Init(_), 0) => f.write_str("-attempt-1")?,
            (Job::Rollback { .. } | Job::Removal { .. }, 0) => {}
            (_, retries) => write!(f, "-retry-{retries}")?,
        }
        if self.poll > 0 { write!(f, "-poll-{}", self.poll) } else { Ok(()) }
    }
}

impl Serialize for JobId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A text that is no id of a job.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} is not a JobId; send back the one of the job unchanged", quoted(.0))]
pub struct JobIdError(String);

impl FromStr for JobId {
    type Err = JobIdError;

    fn from_str(text: &str) -> Result<Self, JobIdError> {
        // Numbers may be written in more than one way (`01`, `+1`); only one of them is ours.
        parse(text)
            .filter(|id| id.to_string() == text)
            .ok_or_else(|| JobIdError(text.chars().take(TEXT_CHARS_MAX + 1).collect()))
    }
}

/// No id is longer; of a text that is, an error keeps no more than shows it.
const TEXT_CHARS_MAX: usize = 128;

fn parse(text: &str) -> Option<JobId> {
    let mut parts = Parts { rest: text.split('-').peekable() };
    let job = match parts.rest.next()? {
        "step" => Job::Step(parts.execution()?),
        "init" => Job::Init(parts.execution()?),
        "rollback" => Job::Rollback { step: parts.execution()?, number: parts.count()? },
        "removal" => Job::Removal { member: MemberId(parts.number()?), number: parts.count()? },
        _ => return None,
    };
    let first = parts.after("attempt");
    let retries = parts.after("retry");
    let attempt = match (first, retries) {
        (Some(first), None) => first?,
        (None, Some(retries)) => retries?.checked_add(1)?,
        (None, None) => 1,
        (Some(_), Some(_)) => return None,
    };
    let poll = parts.after("poll").unwrap_or(Some(0))?;
    parts.rest.next().is_none().then_some(JobId { job, attempt, poll })
}

/// The parts of a text between its hyphens.
struct Parts<'t> {
    rest: std::iter::Peekable<std::str::Split<'t, char>>,
}

impl Parts<'_> {
    fn number<N: FromStr>(&mut self) -> Option<N> {
        self.rest.next()?.parse().ok()
    }

    fn count(&mut self) -> Option<u32> {
        self.number().filter(|count| *count > 0)
    }

    fn execution(&mut self) -> Option<StepExecutionId> {
        StepExecutionId::try_from(self.number::<i64>()?).ok()
    }

    /// The count that follows a word; the outer `None` if the word is not there.
    fn after(&mut self, word: &str) -> Option<Option<u32>> {
        self.rest.next_if_eq(&word)?;
        Some(self.count())
    }
}
