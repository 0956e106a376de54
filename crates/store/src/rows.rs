//! A run as columns, and back: what every SQL store binds and reads.
//!
//! Encoding happens in the task that asks for the commit, so that the one thread that owns the
//! write connection only binds and steps. Free-form values become JSON text here; everything that a
//! query looks at stays a column. A step to which nothing has happened yet has no row at all.

mod batch;
mod batch_write;
mod credit;
mod group;
mod items;
mod spec;
mod tallies;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use stepwell_core::credit::CreditState;
use stepwell_core::definition::{CancelMode, Part};
use stepwell_core::id::{RunId, StepIndex, Tenant};
use stepwell_core::run::{Dialect, Membership, Parent, Routing, Run, RunStatus};
use stepwell_core::step::{Lease, LeaseStage, PollState, SkipReason, Step, StepError, StepStatus};
use stepwell_core::time::Timestamp;

use crate::error::StoreError;
use crate::model::{Record, StoredHeader, StoredRun};

use items::ItemsPlace;

pub(crate) use batch::{
    BatchRecordRow, BatchRow, PhaseRow, overdue_of_word, overdue_word, role_of_word,
};
pub(crate) use batch_write::{BatchWriteRows, MemberRow};
pub(crate) use credit::{CreditRows, credit_state};
pub(crate) use group::{AdvanceRows, CreateRows, GroupRows, ItemRows, NewHeader};
pub(crate) use spec::SpecRow;
pub(crate) use tallies::Tallies;

/// What is true of a run from its first moment on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct HeaderRow {
    pub(crate) id: RunId,
    pub(crate) tenant: Tenant,
    pub(crate) dialect: Dialect,
    pub(crate) workflow: String,
    pub(crate) workflow_version: u32,
    /// `None`: the workflow's own steps
    pub(crate) compensation: Option<String>,
    pub(crate) parent: Option<Parent>,
    pub(crate) resumes: Option<RunId>,
    pub(crate) input: Option<String>,
    pub(crate) special: Option<String>,
    pub(crate) context: Option<String>,
    pub(crate) routing: Option<Routing>,
    pub(crate) priority: u8,
    pub(crate) correlation_id: Option<String>,
    pub(crate) traceparent: Option<String>,
    pub(crate) actor: String,
    pub(crate) created_at: Timestamp,
    pub(crate) step_count: u16,
    pub(crate) membership: Option<Membership>,
    pub(crate) terms: Option<String>,
}

/// What every decision may change about a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StateRow {
    pub(crate) version: u64,
    pub(crate) status: RunStatus,
    pub(crate) attempt: u32,
    pub(crate) paused: bool,
    pub(crate) cancel: Option<CancelMode>,
    pub(crate) gates_open: Option<String>,
    pub(crate) outputs: Option<String>,
    /// by its id, because lists are shown without the workflow at hand
    pub(crate) current_step: Option<String>,
    pub(crate) error: Option<Arc<StepError>>,
    pub(crate) retry_at: Option<Timestamp>,
    pub(crate) credits: Option<CreditState>,
    /// the run's true moment; what is stored may be earlier
    pub(crate) wake_at: Option<Timestamp>,
    pub(crate) updated_at: Timestamp,
    pub(crate) started_at: Option<Timestamp>,
    pub(crate) ended_at: Option<Timestamp>,
}

/// One step to which something has happened.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StepRow {
    pub(crate) position: u16,
    pub(crate) status: StepStatus,
    pub(crate) attempt: u32,
    pub(crate) tries: u32,
    pub(crate) lease: Option<Lease>,
    /// set while the attempt is with the embedded bus
    pub(crate) queued: Option<QueueRow>,
    pub(crate) kind: Option<Arc<str>>,
    pub(crate) params: Option<String>,
    pub(crate) result: Option<String>,
    pub(crate) detail: Option<String>,
    pub(crate) error: Option<Arc<StepError>>,
    pub(crate) wake_at: Option<Timestamp>,
    pub(crate) dispatched_at: Option<Timestamp>,
    pub(crate) ended_at: Option<Timestamp>,
}

/// Where a step stands in the queue of the embedded bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QueueRow {
    pub(crate) pool: String,
    pub(crate) rank: u8,
    pub(crate) lane: u8,
    /// questions asked so far
    pub(crate) poll_count: u32,
}

/// One decision of the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecordRow {
    pub(crate) version: u64,
    pub(crate) at: Timestamp,
    pub(crate) entries: String,
}

/// What few steps have, kept out of the columns.
#[derive(Default, Serialize, Deserialize)]
struct StepDetail {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    poll: Option<PollState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deadline: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    not_before: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    skip: Option<SkipReason>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    compensation: Option<RunId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    items: Option<ItemsPlace>,
}

