//! What the disk and SQLite can take at most: the same writes as a commit, without anybody asking.
//!
//! The engine's throughput is judged against this figure, so it must be honest: the same file
//! settings, the same functions, rows of the same sizes, one transaction a group. What is left out
//! is what the engine adds: deciding, encoding, loading, answering.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, Transaction, TransactionBehavior};
use stepwell_core::id::RunId;

use super::{Options, commit, connection, files, lock, migrate};
use crate::ceiling::{Ceiling, FLUSHES, STEPS_EACH, completion, creation, run_id};
use crate::error::StoreError;
use crate::model::{Epoch, Verdict};
use crate::rows::{GroupRows, ItemRows};

/// Measures how many step completions a second a new database file at `path` takes in groups of
/// `group`, each with the writes of a real one: the run, the step that ended, the step that was
/// dispatched, and the history.
///
/// # Errors
/// If the file exists and is not ours, or the disk fails.
pub fn ceiling(path: impl AsRef<Path>, steps: usize, group: usize) -> Result<Ceiling, StoreError> {
    let path = path.as_ref();
    files::prepare(path)?;
    let _lock = lock::Lock::take(path)?;
    let mut db = connection::open_writer(path, &Options::default())?;
    migrate::migrate(&mut db, path)?;
    let flush = median_flush(&mut db)?;

    let runs = (steps / usize::from(STEPS_EACH)).max(1);
    let ids: Vec<RunId> = (0..runs).map(run_id).collect();
    let created = |run: &RunId| ItemRows::Create(Box::new(creation(*run)));
    let creations: Vec<ItemRows> = ids.iter().map(created).collect();
    for chunk in grouped(creations, group) {
        commit_group(&mut db, &chunk)?;
    }
    let mut spent = Duration::ZERO;
    for ended in 0..STEPS_EACH {
        let completed = |run: &RunId| ItemRows::Advance(Box::new(completion(*run, ended)));
        let completions: Vec<ItemRows> = ids.iter().map(completed).collect();
        let groups = grouped(completions, group);
        let begun = Instant::now();
        for chunk in &groups {
            commit_group(&mut db, chunk)?;
        }
        spent += begun.elapsed();
    }
    let done = runs as f64 * f64::from(STEPS_EACH);
    Ok(Ceiling { steps_per_second: done / spent.as_secs_f64(), flush })
}

fn commit_group(db: &mut Connection, group: &GroupRows) -> Result<(), StoreError> {
    let tx = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let verdicts = commit::write(&tx, group)?;
    tx.commit()?;
    assert!(verdicts.iter().all(|verdict| *verdict == Verdict::Done), "nobody else writes here");
    Ok(())
}

fn median_flush(db: &mut Connection) -> Result<Duration, StoreError> {
    let mut times = Vec::with_capacity(FLUSHES);
    for _ in 0..FLUSHES {
        let begun = Instant::now();
        let tx: Transaction<'_> = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
        tx.execute("UPDATE meta SET probes = probes + 1 WHERE id = 1", [])?;
        tx.commit()?;
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    Ok(times[FLUSHES / 2])
}

fn grouped(items: Vec<ItemRows>, size: usize) -> Vec<GroupRows> {
    let mut groups = Vec::new();
    let mut items = items.into_iter().peekable();
    while items.peek().is_some() {
        let items = items.by_ref().take(size.max(1)).collect();
        groups.push(GroupRows { epoch: Epoch(0), items, answers: Vec::new(), free: false });
    }
    groups
}
