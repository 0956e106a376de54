//! What goes into a store and what comes out of it.

mod batch;
mod credit;
mod dead_letter;
mod event;
mod figures;
mod ownership;
mod stored;
mod submission;
mod trigger;
mod workspace;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use stepwell_core::batch::Tally;
use stepwell_core::credit::{CreditState, Credits, Movement};
use stepwell_core::definition::Part;
use stepwell_core::id::{LeaseId, RunId, StepIndex, Tenant};
use stepwell_core::run::{Dialect, Parent, Run, RunStatus};
use stepwell_core::step::StepError;
use stepwell_core::time::Timestamp;

pub use batch::*;
pub use credit::*;
pub use dead_letter::*;
pub use event::*;
pub use figures::*;
pub use ownership::*;
pub use stepwell_core::entry::Record;
pub use stored::{StoredHeader, StoredRun};
pub use submission::*;
pub use trigger::*;
pub use workspace::*;

/// The right to write, new with every start of an instance and never given twice.
///
/// In a store that belongs to one process at a time only the newest may write. In a shared store each
/// instance has its own, and writes the runs that are owned under it until it is declared dead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Epoch(pub u64);

/// Decisions that are committed together.
#[derive(Clone, Debug)]
pub struct Group {
    /// the right to write
    pub epoch: Epoch,
    /// one for each run, in order
    pub items: Vec<Item>,
    /// inputs of other instances that are struck off with the group
    pub answers: Vec<InputAnswer>,
    /// in a shared store the runs it creates belong to nobody, and the others are told: the instance
    /// takes work in and leaves it to them
    pub free: bool,
}

impl Group {
    /// Decisions without answers to inputs of other instances.
    #[must_use]
    pub fn of(epoch: Epoch, items: Vec<Item>) -> Self {
        Self { epoch, items, answers: Vec::new(), free: false }
    }
}

/// One thing to write.
#[derive(Clone, Debug)]
pub enum Item {
    /// a new run with its first decision
    Create(Box<Create>),
    /// a decision on a run
    Advance(Box<Advance>),
    /// a run was woken early: only its stored moment changes, if it is still at this version
    Reschedule {
        /// which
        run: RunId,
        /// as it was loaded
        version: u64,
        /// its true moment
        wake_at: Option<Timestamp>,
    },
    /// a report that changed nothing, kept for audit; at most [`STALE_REPORTS_MAX`] a run
    Audit(StaleReport),
    /// something for a run that another instance owns; stale if there is no such run
    Forward(Input),
    /// a decision on a batch, with the runs that begin with it
    Batch(Box<BatchWrite>),
}

/// How many stale reports are kept for one run. Further ones are only counted.
pub const STALE_REPORTS_MAX: usize = 100;

/// A new run with its first decision.
#[derive(Clone, Debug)]
pub struct Create {
    /// after the decision
    pub run: Arc<Run>,
    /// what was decided
    pub record: Record,
    /// the key that must be new
    pub key: Option<Key>,
    /// how many runs of the tenant may be open, this one included (D-050)
    pub tenant_cap: Option<u32>,
    /// runs that the decision created
    pub children: Vec<Create>,
    /// messages to the outside
    pub outbox: Vec<NewMessage>,
    /// why it was given up, if it already was
    pub dead_letter: Option<Box<GivenUp>>,
    /// when it may be deleted, if it has already ended
    pub expires_at: Option<Timestamp>,
    /// what it moves in the counters of its batch
    pub tally: Option<Tally>,
    /// what it moves in the account of its tenant, in order
    pub credits: Vec<Movement>,
    /// what others are told of it, in order
    pub events: Vec<NewEvent>,
}

/// A decision on a run.
#[derive(Clone, Debug)]
pub struct Advance {
    /// after the decision
    pub run: Arc<Run>,
    /// the version it was decided from; anything else in the store makes it stale
    pub from_version: u64,
    /// the steps that the decision touched
    pub changed: Vec<StepIndex>,
    /// what was decided; several decisions on one run in one group come as several records
    pub records: Vec<Record>,
    /// runs that the decision created
    pub children: Vec<Create>,
    /// messages to the outside
    pub outbox: Vec<NewMessage>,
    /// why it was given up
    pub dead_letter: Option<Box<GivenUp>>,
    /// when it may be deleted, if it has ended
    pub expires_at: Option<Timestamp>,
    /// what it moves in the counters of its batch
    pub tally: Option<Tally>,
    /// what it moves in the account of its tenant, in order
    pub credits: Vec<Movement>,
    /// what others are told of it, in order
    pub events: Vec<NewEvent>,
    /// its input, special variables or workflow are no longer those it was created with: write the
    /// header anew
    pub header_changed: bool,
}

