//! A process that dies in the middle: its lock goes with it, and its commits are whole.
//!
//! The process that dies is this test binary, started again for one of the ignored tests below.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use stepwell_core::run::Header;
use stepwell_store::conformance::Subject;
use stepwell_store::conformance::world::{World, all, header, item, started};
use stepwell_store::sqlite::{Options, SqliteStore};
use stepwell_store::{Filter, Item, StoreError};

const FILE: &str = "STEPWELL_TEST_FILE";
const GROUP: u64 = 16;

fn start_child(test: &str, path: &Path) -> (Child, impl Iterator<Item = String>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", test])
        .env(FILE, path)
        .stdout(Stdio::piped())
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    (child, lines)
}

fn given_file() -> PathBuf {
    PathBuf::from(std::env::var_os(FILE).expect("the parent names the file"))
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").unwrap();
    out.flush().unwrap();
}

#[test]
#[ignore = "a process for another test"]
fn child_holds_the_file() {
    let _store = SqliteStore::open(given_file(), Options::default()).unwrap();
    say("child: open");
    // Until it is killed, or its parent is gone.
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

#[test]
fn a_second_process_is_refused_until_the_first_is_dead() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("stepwell.db");
    let (mut child, mut lines) = start_child("crash::child_holds_the_file", &path);
    lines.find(|line| line.contains("child: open")).unwrap();
    let refused = SqliteStore::open(&path, Options::default());
    let reason = match refused {
        Err(StoreError::Refused { reason }) => reason,
        other => panic!("expected a refusal, got {other:?}"),
    };
    assert!(reason.contains(&format!("(process {})", child.id())), "{reason}");

    child.kill().unwrap();
    child.wait().unwrap();
    SqliteStore::open(&path, Options::default()).unwrap();
}

#[tokio::test]
#[ignore = "a process for another test"]
async fn child_commits_until_it_dies() {
    let store = Arc::new(SqliteStore::open(given_file(), Options::default()).unwrap());
    let world = World::of(&Subject { store, reopen: None }).await;
    for group in 0.. {
        let items: Vec<Item> = (0..GROUP)
            .map(|number| {
                let correlation_id = Some(group.to_string());
                item(started(Header { correlation_id, ..header(group * GROUP + number) }))
            })
            .collect();
        world.commits(items).await;
        say(&format!("child: committed {group}"));
    }
}

// D-045: whatever was answered is there after a crash at any point, and nothing is there by halves.
#[tokio::test]
async fn a_process_that_dies_leaves_whole_groups_and_all_it_answered() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("stepwell.db");
    let (mut child, lines) = start_child("crash::child_commits_until_it_dies", &path);
    let mut answered = lines.filter_map(|line| {
        line.split_once("child: committed ").map(|(_, group)| group.parse::<u64>().unwrap())
    });
    let last = answered.find(|group| *group >= 9).unwrap();
    child.kill().unwrap();
    let last = answered.last().unwrap_or(last);
    child.wait().unwrap();

    let store = Arc::new(SqliteStore::open(&path, Options::default()).unwrap());
    assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
    let world = World::of(&Subject { store, reopen: None }).await;
    // One group more may have been committed than its process could tell.
    for group in 0..=last + 1 {
        let filter = Filter { correlation_id: Some(group.to_string()), ..Filter::default() };
        let found = world.lists(filter, all()).await.len() as u64;
        assert!(found == GROUP || (found == 0 && group == last + 1), "group {group}: {found}");
    }
}
