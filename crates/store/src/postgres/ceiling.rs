//! What the disk and PostgreSQL can take at most: the same rows as a commit, without anybody asking.
//!
//! The engine's throughput is judged against this figure, so it must be honest: bare multi-row
//! statements on one connection, sent together, one transaction a group. What is left out is what makes
//! a store of it, versions, owners and fences, and what the engine adds: deciding, loading, answering.

use std::time::{Duration, Instant};

use stepwell_core::id::{RunId, Tenant};
use stepwell_core::step::StepStatus;

use super::columns::bind;
use super::connection::{Connection, Opener, Purpose};
use super::error::no_connection;
use super::pipeline::Pipeline;
use super::run_write::{
    HISTORY_INSERT, NamedStep, NewRun, Of, RUN_HEADER_INSERT, RUN_INSERT, STEP_WRITE, advances,
    headers, ids, inserts, records, steps,
};
use super::send::{BEGIN, COMMIT, TENANT_COUNT};
use super::{Options, PostgresStore};
use crate::Store;
use crate::ceiling::{Ceiling, FLUSHES, STEPS_EACH, completion, creation, run_id};
use crate::error::StoreError;
use crate::model::Epoch;
use crate::rows::{AdvanceRows, CreateRows};

const ADVANCE: &str = include_str!("../../sql/postgres/ceiling_advance.sql");
const STEP_END: &str = include_str!("../../sql/postgres/ceiling_step_end.sql");
const STEP_BEGIN: &str = include_str!("../../sql/postgres/ceiling_step_begin.sql");
const HISTORY: &str = include_str!("../../sql/postgres/ceiling_history.sql");
const COUNT: &str = include_str!("../../sql/postgres/ceiling_count.sql");

const STATEMENTS: [&str; 12] = [
    BEGIN,
    COMMIT,
    RUN_INSERT,
    RUN_HEADER_INSERT,
    STEP_WRITE,
    HISTORY_INSERT,
    TENANT_COUNT,
    ADVANCE,
    STEP_END,
    STEP_BEGIN,
    HISTORY,
    COUNT,
];

/// Nobody owns the runs of the measurement.
const NOBODY: Epoch = Epoch(0);

/// Measures how many step completions a second an empty schema at `url` takes in groups of `group`, each
/// with the writes of a real one: the run, the step that ended, the step that was dispatched, and the
/// history.
///
/// # Errors
/// If the server cannot be reached, or the schema is not ours.
pub async fn ceiling(url: &str, steps: usize, group: usize) -> Result<Ceiling, StoreError> {
    PostgresStore::open(url, Options::default()).await?.close().await?;
    let opener = Opener::new(url, Options::default())?;
    let opened = opener.open(Purpose::Commit).await;
    let mut db = opened.map_err(|cause| no_connection(&opener.place.shown(), cause))?;
    db.prepare(&STATEMENTS).await?;
    let flush = median_flush(&mut db).await?;

    let group = group.max(1);
    let runs: Vec<RunId> = (0..(steps / usize::from(STEPS_EACH)).max(1)).map(run_id).collect();
    for chunk in runs.chunks(group) {
        let creations: Vec<CreateRows> = chunk.iter().map(|run| creation(*run)).collect();
        create(&db, &creations).await?;
    }
    let mut spent = Duration::ZERO;
    for ended in 0..STEPS_EACH {
        for chunk in runs.chunks(group) {
            let completions: Vec<AdvanceRows> =
                chunk.iter().map(|run| completion(*run, ended)).collect();
            let begun = Instant::now();
            complete(&db, &completions).await?;
            spent += begun.elapsed();
        }
    }
    let done = runs.len() as f64 * f64::from(STEPS_EACH);
    Ok(Ceiling { steps_per_second: done / spent.as_secs_f64(), flush })
}

async fn median_flush(db: &mut Connection) -> Result<Duration, StoreError> {
    let mut times = Vec::with_capacity(FLUSHES);
    for _ in 0..FLUSHES {
        let begun = Instant::now();
        super::query::probe(db).await?;
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    Ok(times[FLUSHES / 2])
}

/// Runs to measure with; not measured itself.
async fn create(db: &Connection, creations: &[CreateRows]) -> Result<(), StoreError> {
    let runs: Vec<NewRun<'_>> =
        creations.iter().map(|rows| NewRun::asked_for(rows, None)).collect();
    let first = creations.iter().flat_map(|rows| named(rows.header.id, &rows.steps));
    let first: Vec<NamedStep<'_>> = first.collect();
    let history: Vec<Of<'_, _>> =
        creations.iter().map(|rows| Of { run: rows.header.id, row: &rows.record }).collect();
    let begun = ids(creations.iter().map(|rows| rows.header.id));
    let mut pipeline = db.pipeline();
    pipeline.send(BEGIN, vec![]);
    pipeline.send(RUN_INSERT, inserts(NOBODY, &runs));
    pipeline.send(RUN_HEADER_INSERT, headers(&runs));
    pipeline.send(STEP_WRITE, steps(&first));
    pipeline.send(HISTORY_INSERT, records(&history));
    pipeline.send(TENANT_COUNT, vec![bind(0_i64), bind(0_i64), bind(begun), bind(1_i64)]);
    pipeline.send(COMMIT, vec![]);
    db.waits_for(pipeline.wait()).await
}

/// A group of step completions.
async fn complete(db: &Connection, completions: &[AdvanceRows]) -> Result<(), StoreError> {
    let runs: Vec<&AdvanceRows> = completions.iter().collect();
    let all = completions.iter().flat_map(|rows| named(rows.run, &rows.steps));
    let (begun, ended): (Vec<NamedStep<'_>>, Vec<NamedStep<'_>>) =
        all.partition(|step| step.row.status == StepStatus::Dispatched);
    let history: Vec<Of<'_, _>> = completions
        .iter()
        .flat_map(|rows| rows.records.iter().map(|row| Of { run: rows.run, row }))
        .collect();
    let over = completions.iter().filter(|rows| rows.state.status.is_terminal()).count();
    let mut pipeline: Pipeline<'_> = db.pipeline();
    pipeline.send(BEGIN, vec![]);
    pipeline.send(ADVANCE, advances(NOBODY, &runs));
    pipeline.send(STEP_END, steps(&ended));
    if !begun.is_empty() {
        pipeline.send(STEP_BEGIN, steps(&begun));
    }
    pipeline.send(HISTORY, records(&history));
    if over > 0 {
        let tenant = Tenant::default_tenant().as_str().to_owned();
        pipeline.send(COUNT, vec![bind(tenant), bind(super::columns::limit(over))]);
    }
    pipeline.send(COMMIT, vec![]);
    db.waits_for(pipeline.wait()).await
}

fn named(run: RunId, steps: &[crate::rows::StepRow]) -> impl Iterator<Item = NamedStep<'_>> {
    steps.iter().map(move |row| NamedStep { run, node: "step".into(), row })
}
