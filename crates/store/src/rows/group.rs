//! A group of decisions as rows, ready to be bound.

use std::sync::Arc;

use stepwell_core::batch::Tally;
use stepwell_core::definition::Workflow;
use stepwell_core::id::RunId;
use stepwell_core::run::Run;
use stepwell_core::time::Timestamp;

use super::{BatchWriteRows, CreditRows, HeaderRow, RecordRow, StateRow, StepRow};
use crate::model::{
    Advance, Create, Epoch, GivenUp, Group, Input, InputAnswer, Item, Key, NewEvent, NewMessage,
    StaleReport,
};

/// A group of decisions as rows.
#[derive(Debug)]
pub(crate) struct GroupRows {
    pub(crate) epoch: Epoch,
    pub(crate) items: Vec<ItemRows>,
    #[allow(dead_code, reason = "only a shared store has inputs")]
    pub(crate) answers: Vec<InputAnswer>,
    #[allow(dead_code, reason = "only a shared store has owners")]
    pub(crate) free: bool,
}

/// One item of a group as rows.
#[derive(Debug)]
pub(crate) enum ItemRows {
    Create(Box<CreateRows>),
    Advance(Box<AdvanceRows>),
    Reschedule {
        run: RunId,
        version: u64,
        wake_at: Option<Timestamp>,
    },
    Audit(StaleReport),
    #[allow(dead_code, reason = "only a shared store has inputs")]
    Forward(Input),
    Batch(Box<BatchWriteRows>),
}

/// A new run as rows.
#[derive(Debug)]
pub(crate) struct CreateRows {
    pub(crate) header: HeaderRow,
    pub(crate) state: StateRow,
    pub(crate) steps: Vec<StepRow>,
    pub(crate) record: RecordRow,
    pub(crate) key: Option<Key>,
    pub(crate) tenant_cap: Option<u32>,
    pub(crate) children: Vec<CreateRows>,
    pub(crate) outbox: Vec<NewMessage>,
    pub(crate) dead_letter: Option<Box<GivenUp>>,
    pub(crate) expires_at: Option<Timestamp>,
    pub(crate) tally: Option<Tally>,
    pub(crate) credits: Option<Box<CreditRows>>,
    pub(crate) events: Vec<NewEvent>,
    /// what its steps follow, if it is one of a batch's numbered runs: people ask for those in SQL
    pub(crate) workflow: Option<Arc<Workflow>>,
}

/// A decision on a run as rows.
#[derive(Debug)]
pub(crate) struct AdvanceRows {
    pub(crate) run: RunId,
    pub(crate) from_version: u64,
    pub(crate) state: StateRow,
    pub(crate) steps: Vec<StepRow>,
    pub(crate) records: Vec<RecordRow>,
    pub(crate) children: Vec<CreateRows>,
    pub(crate) outbox: Vec<NewMessage>,
    pub(crate) dead_letter: Option<Box<GivenUp>>,
    pub(crate) expires_at: Option<Timestamp>,
    pub(crate) tally: Option<Tally>,
    pub(crate) credits: Option<Box<CreditRows>>,
    pub(crate) events: Vec<NewEvent>,
    /// only if it is no longer the one that the run was created with
    pub(crate) header: Option<Box<NewHeader>>,
}

/// A header that is written anew.
#[derive(Debug)]
pub(crate) struct NewHeader {
    pub(crate) header: HeaderRow,
    /// what its steps follow from here on
    pub(crate) workflow: Arc<Workflow>,
    /// how many it has, items included; rows of steps behind these are gone
    pub(crate) steps: u16,
}

impl GroupRows {
    pub(crate) fn encode(group: Group) -> Self {
        let items = group.items.into_iter().map(ItemRows::encode).collect();
        Self { epoch: group.epoch, items, answers: group.answers, free: group.free }
    }
}

impl ItemRows {
    fn encode(item: Item) -> Self {
        match item {
            Item::Create(create) => Self::Create(Box::new(CreateRows::encode(*create))),
            Item::Advance(advance) => Self::Advance(Box::new(AdvanceRows::encode(*advance))),
            Item::Reschedule { run, version, wake_at } => {
                Self::Reschedule { run, version, wake_at }
            }
            Item::Audit(report) => Self::Audit(report),
            Item::Forward(input) => Self::Forward(input),
            Item::Batch(write) => Self::Batch(Box::new(BatchWriteRows::encode(*write))),
        }
    }
}

impl CreateRows {
    pub(crate) fn encode(create: Create) -> Self {
        let run = &create.run;
        Self {
            header: HeaderRow::encode(run),
            state: StateRow::encode(run),
            steps: StepRow::encode_all(run),
            record: RecordRow::encode(&create.record),
            key: create.key,
            tenant_cap: create.tenant_cap,
            children: create.children.into_iter().map(Self::encode).collect(),
            outbox: create.outbox,
            dead_letter: create.dead_letter,
            expires_at: create.expires_at,
            tally: create.tally,
            credits: CreditRows::encode(run, create.credits),
            events: create.events,
            workflow: is_numbered(run).then(|| Arc::clone(&run.header.workflow)),
        }
    }

    /// It has a number of its own in its batch. What undoes a step has that of the run it undoes.
    pub(crate) fn is_numbered(&self) -> bool {
        self.workflow.is_some()
    }

    /// It was asked for, rather than started to undo something; only such runs fill a tenant's cap.
    pub(crate) fn was_asked_for(&self) -> bool {
        self.header.parent.is_none()
    }
}

impl AdvanceRows {
    pub(crate) fn encode(advance: Advance) -> Self {
        let run = &advance.run;
        Self {
            run: run.id(),
            from_version: advance.from_version,
            state: StateRow::encode(run),
            steps: advance.changed.iter().map(|index| StepRow::encode(run, *index)).collect(),
            records: advance.records.iter().map(RecordRow::encode).collect(),
            children: advance.children.into_iter().map(CreateRows::encode).collect(),
            outbox: advance.outbox,
            dead_letter: advance.dead_letter,
            expires_at: advance.expires_at,
            header: advance.header_changed.then(|| Box::new(NewHeader::encode(run))),
            tally: advance.tally,
            credits: CreditRows::encode(run, advance.credits),
            events: advance.events,
        }
    }
}

impl NewHeader {
    fn encode(run: &Run) -> Self {
        Self {
            header: HeaderRow::encode(run),
            workflow: Arc::clone(&run.header.workflow),
            steps: u16::try_from(run.steps.len()).expect("a run has at most 65,535 steps"),
        }
    }
}

fn is_numbered(run: &Run) -> bool {
    run.header.membership.is_some() && run.header.parent.is_none()
}