/// What became of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// it is stored
    Done,
    /// the run moved since it was loaded, belongs to another instance, or does not exist: load again
    /// and decide again
    Stale,
    /// the key is taken; nothing was stored
    Duplicate(KeyHolder),
    /// the tenant has no room; nothing was stored
    TenantFull {
        /// open runs of the tenant
        open: u32,
    },
    /// the tenant's account does not cover what a new run sets aside; nothing was stored
    CreditsShort {
        /// what the account holds
        balance: Credits,
    },
}

/// SHA-256 of what makes a request the same request.
pub type KeyHash = [u8; 32];

/// An idempotency key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// of tenant and key
    pub hash: KeyHash,
    /// of the request, to tell a repetition from another request under the same key
    pub request_hash: KeyHash,
}

/// Who holds an idempotency key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyHolder {
    /// the run
    pub run: RunId,
    /// of the request that made it
    pub request_hash: KeyHash,
    /// when
    pub created_at: Timestamp,
}

/// Runs whose moment has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Due {
    /// at most as many as asked for
    pub runs: Vec<RunId>,
    /// the earliest stored moment that is still to come
    pub next: Option<Timestamp>,
}

/// The order in which queued steps are handed out: urgent first, then the oldest run first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct QueueKey {
    /// 10 minus the priority, so that smaller goes first
    pub rank: u8,
    /// older runs have smaller ids
    pub run: RunId,
    /// place in the run
    pub step: StepIndex,
}

/// A step that is with the embedded bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queued {
    /// its place in the order
    pub key: QueueKey,
    /// the lease in force
    pub lease: LeaseId,
    /// its attempt
    pub attempt: u32,
    /// questions asked so far, if it is polling; 0 for the directive that started the attempt
    pub poll: u32,
    /// its lane; 0 for a run without routing
    pub lane: u8,
}

/// A workflow to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewWorkflow {
    /// its name
    pub name: String,
    /// what the commands dialect addresses it by
    pub request_type: Option<String>,
    /// the text as it was published
    pub source: String,
    /// when
    pub created_at: Timestamp,
    /// by whom
    pub created_by: String,
}

impl NewWorkflow {
    /// The document as it is stored under a version.
    pub(crate) fn with_version(self, version: u32) -> WorkflowDocument {
        WorkflowDocument {
            name: self.name,
            version,
            request_type: self.request_type,
            source: self.source,
            created_at: self.created_at,
            created_by: self.created_by,
        }
    }
}

/// A stored workflow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkflowDocument {
    /// its name
    pub name: String,
    /// counted from 1
    pub version: u32,
    /// what the commands dialect addresses it by
    pub request_type: Option<String>,
    /// the text as it was published
    pub source: String,
    /// when
    pub created_at: Timestamp,
    /// by whom
    pub created_by: String,
}

/// Which runs to list. Empty fields do not restrict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// of this tenant only
    pub tenant: Option<Tenant>,
    /// of this dialect only
    pub dialect: Option<Dialect>,
    /// in one of these
    pub statuses: Vec<RunStatus>,
    /// of this workflow, any version
    pub workflow: Option<String>,
    /// with this correlation id
    pub correlation_id: Option<String>,
    /// created at or after
    pub created_from: Option<Timestamp>,
    /// created before
    pub created_until: Option<Timestamp>,
    /// compensations too, not only runs that were asked for
    pub with_compensations: bool,
}

/// Which part of a list, newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// older than this one
    pub before: Option<RunId>,
    /// at most this many
    pub limit: usize,
}