impl HeaderRow {
    pub(crate) fn encode(run: &Run) -> Self {
        let header = &run.header;
        Self {
            id: header.id,
            tenant: header.tenant.clone(),
            dialect: header.dialect,
            workflow: header.workflow.name.clone(),
            workflow_version: header.workflow.version,
            compensation: match &header.part {
                Part::Main => None,
                Part::Compensation(name) => Some(name.clone()),
            },
            parent: header.parent.clone(),
            resumes: header.resumes,
            input: map_text(&header.input),
            special: map_text(&header.special),
            context: map_text(&header.context),
            routing: header.routing.clone(),
            priority: header.priority,
            correlation_id: header.correlation_id.clone(),
            traceparent: header.traceparent.clone(),
            actor: header.actor.clone(),
            created_at: header.created_at,
            // Items are not counted here: their step's own row says how many it has.
            step_count: u16::try_from(header.specs().len())
                .expect("a workflow has at most 1,000 steps"),
            membership: header.membership,
            terms: header.terms.as_deref().map(text),
        }
    }

    fn decode(self) -> Result<StoredHeader, StoreError> {
        Ok(StoredHeader {
            id: self.id,
            tenant: self.tenant,
            dialect: self.dialect,
            part: self.compensation.map_or(Part::Main, Part::Compensation),
            parent: self.parent,
            resumes: self.resumes,
            input: map_value("run_header.input", self.input.as_deref())?,
            special: map_value("run_header.special", self.special.as_deref())?,
            context: map_value("run_header.context", self.context.as_deref())?,
            routing: self.routing,
            priority: self.priority,
            correlation_id: self.correlation_id,
            traceparent: self.traceparent,
            actor: self.actor,
            created_at: self.created_at,
            membership: self.membership,
            terms: self.terms.map(|terms| value("run_header.terms", &terms)).transpose()?,
        })
    }
}

impl StateRow {
    pub(crate) fn encode(run: &Run) -> Self {
        Self {
            version: run.version,
            status: run.status,
            attempt: run.attempt,
            paused: run.paused,
            cancel: run.cancel,
            gates_open: (!run.gates_open.is_empty()).then(|| text(&run.gates_open)),
            outputs: map_text(&run.outputs),
            current_step: run.current_step().map(|step| run.spec(step).id.clone()),
            error: run.error.clone(),
            retry_at: run.retry_at,
            credits: run.credits,
            wake_at: run.wake_at(),
            updated_at: run.updated_at,
            started_at: run.started_at,
            ended_at: run.ended_at,
        }
    }
}

impl StepRow {
    /// The rows of the steps to which something has happened.
    pub(crate) fn encode_all(run: &Run) -> Vec<Self> {
        let pristine = Step::new();
        run.indexed()
            .filter(|(_, step)| **step != pristine)
            .map(|(index, _)| Self::encode(run, index))
            .collect()
    }

    pub(crate) fn encode(run: &Run, index: StepIndex) -> Self {
        let step = &run.steps[index.position()];
        let detail = StepDetail {
            poll: step.poll,
            deadline: step.lease.and_then(|lease| lease.deadline),
            not_before: step.not_before,
            skip: step.skip,
            compensation: step.compensation,
            items: ItemsPlace::of(run, index),
        };
        Self {
            position: index.0,
            status: step.status,
            attempt: step.attempt,
            tries: step.tries,
            lease: step.lease,
            queued: QueueRow::encode(run, index),
            kind: step.kind.clone(),
            params: step.params.as_deref().map(text),
            result: step.result.as_deref().map(text),
            detail: (!detail.is_empty()).then(|| text(&detail)),
            error: step.error.clone(),
            wake_at: step.wake_at,
            dispatched_at: step.dispatched_at,
            ended_at: step.ended_at,
        }
    }

    /// The step, and where its items stand if it has any.
    fn decode(self) -> Result<(Step, Option<ItemsPlace>), StoreError> {
        let detail = match &self.detail {
            Some(json) => value("step.detail", json)?,
            None => StepDetail::default(),
        };
        let step = Step {
            status: self.status,
            attempt: self.attempt,
            tries: self.tries,
            lease: self.lease.map(|lease| Lease { deadline: detail.deadline, ..lease }),
            params: shared_value("step.params", self.params.as_deref())?,
            kind: self.kind,
            poll: detail.poll,
            wake_at: self.wake_at,
            not_before: detail.not_before,
            result: shared_value("step.result", self.result.as_deref())?,
            error: self.error,
            skip: detail.skip,
            compensation: detail.compensation,
            dispatched_at: self.dispatched_at,
            ended_at: self.ended_at,
        };
        Ok((step, detail.items))
    }
}

