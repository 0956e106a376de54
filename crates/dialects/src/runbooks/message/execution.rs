//! The number by which the wire knows one step of one run.

use std::fmt;

use serde::Serialize;
use stepwell_core::id::{RunNumber, StepIndex};

/// How many positions a run has room for.
const POSITIONS: i64 = 1 << 16;

/// One step of one run, as a single number: the number of its run × 65,536 + its position.
///
/// It never exceeds 2⁵³ − 1. Many workers keep every number of a message as a floating-point one, and
/// up to there they send back exactly what they were given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct StepExecutionId(i64);

impl StepExecutionId {
    /// The largest number that a run may have: room for 137 billion of them.
    pub const NUMBER_MAX: RunNumber = RunNumber((1 << 37) - 1);

    /// The largest that there is.
    pub const MAX: Self = Self(Self::NUMBER_MAX.0 * POSITIONS + (POSITIONS - 1));

    /// The id of a step of the run with this number.
    ///
    /// # Panics
    ///
    /// If the number is negative or above [`StepExecutionId::NUMBER_MAX`]: a store counts runs from 1.
    #[must_use]
    pub fn of(number: RunNumber, step: StepIndex) -> Self {
        assert!((0..=Self::NUMBER_MAX.0).contains(&number.0), "no run has the number {number}");
        Self(number.0 * POSITIONS + i64::from(step.0))
    }

    /// The number of the run, and the step in it.
    #[must_use]
    pub fn parts(self) -> (RunNumber, StepIndex) {
        let position = u16::try_from(self.0 % POSITIONS).expect("a remainder of 65,536 fits");
        (RunNumber(self.0 / POSITIONS), StepIndex(position))
    }

    /// The id as it travels.
    #[must_use]
    pub fn get(self) -> i64 {
        self.0
    }
}

/// A number that is no id of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not a StepExecutionId; send back the one of the job")]
pub struct StepExecutionIdError(i64);

impl TryFrom<i64> for StepExecutionId {
    type Error = StepExecutionIdError;

    fn try_from(id: i64) -> Result<Self, StepExecutionIdError> {
        if (0..=Self::MAX.0).contains(&id) { Ok(Self(id)) } else { Err(StepExecutionIdError(id)) }
    }
}

impl fmt::Display for StepExecutionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}