/// A run in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSummary {
    /// its id
    pub id: RunId,
    /// whom it belongs to
    pub tenant: Tenant,
    /// how it was asked for
    pub dialect: Dialect,
    /// name of its workflow
    pub workflow: String,
    /// version of its workflow
    pub workflow_version: u32,
    /// which sequence it follows
    pub part: Part,
    /// what it undoes
    pub parent: Option<Parent>,
    /// decisions so far
    pub version: u64,
    /// where it stands
    pub status: RunStatus,
    /// nothing new is dispatched
    pub paused: bool,
    /// attempts of the whole run
    pub attempt: u32,
    /// the id of the step people would call current
    pub current_step: Option<String>,
    /// ties it to what its requester knows
    pub correlation_id: Option<String>,
    /// why it failed
    pub error: Option<StepError>,
    /// what it has set aside and spent, if it costs something
    pub credits: Option<CreditState>,
    /// when it was asked for
    pub created_at: Timestamp,
    /// when it last changed
    pub updated_at: Timestamp,
    /// first recorded attempt
    pub started_at: Option<Timestamp>,
    /// when it ended
    pub ended_at: Option<Timestamp>,
}

impl RunSummary {
    /// A run as it stands in a list.
    #[must_use]
    pub fn of(run: &Run) -> Self {
        let header = &run.header;
        Self {
            id: header.id,
            tenant: header.tenant.clone(),
            dialect: header.dialect,
            workflow: header.workflow.name.clone(),
            workflow_version: header.workflow.version,
            part: header.part.clone(),
            parent: header.parent.clone(),
            version: run.version,
            status: run.status,
            paused: run.paused,
            attempt: run.attempt,
            current_step: run.current_step().map(|step| run.spec(step).id.clone()),
            correlation_id: header.correlation_id.clone(),
            error: run.error.as_deref().cloned(),
            credits: run.credits,
            created_at: header.created_at,
            updated_at: run.updated_at,
            started_at: run.started_at,
            ended_at: run.ended_at,
        }
    }
}

/// A report that came too late or from the wrong attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StaleReport {
    /// about which run
    pub run: RunId,
    /// about which step, as the caller named it
    pub step: String,
    /// `ack` or `result`
    pub kind: String,
    /// the attempt it named
    pub attempt: u32,
    /// the lease it named
    pub lease: LeaseId,
    /// the code of the refusal
    pub reason: String,
    /// when it came
    pub at: Timestamp,
}

/// A message to the outside, to be stored with what wants it sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMessage {
    /// `webhook`; later the names of outside buses
    pub kind: String,
    /// an address in the kind's own terms
    pub destination: String,
    /// the bytes that were promised
    pub body: String,
    /// not before
    pub due_at: Timestamp,
}

/// A message to the outside that was not accepted yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutboxMessage {
    /// its number; also what makes a repeated delivery recognizable
    pub id: i64,
    /// the run that wants it sent; `None`: it is about something that belongs to no run
    pub run: Option<RunId>,
    /// whose it is
    pub tenant: Tenant,
    /// of which dialect
    pub dialect: Dialect,
    /// failed tries so far
    pub tries: u32,
    /// the message
    pub message: NewMessage,
}

/// Messages to the outside that are to be sent now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outgoing {
    /// oldest first
    pub due: Vec<OutboxMessage>,
    /// when the next one may be sent
    pub next: Option<Timestamp>,
}

/// What became of a message to the outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutboxSettlement {
    /// it was accepted
    Sent {
        /// which
        id: i64,
    },
    /// it is tried again
    PutOff {
        /// which
        id: i64,
        /// not before
        due_at: Timestamp,
    },
    /// it is given up
    GivenUp {
        /// which
        id: i64,
        /// why, and what others are told
        given_up: Box<GivenUp>,
    },
}

/// A token as it is kept: never the secret itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenRecord {
    /// public part
    pub id: String,
    /// SHA-256 of the secret part
    pub secret_hash: [u8; 32],
    /// for people
    pub name: String,
    /// `admin`, `operator`, `viewer`, `worker`, `client`
    pub role: String,
    /// whose things it may see; `None`: everybody's
    pub tenant: Option<Tenant>,
    /// when it was made
    pub created_at: Timestamp,
    /// when it stops working
    pub expires_at: Option<Timestamp>,
    /// when it was revoked
    pub revoked_at: Option<Timestamp>,
}

/// What is left of a run after retention has deleted it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stub {
    /// which
    pub run: RunId,
    /// whose
    pub tenant: Tenant,
    /// of which workflow
    pub workflow: String,
    /// how it ended
    pub status: RunStatus,
    /// when it ended
    pub ended_at: Timestamp,
    /// when it was deleted
    pub deleted_at: Timestamp,
}
