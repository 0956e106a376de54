//! Names of things: runs, steps, leases, tenants.
//!
//! Nothing here makes an id. Fresh ids come in from outside with the command (see [`crate::decide::At`]),
//! because a decision that draws its own random numbers cannot be repeated.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// One run. Ids made later sort later, so that neighbours in time are neighbours on disk.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub Uuid);

/// The right to report on one attempt. Never reused, not even by another attempt of the same step.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LeaseId(pub Uuid);

/// The place of a step in its workflow, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StepIndex(pub u16);

/// Whom a run belongs to. Nothing of one tenant is ever shown to another.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tenant(pub Arc<str>);

/// One batch of members. A number, because people and workers name it by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BatchId(pub i64);

/// One member of a batch. Members that joined later have higher numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MemberId(pub i64);

/// One phase of one batch, under one version of its runbook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PhaseId(pub i64);

/// A run of a batch by number, for wires that have room for numbers only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunNumber(pub i64);

impl RunId {
    /// The id as a number that sorts as the id does: the order in which the bus hands out work.
    #[must_use]
    pub fn as_u128(self) -> u128 {
        self.0.as_u128()
    }
}

impl LeaseId {
    /// The lease under which whoever had this one goes on with another step, without a message.
    ///
    /// It follows from this one, so that any instance can tell a worker what it goes on with, also when
    /// the answer to its report was lost. Nobody else can guess it who could not guess this one.
    #[must_use]
    pub fn for_next(self, step: StepIndex, attempt: u32) -> Self {
        let (high, low) = self.0.as_u64_pair();
        let salt = u64::from(attempt) << 16 | u64::from(step.0);
        // The finalizer of SplitMix64: every bit of what goes in moves half of those that come out.
        let mut mixed = low ^ salt.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        // The two bits that make it a UUID stay what they are in one.
        Self(Uuid::from_u64_pair(high, mixed >> 2 | 1 << 63))
    }
}

impl StepIndex {
    /// The index as a position in a slice.
    #[must_use]
    pub fn position(self) -> usize {
        usize::from(self.0)
    }

    /// The step at a position of a slice.
    ///
    /// # Panics
    /// When a workflow has more than 65,535 steps, which no reader of definitions lets pass.
    #[must_use]
    pub fn at(position: usize) -> Self {
        Self(u16::try_from(position).expect("a workflow has at most 1,000 steps"))
    }
}

impl Tenant {
    /// The tenant of everything that names none.
    #[must_use]
    pub fn default_tenant() -> Self {
        Self::new("default")
    }

    /// A tenant by name.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self(Arc::from(name))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

macro_rules! shown_as_uuid {
    ($name:ident) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Uuid::try_parse(text).map(Self)
            }
        }
    };
}

macro_rules! shown_as_number {
    ($name:ident) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

shown_as_number!(BatchId);
shown_as_number!(MemberId);
shown_as_number!(PhaseId);
shown_as_number!(RunNumber);

shown_as_uuid!(RunId);
shown_as_uuid!(LeaseId);

impl fmt::Display for Tenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Tenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
