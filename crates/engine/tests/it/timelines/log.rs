//! What the workers saw and said: the oracle's own memory, which asks nobody.

use std::collections::BTreeSet;

use serde_json::Value;
use stepwell_core::definition::Part;
use stepwell_core::id::{LeaseId, MemberId, RunId};
use stepwell_core::run::BatchRole;
use stepwell_engine::Taken;

/// A directive as a worker got it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Job {
    pub(crate) role: BatchRole,
    pub(crate) undoes: bool,
    pub(crate) member: Option<MemberId>,
    pub(crate) run: RunId,
    pub(crate) step: String,
    pub(crate) gate: Option<String>,
    pub(crate) lease: LeaseId,
    pub(crate) attempt: u32,
    pub(crate) poll: u32,
    /// whom it is for, and what it was given of the results before it
    pub(crate) user: String,
    pub(crate) seen: Option<String>,
}

impl Job {
    pub(crate) fn of(taken: &Taken) -> Self {
        let header = &taken.run.header;
        let membership = header.membership.expect("everything here belongs to a batch");
        let spec = taken.run.spec(taken.directive.step);
        let state = &taken.run.steps[taken.directive.step.position()];
        Self {
            role: membership.role,
            undoes: matches!(header.part, Part::Compensation(_)),
            member: membership.member,
            run: taken.run.id(),
            step: spec.id.clone(),
            gate: spec.gate.clone(),
            lease: taken.directive.lease,
            attempt: taken.directive.attempt,
            poll: state.poll.map_or(0, |poll| poll.count),
            user: text(header.input.get("user")).unwrap_or_default(),
            seen: text(state.params.as_deref().and_then(|params| params.get("seen"))),
        }
    }

    /// What the step returns, for those that follow it.
    pub(crate) fn result(&self) -> String {
        format!("{} did {}", self.user, self.step)
    }

    /// A member's way through its phases.
    pub(crate) fn is_way(&self) -> bool {
        self.role == BatchRole::Member && !self.undoes
    }
}

fn text(value: Option<&Value>) -> Option<String> {
    value.and_then(Value::as_str).map(str::to_owned)
}

/// A moment in which something happened to a job.
#[derive(Clone, Debug)]
pub(crate) struct Note {
    pub(crate) at_ms: i64,
    pub(crate) job: Job,
}

/// Everything that workers saw and said, in order.
#[derive(Debug, Default)]
pub(crate) struct Log {
    /// first deliveries
    pub(crate) taken: Vec<Note>,
    /// reports of success that counted
    pub(crate) done: Vec<Note>,
    known: BTreeSet<(LeaseId, u32)>,
}

impl Log {
    /// Notes a delivery; `false` if the same directive was delivered before.
    pub(crate) fn take(&mut self, at_ms: i64, job: &Job) -> bool {
        let is_new = self.known.insert((job.lease, job.poll));
        if is_new {
            self.taken.push(Note { at_ms, job: job.clone() });
        }
        is_new
    }

    pub(crate) fn succeed(&mut self, at_ms: i64, job: Job) {
        self.done.push(Note { at_ms, job });
    }
}
