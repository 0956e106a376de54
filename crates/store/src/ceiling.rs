//! What every measurement of a bare store writes: rows of the same sizes as the engine's.
//!
//! The engine's throughput is judged against what the store takes without it, so the rows are those of
//! real step completions.

use std::sync::Arc;
use std::time::Duration;

use stepwell_core::id::{LeaseId, RunId, Tenant};
use stepwell_core::run::{Dialect, RunStatus};
use stepwell_core::step::{Lease, LeaseStage, StepStatus};
use stepwell_core::time::Timestamp;
use uuid::Uuid;

use crate::rows::{AdvanceRows, CreateRows, HeaderRow, QueueRow, RecordRow, StateRow, StepRow};

/// How many steps the runs of the measurement have.
pub(crate) const STEPS_EACH: u16 = 3;

/// How many commits the median of a flush is taken from.
pub(crate) const FLUSHES: usize = 101;

/// What the bare store can take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ceiling {
    /// step completions a second, committed in groups
    pub steps_per_second: f64,
    /// median time of a commit that writes one row
    pub flush: Duration,
}

/// The id of a run with this number.
pub(crate) fn run_id(number: usize) -> RunId {
    let number = number as u128;
    // As ids made one after the other look: a moment, a counter, and chance.
    let chance = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) & 0x3FFF_FFFF_FFFF_FFFF;
    RunId(Uuid::from_u128((0x0195_9C5B_3C00_u128 + number / 64) << 80 | 7 << 76 | chance))
}

/// A run that begins, with its first step dispatched.
pub(crate) fn creation(run: RunId) -> CreateRows {
    CreateRows {
        header: HeaderRow {
            id: run,
            tenant: Tenant::default_tenant(),
            dialect: Dialect::Commands,
            workflow: "three-steps".to_owned(),
            workflow_version: 1,
            compensation: None,
            parent: None,
            resumes: None,
            input: Some(r#"{"document":"doc-001","user":"ada@contoso.example"}"#.to_owned()),
            special: None,
            context: None,
            routing: None,
            priority: 5,
            correlation_id: None,
            traceparent: None,
            actor: "bench".to_owned(),
            created_at: moment(0),
            step_count: STEPS_EACH,
            membership: None,
            terms: None,
        },
        state: state(0),
        steps: vec![dispatched(run, 0)],
        record: record(run, 0),
        key: None,
        tenant_cap: None,
        children: Vec::new(),
        outbox: Vec::new(),
        dead_letter: None,
        expires_at: None,
        tally: None,
        credits: None,
        events: Vec::new(),
        workflow: None,
    }
}

/// One step has ended; the next, if there is one, is dispatched.
pub(crate) fn completion(run: RunId, ended: u16) -> AdvanceRows {
    let next = ended + 1;
    let mut steps = vec![succeeded(ended)];
    steps.extend((next < STEPS_EACH).then(|| dispatched(run, next)));
    AdvanceRows {
        run,
        from_version: u64::from(next),
        state: state(next),
        steps,
        records: vec![record(run, next)],
        children: Vec::new(),
        outbox: Vec::new(),
        dead_letter: None,
        expires_at: None,
        tally: None,
        credits: None,
        events: Vec::new(),
        header: None,
    }
}

fn moment(step: u16) -> Timestamp {
    Timestamp::from_millis(1_741_996_800_000 + 10 * i64::from(step))
}

fn timeout(step: u16) -> Timestamp {
    Timestamp::from_millis(moment(step).as_millis() + 900_000)
}

fn lease_id(run: RunId, step: u16) -> LeaseId {
    LeaseId(Uuid::from_u128(run.as_u128().rotate_left(64) ^ u128::from(step)))
}

fn state(step: u16) -> StateRow {
    let ended = step == STEPS_EACH;
    StateRow {
        credits: None,
        version: u64::from(step) + 1,
        status: if ended { RunStatus::Succeeded } else { RunStatus::Running },
        attempt: 1,
        paused: false,
        cancel: None,
        gates_open: None,
        outputs: None,
        current_step: Some(format!("step-{}", step.min(STEPS_EACH - 1))),
        error: None,
        retry_at: None,
        wake_at: (!ended).then(|| timeout(step)),
        updated_at: moment(step),
        started_at: Some(moment(0)),
        ended_at: ended.then(|| moment(step)),
    }
}

fn dispatched(run: RunId, position: u16) -> StepRow {
    let lease = Lease {
        id: lease_id(run, position),
        attempt: 1,
        expires_at: timeout(position),
        deadline: None,
        stage: LeaseStage::Recorded,
    };
    StepRow {
        position,
        status: StepStatus::Dispatched,
        attempt: 1,
        tries: 1,
        lease: Some(lease),
        queued: Some(QueueRow { pool: "default".to_owned(), rank: 5, lane: 0, poll_count: 0 }),
        kind: None,
        params: None,
        result: None,
        detail: None,
        error: None,
        wake_at: Some(timeout(position)),
        dispatched_at: Some(moment(position)),
        ended_at: None,
    }
}

fn succeeded(position: u16) -> StepRow {
    StepRow {
        position,
        status: StepStatus::Succeeded,
        attempt: 1,
        tries: 1,
        lease: None,
        queued: None,
        kind: Some(Arc::from("noop")),
        params: None,
        result: Some("{}".to_owned()),
        detail: None,
        error: None,
        wake_at: None,
        dispatched_at: Some(moment(position)),
        ended_at: Some(moment(position + 1)),
    }
}

/// The entries of a decision as they are stored; written out, because only their size counts here.
fn record(run: RunId, step: u16) -> RecordRow {
    let ended = step.checked_sub(1).map_or_else(
        || r#"{"entry":"run_started"}"#.to_owned(),
        |step| format!(r#"{{"entry":"step_succeeded","step":{step},"result":{{}}}}"#),
    );
    let begun = if step == STEPS_EACH {
        r#"{"entry":"run_succeeded"}"#.to_owned()
    } else {
        format!(
            r#"{{"entry":"step_dispatched","step":{step},"attempt":1,"lease":"{}","expires_at":{}}}"#,
            lease_id(run, step),
            timeout(step).as_millis()
        )
    };
    RecordRow {
        version: u64::from(step) + 1,
        at: moment(step),
        entries: format!("[{ended},{begun}]"),
    }
}
