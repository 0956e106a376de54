//! What the steps of a batch's runs follow, as columns.
//!
//! Only for people who ask in SQL: a step's own row says what became of it, and nothing here is read
//! back for a decision.

use stepwell_core::definition::{StepSpec, Workflow};
use stepwell_core::retry::Delay;

/// One step of a workflow that a batch's runs follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SpecRow<'a> {
    pub(crate) position: u16,
    pub(crate) step: &'a str,
    pub(crate) gate: Option<&'a str>,
    /// its place among the steps behind the same gate
    pub(crate) gate_position: u16,
    pub(crate) kind: &'a str,
    pub(crate) pool: &'a str,
    pub(crate) on_failure: Option<&'a str>,
    pub(crate) poll_interval_s: Option<u64>,
    pub(crate) poll_timeout_s: Option<u64>,
    pub(crate) retries_max: u32,
    pub(crate) retry_interval_s: u64,
}

impl<'a> SpecRow<'a> {
    /// The steps of a workflow, in order.
    pub(crate) fn encode_all(workflow: &'a Workflow) -> Vec<Self> {
        let mut rows: Vec<Self> = Vec::with_capacity(workflow.steps.len());
        for (position, spec) in (0..).zip(&workflow.steps) {
            let follows = rows.last().filter(|before| before.gate == spec.gate.as_deref());
            let gate_position = follows.map_or(0, |before| before.gate_position + 1);
            rows.push(Self::encode(position, gate_position, spec));
        }
        rows
    }

    fn encode(position: u16, gate_position: u16, spec: &'a StepSpec) -> Self {
        Self {
            position,
            step: &spec.id,
            gate: spec.gate.as_deref(),
            gate_position,
            kind: &spec.kind,
            pool: &spec.pool,
            on_failure: spec.on_failure.as_deref(),
            poll_interval_s: spec.poll.map(|poll| poll.interval.as_secs()),
            poll_timeout_s: spec.poll.map(|poll| poll.timeout.as_secs()),
            retries_max: spec.retry.attempts_max.saturating_sub(1),
            retry_interval_s: match &spec.retry.delay {
                Delay::Fixed(interval) => interval.as_secs(),
                Delay::List(list) => list.first().map_or(0, |interval| interval.as_secs()),
                Delay::Exponential { first, .. } => first.as_secs(),
            },
        }
    }
}