impl QueueRow {
    /// An attempt is with the embedded bus from its record until a worker acknowledges it: from then
    /// on the bus may forget it. An attempt that an outside bus has confirmed is not with ours.
    pub(crate) fn encode(run: &Run, index: StepIndex) -> Option<Self> {
        let step = &run.steps[index.position()];
        match step.lease?.stage {
            LeaseStage::Recorded => Some(Self {
                pool: run.spec(index).pool.clone(),
                rank: 10_u8.saturating_sub(run.header.priority),
                lane: run.header.routing.as_ref().map_or(0, |routing| routing.lane.number()),
                poll_count: step.poll.map_or(0, |poll| poll.count),
            }),
            LeaseStage::Published | LeaseStage::Acked => None,
        }
    }
}

impl RecordRow {
    pub(crate) fn encode(record: &Record) -> Self {
        Self { version: record.version, at: record.at, entries: text(&record.entries) }
    }

    pub(crate) fn decode(self) -> Result<Record, StoreError> {
        let entries = value("history.entries", &self.entries)?;
        Ok(Record { version: self.version, at: self.at, entries })
    }
}

impl StepDetail {
    fn is_empty(&self) -> bool {
        let Self { poll, deadline, not_before, skip, compensation, items } = self;
        let has_moment = deadline.or(*not_before).is_some();
        let has_end = skip.is_some() || compensation.is_some();
        !has_moment && !has_end && poll.is_none() && items.is_none()
    }
}

/// Puts a run together again. Positions without a row are steps to which nothing has happened yet.
pub(crate) fn decode(
    header: HeaderRow,
    state: StateRow,
    rows: Vec<StepRow>,
) -> Result<StoredRun, StoreError> {
    let (steps, expansions) = items::place(&header, rows)?;
    let gates_open: BTreeSet<String> = match &state.gates_open {
        Some(json) => value("run.gates_open", json)?,
        None => BTreeSet::new(),
    };
    Ok(StoredRun {
        owner: None,
        workflow: header.workflow.clone(),
        workflow_version: header.workflow_version,
        header: header.decode()?,
        version: state.version,
        status: state.status,
        attempt: state.attempt,
        paused: state.paused,
        cancel: state.cancel,
        gates_open,
        steps,
        expansions,
        outputs: map_value("run.outputs", state.outputs.as_deref())?,
        retry_at: state.retry_at,
        credits: state.credits,
        error: state.error.map(Arc::unwrap_or_clone),
        updated_at: state.updated_at,
        started_at: state.started_at,
        ended_at: state.ended_at,
    })
}

/// Which moment to store when `stored` is there: an earlier one is left alone, because moving it
/// would cost an index update a step; a wake that comes too early costs one load, rarely.
pub(crate) fn moment_to_store(
    stored: Option<Timestamp>,
    wake_at: Option<Timestamp>,
    ended: bool,
) -> Option<Timestamp> {
    if ended {
        return None;
    }
    match (stored, wake_at) {
        (Some(stored), Some(wake_at)) => Some(stored.min(wake_at)),
        (stored, wake_at) => stored.or(wake_at),
    }
}

/// The word stored for how a run is being stopped.
pub(crate) fn cancel_word(mode: CancelMode) -> &'static str {
    match mode {
        CancelMode::Immediate => "immediate",
        CancelMode::Drain => "drain",
    }
}

/// How a run is being stopped, from its stored word.
pub(crate) fn cancel_of_word(word: &str) -> Option<CancelMode> {
    [CancelMode::Immediate, CancelMode::Drain].into_iter().find(|mode| cancel_word(*mode) == word)
}

/// The word stored for how far an attempt has come.
pub(crate) fn stage_word(stage: LeaseStage) -> &'static str {
    match stage {
        LeaseStage::Recorded => "recorded",
        LeaseStage::Published => "published",
        LeaseStage::Acked => "acked",
    }
}

/// How far an attempt has come, from its stored word.
pub(crate) fn stage_of_word(word: &str) -> Option<LeaseStage> {
    [LeaseStage::Recorded, LeaseStage::Published, LeaseStage::Acked]
        .into_iter()
        .find(|stage| stage_word(*stage) == word)
}

/// A value as JSON text.
pub(crate) fn text<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).expect("our own types have string keys and finite numbers")
}

/// A value from JSON text that we wrote ourselves.
pub(crate) fn value<T: DeserializeOwned>(place: &str, json: &str) -> Result<T, StoreError> {
    serde_json::from_str(json)
        .map_err(|cause| StoreError::broken_by(format!("{place} is not what we wrote"), cause))
}

fn map_text(map: &Map<String, Value>) -> Option<String> {
    (!map.is_empty()).then(|| text(map))
}

fn map_value(place: &str, json: Option<&str>) -> Result<Map<String, Value>, StoreError> {
    json.map_or_else(|| Ok(Map::new()), |json| value(place, json))
}

fn shared_value(place: &str, json: Option<&str>) -> Result<Option<Arc<Value>>, StoreError> {
    json.map(|json| value(place, json).map(Arc::new)).transpose()
}
