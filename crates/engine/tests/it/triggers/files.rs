//! Dropped files.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use stepwell_dialects::workspaces::view;
use stepwell_engine::{Settings, TriggerError};
use stepwell_store::memory::MemoryStore;
use stepwell_store::{FiringOutcome, Store};

use super::world::{Place, settle, until};
use crate::faulty::Faulty;
use crate::world::sqlite;

const NOON: &str = "2026-02-03T12:00:00Z";

/// A watched directory.
struct Inbox {
    dir: tempfile::TempDir,
    place: Place,
}

impl Inbox {
    async fn new(more: Value) -> Self {
        Self::on(Arc::new(MemoryStore::new()), more).await
    }

    async fn on(store: Arc<dyn Store>, more: Value) -> Self {
        let dir = tempfile::tempdir().expect("a place");
        let mut settings = Settings::default();
        settings.triggers.directories = vec![real(&dir)];
        let place = Place::with(store, settings, NOON).await;
        let inbox = Self { dir, place };
        inbox.place.put(inbox.document(more)).await;
        inbox
    }

    fn document(&self, more: Value) -> Value {
        let directory = real(&self.dir);
        let mut files = json!({"directory": directory, "glob": "*.csv", "settle": "0s"});
        if let (Value::Object(files), Value::Object(more)) = (&mut files, more) {
            files.extend(more);
        }
        json!({"name": "inbox", "kind": "file_drop", "workflow_id": "report", "file_drop": files})
    }

    fn drop(&self, name: &str, content: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        fs::write(&path, content).expect("it can be written");
        path
    }

    /// Lets the next look happen.
    fn look(&self) {
        self.place.world.clock.advance(Duration::from_secs(2));
    }

    async fn until_started(&self, count: usize) {
        until(async || {
            self.look();
            let firings = self.place.firings("inbox").await;
            let started = firings.iter().filter(|it| it.outcome == FiringOutcome::Started);
            (started.count() >= count).then_some(())
        })
        .await;
    }

    async fn input(&self, number: usize) -> Value {
        let firing = self.place.firings("inbox").await.remove(number);
        Value::Object(self.place.run_of(&firing).await.header.input.clone())
    }
}

fn real(dir: &tempfile::TempDir) -> PathBuf {
    dir.path().canonicalize().expect("it is there")
}

// C-007: a file makes a job, which finds it where it was put.
#[tokio::test]
async fn a_dropped_file_makes_a_job_and_is_moved_away() {
    let inbox = Inbox::new(json!({})).await;
    let path = inbox.drop("a.csv", "name\nAda\n");
    inbox.drop("readme.txt", "not this one");
    inbox.until_started(1).await;
    let input = inbox.input(0).await;
    assert_eq!((&input["name"], &input["size"]), (&json!("a.csv"), &json!(9)));
    let now_at = PathBuf::from(input["path"].as_str().expect("a path"));
    assert_eq!(fs::read_to_string(&now_at).expect("the job can read it"), "name\nAda\n");
    assert_eq!(now_at.parent(), Some(real(&inbox.dir).join("processed").as_path()));
    assert!(!path.exists());
    let run = inbox.place.runs().await[0];
    let run = inbox.place.world.run(run).await;
    assert_eq!(
        serde_json::to_value(view::job(&run, None)).expect("a view")["trigger_type"],
        "file_drop"
    );
}

// Issue 6: remembered by path, size and time of change.
#[tokio::test]
async fn a_remembered_file_stays_and_fires_again_only_when_it_has_changed() {
    let dir = tempfile::tempdir().expect("a place");
    let mut inbox = Inbox::on(sqlite(&dir), json!({"after": "remember"})).await;
    let path = inbox.drop("a.csv", "one");
    inbox.until_started(1).await;
    assert!(path.exists());
    // Nor after a restart, when nothing is in memory.
    inbox.place.world.engine.crash();
    inbox.place.world.store.close().await.expect("the file is let go");
    inbox.place.world.restart(sqlite(&dir)).await;
    inbox.drop("b.csv", "two");
    inbox.until_started(2).await;
    assert_eq!(inbox.place.runs().await.len(), 2);
    inbox.drop("a.csv", "one and more");
    inbox.until_started(3).await;
    assert_eq!(inbox.place.runs().await.len(), 3);
}

// Issue 6: settle time.
#[tokio::test]
async fn a_file_that_is_still_growing_is_left_alone() {
    let inbox = Inbox::new(json!({"settle": "10s", "after": "remember"})).await;
    let mut content = String::new();
    for _ in 0..6 {
        content.push_str("more\n");
        inbox.drop("a.csv", &content);
        for _ in 0..3 {
            inbox.look();
            settle().await;
        }
    }
    assert!(inbox.place.firings("inbox").await.is_empty(), "it changed every six seconds");
    inbox.until_started(1).await;
    assert_eq!(inbox.input(0).await["size"], content.len());
}

