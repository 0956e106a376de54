//! The six events that whoever keeps the time sends to whoever runs the batches.
//!
//! An event says that something may be due, never what is to be done: who the members are, and what
//! their steps are, is read from the store when it arrives.

use serde::Serialize;
use serde_json::Value;
use stepwell_core::id::{BatchId, MemberId, PhaseId};

use super::message::{self, MESSAGE_TYPE, Rejection, StepExecutionId, recase};
use crate::fields::{Field, Fields};
use crate::problem::Report;
use crate::rejection;

/// What the events are called, in the order of [`Event`].
pub const MESSAGE_TYPES: [&str; 6] =
    ["batch-init", "phase-due", "member-added", "member-removed", "poll-check", "retry-check"];

/// A message of the topic `orchestrator-events`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Event {
    /// a batch was found, and its runbook has steps that come before any phase
    BatchInit(BatchInit),
    /// a phase is due
    PhaseDue(PhaseDue),
    /// a member joined
    MemberAdded(MemberChange),
    /// a member left
    MemberRemoved(MemberChange),
    /// a step that was not finished may be asked again
    PollCheck(StepCheck),
    /// a step that failed may be tried again
    RetryCheck(StepCheck),
}

/// A batch whose init is due.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct BatchInit {
    /// the batch
    pub batch_id: BatchId,
    /// its runbook
    pub runbook_name: String,
    /// the version that the sender knows
    pub runbook_version: u32,
}

/// A phase that is due.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct PhaseDue {
    /// the batch
    pub batch_id: BatchId,
    /// its runbook
    pub runbook_name: String,
    /// the version that the sender knows
    pub runbook_version: u32,
    /// the phase, as in the runbook
    pub phase_name: String,
    /// the phase of this batch
    pub phase_execution_id: PhaseId,
}

/// A member that joined or left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct MemberChange {
    /// the batch
    pub batch_id: BatchId,
    /// who it is, in the words of the data source
    pub member_key: String,
    /// the member of this batch
    pub batch_member_id: MemberId,
}

/// A step that may have waited long enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct StepCheck {
    /// the step
    pub step_execution_id: StepExecutionId,
    /// whether it is done once for the batch, and not for a member
    pub is_init_step: bool,
}

impl Event {
    /// Which event it is: one of [`MESSAGE_TYPES`].
    #[must_use]
    pub fn message_type(&self) -> &'static str {
        match self {
            Self::BatchInit(_) => MESSAGE_TYPES[0],
            Self::PhaseDue(_) => MESSAGE_TYPES[1],
            Self::MemberAdded(_) => MESSAGE_TYPES[2],
            Self::MemberRemoved(_) => MESSAGE_TYPES[3],
            Self::PollCheck(_) => MESSAGE_TYPES[4],
            Self::RetryCheck(_) => MESSAGE_TYPES[5],
        }
    }

    /// The event as it travels.
    #[must_use]
    pub fn to_body(&self) -> String {
        message::body(self)
    }

    /// The application properties of the message.
    #[must_use]
    pub fn properties(&self) -> [(&'static str, &'static str); 1] {
        [(MESSAGE_TYPE, self.message_type())]
    }
}

/// Reads an event. `message_type` is the message's application property and decides which event it
/// is; only without one, the body's own `messageType` does.
///
/// Fields that nobody asks for pass: older senders say more, and it was out of date when it arrived.
///
/// # Errors
///
/// [`Rejection::UnknownMessageType`], or every field that is missing or wrong.
pub fn read(message_type: Option<&str>, body: &[u8]) -> Result<Event, Rejection> {
    let mut value = rejection::parse(body).map_err(|rejection| rejection.problems)?;
    let report = Report::new();
    recase(&mut value, "", &FIELDS, &report);
    let named = message_type.or_else(|| value.get(MESSAGE_TYPE).and_then(Value::as_str));
    let reader = named.and_then(reader_of).ok_or_else(|| Rejection::UnknownMessageType {
        message_type: named.map(|named| named.chars().take(TYPE_CHARS_MAX).collect()),
    })?;
    let event = Field::root(&value, &report).fields().and_then(|mut fields| {
        let event = reader(&mut fields);
        fields.ignore_unknown();
        event
    });
    Ok(report.finish(event)?)
}

