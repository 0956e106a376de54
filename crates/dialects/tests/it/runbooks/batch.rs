//! A batch for the tests, driven by the real decisions.

use std::sync::Arc;

use serde_json::{Map, json};
use stepwell_core::batch::{
    Batch, BatchCommand, BatchDecision, BatchHeader, BatchMode, BatchRecord, Tally, decide_batch,
};
use stepwell_core::command::Act;
use stepwell_core::decide::At;
use stepwell_core::definition::Part;
use stepwell_core::id::{BatchId, MemberId, PhaseId, RunNumber, Tenant};
use stepwell_core::run::{BatchRole, Dialect, Header, Membership, Run};
use stepwell_core::time::Timestamp;
use stepwell_dialects::moment;
use stepwell_dialects::runbooks::{Compiled, Runbook, compile};

use super::{MAILBOXES, runbook};
use crate::world::{World, lease, run_id};

/// The batch's number.
pub(super) const BATCH: BatchId = BatchId(42);

/// A moment.
pub(super) fn at(text: &str) -> Timestamp {
    moment::parse(text).unwrap().0
}

/// T-0 of the batch.
pub(super) fn start() -> Timestamp {
    at("2026-01-15T08:00:00Z")
}

/// When the batch is made: ten days before.
pub(super) fn made_at() -> Timestamp {
    at("2026-01-05T08:00:00Z")
}

/// Somebody, for a reason.
pub(super) fn by() -> Act {
    Act::new("ada", "the change window")
}

/// A batch with what is decided about it.
pub(super) struct BatchWorld {
    pub(super) batch: Batch,
    pub(super) runbook: Runbook,
    pub(super) compiled: Compiled,
    pub(super) records: Vec<BatchRecord>,
    ids: u32,
}

impl BatchWorld {
    /// A batch of the mailboxes, with so many members that have not been counted.
    pub(super) fn new(mode: BatchMode) -> Self {
        let runbook = runbook(MAILBOXES);
        let compiled = compile(&runbook, 3);
        let start = (mode != BatchMode::Manual).then(start);
        let header = BatchHeader {
            id: BATCH,
            tenant: Tenant::default_tenant(),
            runbook: runbook.name.clone(),
            mode,
            slot: start,
            actor: "scheduler".to_owned(),
            created_at: made_at(),
        };
        let batch = Batch::new(Arc::new(header), &compiled.timeline(PhaseId(108)), start);
        let mut world = Self { batch, runbook, compiled, records: Vec::new(), ids: 100 };
        world.tell(made_at(), &BatchCommand::Detect);
        world.tell(made_at(), &BatchCommand::Join { members: 2, by: by() });
        world
    }

    /// Decides a command and keeps what was decided.
    #[track_caller]
    pub(super) fn tell(&mut self, now: Timestamp, command: &BatchCommand) {
        let decision = self.decide(now, command);
        self.records.extend(decision.record());
        self.batch = decision.batch;
    }

    #[track_caller]
    fn decide(&mut self, now: Timestamp, command: &BatchCommand) -> BatchDecision {
        let ids = &mut self.ids;
        let mut fresh = || {
            *ids += 1;
            lease(*ids).0
        };
        decide_batch(&self.batch, command, &mut At { now, fresh: &mut fresh }).unwrap()
    }

    /// Brings every sweep to its end.
    pub(super) fn swept(&mut self) {
        let now = self.batch.updated_at;
        while !self.batch.sweeps.is_empty() {
            self.tell(now, &BatchCommand::Swept { through: None });
        }
    }

    /// Counts what became of a member's run.
    pub(super) fn count(&mut self, before: Option<&Run>, after: &Run) {
        let Some(tally) = Tally::moved(before, after) else { return };
        self.batch.tally = self.batch.tally.plus(tally.members);
        for (gate, moved) in &tally.phases {
            let phase = self.batch.phases.iter_mut().find(|phase| phase.gate == *gate).unwrap();
            phase.tally = phase.tally.plus(*moved);
        }
    }

    /// The run of a member.
    pub(super) fn member(&self, number: u32) -> World {
        let data = json!({
            "UserPrincipalName": "ada@contoso.com", "FirstName": "Ada", "LastName": "Lovelace",
            "ObjectType": "EntraUser",
        });
        let header = self.header(number, BatchRole::Member);
        World::start(Header { input: data.as_object().unwrap().clone(), ..header })
    }

    /// The run that prepares the batch.
    pub(super) fn init(&self, number: u32) -> World {
        let workflow = Arc::new(self.compiled.init.clone().unwrap());
        World::start(Header { workflow, ..self.header(number, BatchRole::Init) })
    }

    /// The run for a member that left.
    pub(super) fn removal(&self, number: u32) -> World {
        let workflow = Arc::new(self.compiled.removal.clone().unwrap());
        let data = json!({"UserPrincipalName": "ada@contoso.com"});
        let header = self.header(number, BatchRole::Removal);
        World::start(Header { workflow, input: data.as_object().unwrap().clone(), ..header })
    }

    fn header(&self, number: u32, role: BatchRole) -> Header {
        let special = json!({"_batch_id": 42, "_batch_start_time": "2026-01-15T08:00:00.0000000Z"});
        let member = (role != BatchRole::Init).then_some(MemberId(505));
        let number = RunNumber(i64::from(number));
        Header {
            id: run_id(u32::try_from(number.0).unwrap()),
            tenant: Tenant::default_tenant(),
            dialect: Dialect::Runbooks,
            workflow: Arc::new(self.compiled.member.clone()),
            part: Part::Main,
            parent: None,
            resumes: None,
            input: Map::new(),
            special: special.as_object().unwrap().clone(),
            context: Map::new(),
            routing: None,
            priority: 0,
            correlation_id: None,
            traceparent: None,
            actor: "scheduler".to_owned(),
            created_at: made_at(),
            membership: Some(Membership { batch: BATCH, member, role, number }),
            terms: None,
        }
    }
}

/// A value as its readers see it, with a field on each line.
pub(super) fn pretty(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(&serde_json::to_value(value).unwrap()).unwrap()
}