#[tokio::test]
async fn a_directory_that_is_not_there_is_waited_for() {
    let inbox = Inbox::new(json!({})).await;
    let gone = real(&inbox.dir).join("later");
    inbox.place.put(inbox.document(json!({"directory": gone}))).await;
    let error = until(async || {
        inbox.look();
        inbox.place.trigger("inbox").await.last_error
    })
    .await;
    assert!(error.contains("later cannot be read"), "{error}");
    fs::create_dir(&gone).expect("it can be made");
    fs::write(gone.join("a.csv"), "x").expect("it can be written");
    inbox.until_started(1).await;
    until(async || {
        inbox.look();
        inbox.place.trigger("inbox").await.last_error.is_none().then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_directory_that_is_not_allowed_is_refused() {
    let inbox = Inbox::new(json!({})).await;
    for directory in ["/etc", "/"] {
        let refused = inbox.place.try_put(inbox.document(json!({"directory": directory}))).await;
        let error = refused.expect_err("it is not allowed");
        assert!(matches!(error, TriggerError::Directory(_)), "{error}");
        assert!(error.to_string().contains("allow_trigger_directory"), "{error}");
    }
    let refused = inbox.place.try_put(inbox.document(json!({"glob": "[a-"}))).await;
    assert!(matches!(refused, Err(TriggerError::Glob(_))), "{refused:?}");
}

#[tokio::test]
async fn a_file_that_can_make_no_job_says_why_and_does_not_hold_up_others() {
    let inbox = Inbox::new(json!({})).await;
    let strict = "
name: strict
input_schema: {type: object, properties: {size: {maximum: 3}}}
steps:
  - {id: make, type: MAKE, pool: workers}
";
    inbox.place.world.publish(strict).await;
    let mut document = inbox.document(json!({}));
    document["workflow_id"] = json!("strict");
    inbox.place.put(document).await;
    inbox.drop("large.csv", "four");
    until(async || {
        inbox.look();
        let firings = inbox.place.firings("inbox").await;
        firings.iter().any(|it| it.outcome == FiringOutcome::Failed).then_some(())
    })
    .await;
    for _ in 0..3 {
        inbox.look();
        settle().await;
    }
    let error = inbox.place.trigger("inbox").await.last_error.expect("it says why");
    assert!(error.contains("size"), "{error}");
    inbox.drop("small.csv", "two");
    inbox.until_started(1).await;
    assert_eq!(inbox.place.runs().await.len(), 1);
    assert_eq!(inbox.place.trigger("inbox").await.last_error, None);
}

// Issue 6: a crash between any two steps of taking a file makes one run.
#[tokio::test]
async fn a_crash_while_a_file_is_taken_makes_one_run() {
    // Before it is noted; noted, not started; started, not noted.
    for (notes, commits_pass) in [(0, true), (1, false), (1, true)] {
        for after in ["move", "remember"] {
            let inner: Arc<dyn Store> = Arc::new(MemoryStore::new());
            let faulty = Faulty::new(Arc::clone(&inner));
            let mut inbox = Inbox::on(Arc::clone(&faulty) as _, json!({"after": after})).await;
            faulty.notes.forget_permits(usize::MAX >> 3);
            faulty.notes.add_permits(notes);
            if !commits_pass {
                faulty.gate.forget_permits(usize::MAX >> 3);
            }
            let arrivals = if commits_pass { &faulty.notes_arrived } else { &faulty.arrived };
            let wanted = *arrivals.borrow() + if commits_pass { notes + 1 } else { 1 };
            inbox.drop("a.csv", "x");
            until(async || {
                inbox.look();
                settle().await;
                (*arrivals.borrow() >= wanted).then_some(())
            })
            .await;
            inbox.place.world.engine.crash();
            inbox.place.world.restart(inner).await;
            inbox.until_started(1).await;
            let case = format!("{notes} {commits_pass} {after}");
            assert_eq!(inbox.place.runs().await.len(), 1, "{case}");
            let path = PathBuf::from(inbox.input(0).await["path"].as_str().expect("a path"));
            assert_eq!(fs::read_to_string(path).expect("the job can read it"), "x", "{case}");
            let firings = inbox.place.firings("inbox").await;
            assert_eq!(firings.len(), 1, "{case}");
        }
    }
}

#[tokio::test]
async fn many_files_at_once_are_taken_page_by_page_each_once() {
    let inbox = Inbox::new(json!({})).await;
    for number in 0..450 {
        inbox.drop(&format!("{number:03}.csv"), "x");
    }
    inbox.until_started(450).await;
    assert_eq!(inbox.place.runs().await.len(), 450);
    let left = fs::read_dir(inbox.dir.path()).expect("it is there").count();
    assert_eq!(left, 1, "only the directory of taken files is left");
}