/// Of an unknown type, no more than this is kept.
const TYPE_CHARS_MAX: usize = 128;

/// Every field that an event has.
const FIELDS: [&str; 10] = [
    MESSAGE_TYPE,
    "BatchId",
    "RunbookName",
    "RunbookVersion",
    "PhaseName",
    "PhaseExecutionId",
    "MemberKey",
    "BatchMemberId",
    "StepExecutionId",
    "IsInitStep",
];

type Reader = fn(&mut Fields<'_, Value>) -> Option<Event>;

/// In the order of [`MESSAGE_TYPES`].
const READERS: [Reader; 6] = [
    |fields| batch_init(fields).map(Event::BatchInit),
    |fields| phase_due(fields).map(Event::PhaseDue),
    |fields| member_change(fields).map(Event::MemberAdded),
    |fields| member_change(fields).map(Event::MemberRemoved),
    |fields| step_check(fields).map(Event::PollCheck),
    |fields| step_check(fields).map(Event::RetryCheck),
];

fn reader_of(message_type: &str) -> Option<Reader> {
    let place = MESSAGE_TYPES.iter().position(|known| *known == message_type)?;
    Some(READERS[place])
}

fn batch_init(fields: &mut Fields<'_, Value>) -> Option<BatchInit> {
    let batch_id = id(fields, "BatchId").map(BatchId);
    let (runbook_name, runbook_version) = (text(fields, "RunbookName"), version(fields));
    Some(BatchInit {
        batch_id: batch_id?,
        runbook_name: runbook_name?,
        runbook_version: runbook_version?,
    })
}

fn phase_due(fields: &mut Fields<'_, Value>) -> Option<PhaseDue> {
    let batch = batch_init(fields);
    let phase_name = text(fields, "PhaseName");
    let phase_execution_id = id(fields, "PhaseExecutionId").map(PhaseId);
    let BatchInit { batch_id, runbook_name, runbook_version } = batch?;
    Some(PhaseDue {
        batch_id,
        runbook_name,
        runbook_version,
        phase_name: phase_name?,
        phase_execution_id: phase_execution_id?,
    })
}

fn member_change(fields: &mut Fields<'_, Value>) -> Option<MemberChange> {
    let batch_id = id(fields, "BatchId").map(BatchId);
    let member_key = text(fields, "MemberKey");
    let batch_member_id = id(fields, "BatchMemberId").map(MemberId);
    Some(MemberChange {
        batch_id: batch_id?,
        member_key: member_key?,
        batch_member_id: batch_member_id?,
    })
}

/// The step that a message is about. Older senders do not say whether it is an init step, and then
/// it is none.
pub(super) fn step_check(fields: &mut Fields<'_, Value>) -> Option<StepCheck> {
    let step_execution_id = fields
        .required("StepExecutionId")
        .and_then(|field| field.integer(0..=StepExecutionId::MAX.get()))
        .and_then(|id| StepExecutionId::try_from(id).ok());
    let is_init_step = fields.optional_bool("IsInitStep").unwrap_or(false);
    Some(StepCheck { step_execution_id: step_execution_id?, is_init_step })
}

fn id(fields: &mut Fields<'_, Value>, key: &'static str) -> Option<i64> {
    fields.required(key)?.integer(1..=i64::MAX)
}

fn version(fields: &mut Fields<'_, Value>) -> Option<u32> {
    fields.required("RunbookVersion")?.integer(1..=u32::MAX)
}

fn text(fields: &mut Fields<'_, Value>, key: &'static str) -> Option<String> {
    fields.required_str(key).map(str::to_owned)
}
