//! The id of a job: a UUID of version 4 on this wire (C-003), one of version 7 in the kernel.
//!
//! The two differ in the digit that tells the version and in nothing else, so each leads to the other
//! without a table. The kernel's form keeps jobs in the order of their creation; this wire's form is
//! what clients, workers and analytics have always stored (C-017). Whoever reads an id takes either.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};
use stepwell_core::id::RunId;
use stepwell_core::run::{Dialect, Header};
use uuid::Uuid;

/// The four bits of a UUID that tell its version.
const VERSION_SHIFT: u32 = 76;

/// A job as this wire names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(RunId);

impl JobId {
    /// The id of the job that this run is.
    #[must_use]
    pub fn of(run: RunId) -> Self {
        Self(run)
    }

    /// The run that it names.
    #[must_use]
    pub fn run(self) -> RunId {
        self.0
    }

    /// The same id in the form of this wire, for messages that hold an id of any dialect.
    #[must_use]
    pub fn public(self) -> RunId {
        change_version(self.0, 7, 4)
    }
}

/// The run that an id of a wire names: of version 4 it is a job's, of version 7 the kernel's own.
#[must_use]
pub fn run_of(id: RunId) -> RunId {
    change_version(id, 4, 7)
}

/// The id of a run in the form of its own wire.
#[must_use]
pub fn public_id(header: &Header) -> RunId {
    match header.dialect {
        Dialect::Workspaces => JobId::of(header.id).public(),
        Dialect::Runbooks | Dialect::Platform | Dialect::Commands => header.id,
    }
}

fn change_version(id: RunId, from: u128, to: u128) -> RunId {
    let bits = id.as_u128();
    if (bits >> VERSION_SHIFT) & 0xf != from {
        return id;
    }
    RunId(Uuid::from_u128(bits & !(0xf << VERSION_SHIFT) | (to << VERSION_SHIFT)))
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.public().fmt(f)
    }
}

impl Serialize for JobId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl FromStr for JobId {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<Self, uuid::Error> {
        text.parse().map(|id| Self(run_of(id)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // C-003, C-017, X-156: UUIDv4 on the wire, the kernel's id behind it, and back from either form.
    #[test]
    fn a_job_is_named_by_a_uuid_of_version_4_that_leads_back_to_its_run() {
        let run: RunId = "019b8d3c-0000-7abc-8000-000000000001".parse().expect("an id");
        let job = JobId::of(run);
        assert_eq!(job.to_string(), "019b8d3c-0000-4abc-8000-000000000001");
        assert_eq!(job.public().0.get_version_num(), 4);
        for text in [job.to_string(), run.to_string()] {
            assert_eq!(text.parse::<JobId>().map(JobId::run), Ok(run), "{text}");
        }
        assert!("job-1".parse::<JobId>().is_err());
    }
}
