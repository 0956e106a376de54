//! Batches to be stored: two phases, members whose runs stand behind their gates, and decisions made by
//! `core`.

use std::sync::Arc;

use stepwell_core::batch::{
    Batch, BatchCommand, BatchHeader, BatchMode, Tally, Timeline, TimelinePhase, decide_batch,
};
use stepwell_core::command::{Act, Command};
use stepwell_core::decide::At;
use stepwell_core::definition::{StepSpec, Workflow};
use stepwell_core::duration::Interval;
use stepwell_core::id::{BatchId, MemberId, PhaseId, RunNumber, StepIndex, Tenant};
use stepwell_core::run::{BatchRole, Dialect, Header, Membership, Run};
use stepwell_core::time::Timestamp;

use super::world::{World, at, decided, fresh, header, run_id, started, step, workflow};
use crate::model::{
    BatchFilter, BatchWrite, Create, Item, Listed, Member, MemberFilter, NewMember, Removal, Slice,
    Verdict,
};

/// Whoever does something in a case.
pub fn ada() -> Act {
    Act::new("ada", "to see")
}

/// The steps of two phases: two behind the gate `prepare`, one behind `cutover`.
pub fn member_workflow() -> Arc<Workflow> {
    let behind = |gate: &str, id: &str, after: &[u16]| StepSpec {
        gate: Some(gate.to_owned()),
        after: after.iter().copied().map(StepIndex).collect(),
        on_failure: Some("undo".to_owned()),
        ..step(id)
    };
    Arc::new(Workflow {
        steps: vec![
            behind("prepare", "prepare/invite", &[]),
            behind("prepare", "prepare/copy", &[0]),
            behind("cutover", "cutover/switch", &[1]),
        ],
        ..workflow("runbook-member:move")
    })
}

/// The same with a third phase behind them.
pub fn longer_workflow() -> Arc<Workflow> {
    let mut longer = Arc::unwrap_or_clone(member_workflow());
    longer.version = 2;
    longer.steps.push(StepSpec {
        gate: Some("cutover@2".to_owned()),
        after: vec![StepIndex(2)],
        ..step("cutover/switch")
    });
    Arc::new(longer)
}

/// The phases of the first version, numbered from 10 times the number of their batch.
pub fn timeline(batch: i64) -> Timeline {
    let phase = |place: i64, name: &str, minutes: i32, steps: u16| TimelinePhase {
        id: PhaseId(10 * batch + place),
        name: name.to_owned(),
        gate: name.to_owned(),
        offset_minutes: minutes,
        steps,
    };
    let phases = vec![phase(0, "prepare", 60, 2), phase(1, "cutover", 0, 1)];
    Timeline { version: 1, has_init: false, phases }
}

/// The one phase of the second version.
pub fn longer_timeline(batch: i64) -> Timeline {
    let cutover = TimelinePhase {
        id: PhaseId(10 * batch + 2),
        name: "cutover".to_owned(),
        gate: "cutover@2".to_owned(),
        offset_minutes: 0,
        steps: 1,
    };
    Timeline { version: 2, has_init: false, phases: vec![cutover] }
}

/// The header of a batch with this number, made at dawn for two hours later.
pub fn batch_header(number: i64) -> BatchHeader {
    BatchHeader {
        id: BatchId(number),
        tenant: Tenant::new("acme"),
        runbook: "move".to_owned(),
        mode: BatchMode::Scheduled,
        slot: Some(at(7_200)),
        actor: "scheduler".to_owned(),
        created_at: at(0),
    }
}

/// A batch before its first decision.
pub fn undecided(header: BatchHeader) -> Batch {
    let (timeline, start) = (timeline(header.id.0), header.slot);
    Batch::new(Arc::new(header), &timeline, start)
}

/// A new batch with members of these numbers, as one item.
pub fn detected(header: BatchHeader, members: &[i64]) -> BatchWrite {
    let batch = undecided(header);
    let mut write = decided_batch(&batch, &BatchCommand::Detect);
    let joins = decided_batch(&write.batch, &join(members.len()));
    write.batch = joins.batch;
    write.from_version = None;
    write.joined = members.iter().map(|number| joining(batch.id(), *number)).collect();
    write
}

/// A decision on a batch, a second after its last.
pub fn decided_batch(batch: &Batch, command: &BatchCommand) -> BatchWrite {
    decided_batch_at(batch, command, batch.updated_at.after(Interval::from_secs(1)))
}

/// A decision on a batch at some moment.
pub fn decided_batch_at(batch: &Batch, command: &BatchCommand, now: Timestamp) -> BatchWrite {
    let decision = decide_batch(batch, command, &mut At { now, fresh: &mut fresh })
        .unwrap_or_else(|refusal| panic!("{command:?} was refused: {refusal}"));
    BatchWrite {
        record: decision.record(),
        from_version: (batch.version > 0).then_some(batch.version),
        batch: Arc::new(decision.batch),
        joined: Vec::new(),
        removed: Vec::new(),
        retaken: Vec::new(),
        runs: Vec::new(),
        refreshed: Vec::new(),
    }
}

/// So many members join.
pub fn join(members: usize) -> BatchCommand {
    let members = u32::try_from(members).expect("few members");
    BatchCommand::Join { members, by: ada() }
}

