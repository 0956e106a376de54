//! Everything that may be asked of a run, or may happen to it.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::credit::Credits;
use crate::definition::{CancelMode, Workflow};
use crate::id::{LeaseId, StepIndex};
use crate::step::{Outcome, StepError};

/// Asks a run for a decision.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// begin
    Start {
        /// what an earlier run has finished, and which doors stand open or are passed by
        carried: Vec<Carried>,
    },
    /// a phase is due, an operator advances, a person approves
    OpenGate {
        /// which
        gate: String,
    },
    /// what the run was given has changed at its source. What was dispatched keeps what it was sent
    /// with; whatever begins later sees the new values
    Refresh {
        /// all of the input; `None`: as it was
        input: Option<Map<String, Value>>,
        /// all of the special variables; `None`: as they were
        special: Option<Map<String, Value>>,
    },
    /// follow a longer workflow from here on: the steps so far, and others behind them
    Adopt {
        /// which
        workflow: Adopted,
        /// gates whose steps are passed over because newer ones replace them
        superseded: Vec<String>,
        /// gates among the new ones whose steps are passed over
        skipped: Vec<String>,
    },
    /// a worker took the attempt
    Ack {
        /// which step
        step: StepRef,
        /// which attempt
        fence: Fence,
    },
    /// a worker answered
    Report {
        /// which step
        step: StepRef,
        /// which attempt
        fence: Fence,
        /// what it said
        outcome: Outcome,
        /// credits that it spent on it
        #[serde(default)]
        spent: Credits,
    },
    /// a worker gives a sign of life: it needs more time for the attempt
    Extend {
        /// which step
        step: StepRef,
        /// which attempt
        fence: Fence,
    },
    /// an outside bus confirmed the publish
    Published {
        /// which step
        step: StepIndex,
        /// which attempt
        lease: LeaseId,
    },
    /// an outside bus refused the publish: the attempt never was (D-046, X-135)
    PublishFailed {
        /// which step
        step: StepIndex,
        /// which attempt
        lease: LeaseId,
        /// why
        error: StepError,
    },
    /// the bus gave the directive up: expired, or delivered too often
    Undelivered {
        /// which step
        step: StepIndex,
        /// which attempt
        lease: LeaseId,
        /// why
        error: StepError,
    },
    /// a moment may have come; whether it has, the state says
    Wake,
    /// stop
    Cancel {
        /// how; the workflow's own way if not said
        mode: Option<CancelMode>,
        /// who and why
        by: Act,
    },
    /// dispatch nothing new until resumed
    Pause {
        /// who and why
        by: Act,
    },
    /// go on
    Resume {
        /// who and why
        by: Act,
    },
    /// a person overrides a step
    Operate {
        /// which step
        step: StepRef,
        /// how
        operation: Operation,
        /// who and why
        by: Act,
    },
}

/// What a new run takes over: from an earlier one, or from the batch that it joins late.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Carried {
    /// a whole step
    Step {
        /// which
        step: StepIndex,
        /// what came of it
        result: Value,
    },
    /// some items of a step that was not finished
    Items {
        /// which step
        step: StepIndex,
        /// the list it is done for
        items: Arc<Value>,
        /// what came of each item; `None` where it must be done again
        results: Vec<Option<Arc<Value>>>,
    },
    /// variables that the results of an earlier run have set
    Outputs {
        /// by name
        outputs: Map<String, Value>,
    },
    /// a gate that is open from the start
    Open {
        /// which
        gate: String,
    },
    /// a gate whose steps are passed over
    Skip {
        /// which
        gate: String,
    },
}

/// A workflow that a run goes over to. Its first steps are those the run has.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub struct Adopted {
    /// together with `version`, which workflow
    pub name: String,
    /// higher than the one the run follows
    pub version: u32,
    /// the graph; not written, because the name and the version say which it is
    #[serde(skip)]
    pub definition: Option<Arc<Workflow>>,
}

impl PartialEq for Adopted {
    /// A version never changes, so the graph has nothing to add.
    fn eq(&self, other: &Self) -> bool {
        (&self.name, self.version) == (&other.name, other.version)
    }
}

impl Adopted {
    /// This workflow.
    #[must_use]
    pub fn of(definition: Arc<Workflow>) -> Self {
        let (name, version) = (definition.name.clone(), definition.version);
        Self { name, version, definition: Some(definition) }
    }

    /// The workflow that is known by name only.
    pub fn named(name: impl Into<String>, version: u32) -> Self {
        Self { name: name.into(), version, definition: None }
    }
}

/// Names a step, by place or by id.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepRef {
    /// by place
    Index(StepIndex),
    /// by id, as people and wires do: `resize`, and `resize[3]` for an item
    Id(String),
}

/// What makes an ack or an outcome count: it must name the attempt and the lease in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Fence {
    /// the attempt
    pub attempt: u32,
    /// its lease
    pub lease: LeaseId,
}

/// Who did something, and why.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Act {
    /// the caller
    pub actor: String,
    /// in their words; may be empty
    pub reason: String,
}

/// How a person overrides a step.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// a new attempt now, whatever the old one does; its count starts again
    Retry,
    /// pass it over; what comes after it goes on
    Skip,
    /// take it as done, with this result
    MarkSucceeded {
        /// as a worker would have returned it
        result: Value,
    },
}

impl Act {
    /// Who and why.
    pub fn new(actor: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { actor: actor.into(), reason: reason.into() }
    }
}
