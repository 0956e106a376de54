//! After the storm: what the server shows, and what its file holds, against what was promised.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use stepwell_core::definition::Workflow;
use stepwell_core::entry::Record;
use stepwell_core::evolve::replay;
use stepwell_core::id::RunId;
use stepwell_core::run::Run;
use stepwell_dialects::workflow;
use stepwell_store::sqlite::{Options, SqliteStore};
use stepwell_store::{Filter, Page, Store, StoredRun};

use super::history;
use super::journal::Book;
use super::storm::Storm;
use super::world::World;

/// More than there are runs here, or records in a history.
pub(crate) const RECORDS_MAX: usize = 10_000;

/// The words of a history, by version.
type Words = Vec<(u64, Vec<String>)>;

impl Storm {
    /// Holds the server to its promises: by what it shows, then, after a clean stop, by its file.
    pub(super) async fn judge(&mut self) {
        let shown = shown(&self.world).await;
        let status = tokio::task::block_in_place(|| self.site.stop());
        assert_eq!(status.code(), Some(0), "it stops when it is asked to");
        let stored = stored(&self.site.copy_database()).await;
        check(&stored, &self.world.journal.book(), &shown);
    }
}

/// Reads every accepted job over HTTP; answers with the histories.
async fn shown(world: &World) -> BTreeMap<String, Words> {
    let jobs: Vec<String> = world.journal.book().accepted.values().cloned().collect();
    let distinct: BTreeSet<&String> = jobs.iter().collect();
    assert_eq!(distinct.len(), jobs.len(), "two keys never share a job");
    let mut histories = BTreeMap::new();
    for job in jobs {
        let view = world.read(&format!("/v1/jobs/{job}")).await;
        world.journal.seen(&job, view["status"].as_str().expect("a word"));
        assert!(world.journal.book().ended.contains_key(&job), "{job} has not ended: {view}");
        let steps = world.read(&format!("/v1/jobs/{job}/steps")).await;
        for step in steps["items"].as_array().expect("a list") {
            check_attempts(step);
        }
        let history = world.read(&format!("/v1/jobs/{job}/history?limit=200")).await;
        assert_eq!(history["next_after"], Value::Null, "one page holds a history");
        histories.insert(job, words(&history));
    }
    histories
}

/// Attempts are counted 1, 2, 3 …, at most one succeeded, and none is still under way.
fn check_attempts(step: &Value) {
    let attempts = step["attempts"].as_array().expect("a list");
    let mut succeeded = 0;
    for (place, attempt) in attempts.iter().enumerate() {
        assert_eq!(attempt["attempt_no"], place + 1, "{step}");
        assert!(attempt["ended_at"].is_string(), "an attempt outlived its job: {step}");
        succeeded += usize::from(attempt["status"] == "SUCCEEDED");
    }
    assert_eq!(succeeded, usize::from(step["status"] == "SUCCEEDED"), "{step}");
}

fn words(history: &Value) -> Words {
    let word = |entry: &Value| entry["entry"].as_str().expect("a word").to_owned();
    let records = history["items"].as_array().expect("a list").iter().map(|record| {
        let entries = record["entries"].as_array().expect("a list");
        (record["version"].as_u64().expect("a number"), entries.iter().map(word).collect())
    });
    records.collect()
}

/// Every run in the file of a server that has stopped, with its history.
async fn stored(path: &Path) -> Vec<(Run, Vec<Record>)> {
    let store = SqliteStore::open(path, Options::default()).expect("nobody else has it open");
    assert_eq!(store.check().await.expect("it can be read"), Vec::<String>::new());
    let page = Page { before: None, limit: RECORDS_MAX };
    let mut runs = Vec::new();
    for run in store.runs(Filter::default(), page).await.expect("it can be read") {
        runs.push(load(&store, run.id).await);
    }
    runs
}

/// Holds what is stored against what clients and workers know, and against what was shown.
fn check(stored: &[(Run, Vec<Record>)], book: &Book, shown: &BTreeMap<String, Words>) {
    let found: BTreeSet<String> = stored.iter().map(|(run, _)| run.id().to_string()).collect();
    let accepted: BTreeSet<String> = book.accepted.values().cloned().collect();
    assert_eq!(found, accepted, "what was accepted is there, and nothing else");
    let mut leases = BTreeSet::new();
    for (run, records) in stored {
        history::check(run, records, book, &mut leases);
        check_end(run, book);
        let words: Words = records
            .iter()
            .map(|it| (it.version, it.entries.iter().map(|entry| entry.word().into()).collect()))
            .collect();
        assert_eq!(words, shown[&run.id().to_string()], "what is shown is what is stored");
    }
}

/// A run and its history. The stored state must be exactly what the history folds to.
pub(crate) async fn load(store: &dyn Store, id: RunId) -> (Run, Vec<Record>) {
    let stored = store.load(vec![id]).await.expect("it can be read").pop().expect("it is there");
    let records = store.history(id, 0, RECORDS_MAX).await.expect("it can be read");
    let workflow = workflow(store, &stored).await;
    let run = stored.with_workflow(workflow);
    let mut replayed = Run::new(Arc::clone(&run.header));
    for record in &records {
        replay(&mut replayed, record);
    }
    assert_eq!(replayed, run, "the state is the fold of the history");
    (run, records)
}

async fn workflow(store: &dyn Store, run: &StoredRun) -> Arc<Workflow> {
    let document = store.workflow(run.workflow.clone(), Some(run.workflow_version)).await;
    let document = document.expect("it can be read").expect("a run keeps its version");
    let mut workflow = workflow::read(document.source.as_bytes()).expect("it was published");
    workflow.version = document.version;
    Arc::new(workflow)
}

/// A job ended as it was first seen to have ended, and a cancel that was accepted was obeyed.
fn check_end(run: &Run, book: &Book) {
    let job = run.id().to_string();
    let status = stepwell_dialects::commands::status::job(run.status);
    assert_eq!(book.ended[&job], status, "{job} had ended and changed");
    if book.cancels.get(&job) == Some(&true) {
        assert_eq!(status, "CANCELLED", "{job}: the cancel was accepted");
    }
}