/// So many members leave.
pub fn leave(members: usize) -> BatchCommand {
    let members = u32::try_from(members).expect("few members");
    BatchCommand::Remove { members, by: ada() }
}

/// The batch is stopped.
pub fn stop() -> BatchCommand {
    BatchCommand::Cancel { by: ada() }
}

/// The batch follows the second version.
pub fn adopt(batch: i64) -> BatchCommand {
    BatchCommand::Adopt {
        timeline: longer_timeline(batch),
        overdue: stepwell_core::batch::Overdue::Rerun,
        rerun_init: false,
        by: ada(),
    }
}

/// A member of this number with its run, which waits behind its first gate.
pub fn joining(batch: BatchId, number: i64) -> NewMember {
    joining_as(batch, number, &format!("member-{number}@contoso.example"))
}

/// The same under a key of its own.
pub fn joining_as(batch: BatchId, number: i64, key: &str) -> NewMember {
    NewMember {
        id: MemberId(number),
        key: key.to_owned(),
        data_hash: [1; 32],
        added_at: at(5),
        run: started(member_header(batch, number, number)),
    }
}

/// The header of a member's run under this number.
pub fn member_header(batch: BatchId, member: i64, number: i64) -> Header {
    Header {
        tenant: Tenant::new("acme"),
        dialect: Dialect::Runbooks,
        workflow: member_workflow(),
        membership: Some(Membership {
            batch,
            member: Some(MemberId(member)),
            role: BatchRole::Member,
            number: RunNumber(number),
        }),
        ..header(number.unsigned_abs())
    }
}

/// A run of the batch itself, or for a member that left.
pub fn other_run(batch: BatchId, member: Option<i64>, role: BatchRole, number: i64) -> Create {
    let member = member.map(MemberId);
    let membership = Membership { batch, member, role, number: RunNumber(number) };
    let name = format!("runbook-{}:move", role.word());
    started(Header {
        dialect: Dialect::Runbooks,
        workflow: Arc::new(workflow(&name)),
        membership: Some(membership),
        ..header(number.unsigned_abs())
    })
}

/// A run that takes a member's way up again; its counters leave the place of the run before.
pub fn taking_up(before: &Run, number: i64) -> Create {
    let membership = before.header.membership.expect("a member's run");
    let member = membership.member.expect("a member's run");
    let create = started(Header {
        resumes: Some(before.id()),
        ..member_header(membership.batch, member.0, number)
    });
    Create { tally: Tally::moved(Some(before), &create.run), ..create }
}

/// Opens a gate of a run.
pub fn opened(run: &Arc<Run>, gate: &str) -> Item {
    let open = Command::OpenGate { gate: gate.to_owned() };
    Item::Advance(Box::new(decided(run, &open)))
}

/// A member leaves.
pub fn leaving(number: i64, actor: &str) -> Removal {
    Removal { member: MemberId(number), at: at(50), actor: actor.to_owned() }
}

/// A write as an item.
pub fn batch_item(write: BatchWrite) -> Item {
    Item::Batch(Box::new(write))
}

impl World {
    /// Stores a new batch with members of these numbers.
    pub async fn detects(&self, number: i64, members: &[i64]) -> Batch {
        self.decides(detected(batch_header(number), members)).await
    }

    /// Stores a decision on a batch; answers the batch as it is stored.
    pub async fn decides(&self, write: BatchWrite) -> Batch {
        let id = write.batch.id();
        self.stores(batch_item(write)).await;
        self.batch(id.0).await
    }

    /// Tries a decision on a batch that cannot be done.
    pub async fn refuses(&self, write: BatchWrite) {
        assert_eq!(self.commits(vec![batch_item(write)]).await, [Verdict::Stale]);
    }

    /// The batch with this number.
    pub async fn batch(&self, number: i64) -> Batch {
        self.store.batch(BatchId(number)).await.expect("a lookup").expect("the batch is stored")
    }

    /// The run of a member, ready for the next decision.
    pub async fn member_run(&self, number: u64) -> Arc<Run> {
        let stored = self.stored(run_id(number)).await.expect("the run is stored");
        Arc::new(stored.with_workflow(member_workflow()))
    }

    /// All members of a batch.
    pub async fn members(&self, batch: i64) -> Vec<Member> {
        self.some_members(MemberFilter::of(BatchId(batch)), everything()).await.items
    }

    /// Some members of a batch.
    pub async fn some_members(&self, filter: MemberFilter, slice: Slice) -> Listed<Member> {
        self.store.members(filter, slice).await.expect("members can be listed")
    }

    /// Numbers of the batches that match, and how many there are.
    pub async fn batches(&self, filter: BatchFilter, slice: Slice) -> (Vec<i64>, u64) {
        let listed = self.store.batches(filter, slice).await.expect("batches can be listed");
        (listed.items.iter().map(|batch| batch.id().0).collect(), listed.total)
    }
}

/// A slice large enough for any case.
pub fn everything() -> Slice {
    Slice { offset: 0, limit: 1_000 }
}

/// The numbers of members.
pub fn numbers(members: &[Member]) -> Vec<i64> {
    members.iter().map(|member| member.id.0).collect()
}
