//! A stopped store goes from SQLite to PostgreSQL, with its running work.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use stepwell_store::Store;
use stepwell_store::postgres::{Options, PostgresStore};
use stepwell_testing::postgres;
use stepwell_worker::{Attempt, Client, Lease, Report, Status};
use tempfile::TempDir;

use crate::program::{Ended, Running, Server, program, run};

const WORKFLOW: &str = "\
name: chain
request_type: chain
timeout: 1h
steps:
  - {id: first, type: FIRST, pool: chain}
  - {id: second, type: SECOND, pool: chain}
  - {id: third, type: THIRD, pool: chain}
";

const JOBS: usize = 40;

/// Leases what is there, and answers it.
async fn lease(client: &Client, max: usize) -> Vec<Attempt> {
    let (wait, visibility) = (Duration::from_secs(2), Duration::from_secs(60));
    let leased = client.lease("chain", Lease { max, wait, visibility, lanes: &[] }).await;
    leased.expect("the server is up").into_iter().map(|it| it.directive.attempt).collect()
}

/// Reports attempts as done; answers how many counted.
async fn succeed(client: &Client, attempts: &[Attempt]) -> usize {
    let report = |attempt: &Attempt| Report {
        result: Some(json!({ "step": attempt.step_id })),
        ..Report::new(attempt.clone(), Status::Succeeded)
    };
    let reports: Vec<Report> = attempts.iter().map(report).collect();
    let answers = client.results(&reports).await.expect("the server is up");
    answers.iter().filter(|answer| answer.applied).count()
}

/// A stopped store with jobs at every stage, and attempts that workers still hold.
async fn made() -> (TempDir, Vec<String>, Vec<Attempt>) {
    let server = Server::start();
    server.publish(WORKFLOW);
    let jobs: Vec<String> = (0..JOBS).map(|_| server.submit("chain", "{}")).collect();
    let client = Client::new(&server.url, &server.token).expect("a client");
    for _ in 0..3 {
        let leased = lease(&client, 15).await;
        assert_eq!(succeed(&client, &leased).await, leased.len());
    }
    let held = lease(&client, 5).await;
    let (status, home) = server.end_by("TERM");
    assert_eq!(status.code(), Some(0));
    (home, jobs, held)
}

fn mover(home: &Path, to: &str) -> Command {
    let mut command = program(home);
    command.args(["store", "move", "--output", "json", "--from"]);
    command.arg(format!("sqlite:{}", home.join("data").display())).args(["--to", to]);
    command
}

fn database_of(home: &TempDir) -> Vec<u8> {
    std::fs::read(home.path().join("data/stepwell.db")).expect("the file is there")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_that_were_under_way_on_sqlite_end_on_postgres_under_the_same_ids() {
    let Ok(postgres) = postgres::server() else { return };
    let (home, jobs, held) = made().await;
    let url = postgres.database("moved");
    let moved = run(&mut mover(home.path(), &url)).with_code(0).json();
    assert_eq!(moved["moved"], true);
    assert_eq!(moved["rows"]["run"], JOBS);

    let again = ["serve", "--data", "data", "--listen", "127.0.0.1:0"];
    let refused = run(program(home.path()).args(again)).with_code(4);
    assert!(refused.stderr.contains("was moved to PostgreSQL"), "{}", refused.stderr);

    let server = Server::start_with(home, &["--store", &url]);
    let client = Client::new(&server.url, &server.token).expect("the token works as before");
    assert_eq!(succeed(&client, &held).await, held.len(), "what was leased before counts after");
    let mut open = true;
    while open {
        let leased = lease(&client, 50).await;
        succeed(&client, &leased).await;
        let listed =
            server.json(&["job", "list", "--status", "IN_PROGRESS,QUEUED", "--limit", "1"]);
        open = !listed["items"].as_array().expect("a list").is_empty();
    }
    for job in &jobs {
        assert_eq!(server.json(&["job", "get", job])["status"], "SUCCEEDED", "{job}");
    }
    let nodes = "select count(distinct node) from stepwell.step";
    assert_eq!(postgres.query(&url, nodes), ["3"], "steps have their names");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_in_use_is_not_moved_and_a_database_with_rows_is_not_filled() {
    let Ok(postgres) = postgres::server() else { return };
    let url = postgres.database("refused");
    let server = Server::start();
    let used = run(&mut mover(server.home.path(), &url)).with_code(4);
    assert!(used.stderr.contains("is in use by another stepwell process"), "{}", used.stderr);
    let (_, home) = server.end_by("TERM");
    let before = database_of(&home);

    let dry = run(mover(home.path(), &url).arg("--dry-run")).with_code(0);
    assert_eq!(dry.json()["moved"], false);
    let tables = "select count(*) from information_schema.tables where table_schema = 'stepwell'";
    assert_eq!(postgres.query(&url, tables), ["0"], "a dry run writes nothing");

    let other = Server::start_with(tempfile::tempdir().expect("room"), &["--store", &url]);
    let busy = run(&mut mover(home.path(), &url)).with_code(4);
    assert!(busy.stderr.contains("a server uses the target"), "{}", busy.stderr);
    drop(other.end_by("TERM"));
    let filled = run(&mut mover(home.path(), &url)).with_code(4);
    assert!(filled.stderr.contains("the target is not empty"), "{}", filled.stderr);
    assert!(!filled.stderr.contains(password(&url)), "{}", filled.stderr);
    assert_eq!(database_of(&home), before, "the source is untouched");
    Server::start_in(home);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_move_that_ends_in_the_middle_leaves_both_sides_as_they_were() {
    let Ok(postgres) = postgres::server() else { return };
    let (home, _, _) = made().await;
    let (url, before) = (postgres.database("ended"), database_of(&home));
    let store = PostgresStore::open(&url, Options::default()).await.expect("the tables are made");
    store.close().await.expect("it closes");

    // The last table is the middle of the move: everything else is written by then.
    let on_last_table = |body: &str| {
        postgres.query(
            &url,
            &format!(
                "create or replace function stepwell.accident() returns trigger language plpgsql as
                 $$ begin {body}; return null; end $$;
                 create or replace trigger accident before insert on stepwell.submission
                 for each statement execute function stepwell.accident()"
            ),
        );
    };
    let is_empty = || {
        let rows =
            "select (select count(*) from stepwell.run) + (select count(*) from stepwell.token)";
        assert_eq!(postgres.query(&url, rows), ["0"], "the target is empty");
        assert_eq!(database_of(&home), before, "the source is untouched");
    };

    on_last_table("raise exception 'no'");
    let failed: Ended = run(&mut mover(home.path(), &url));
    assert_ne!(failed.code, Some(0));
    is_empty();

    on_last_table("perform pg_sleep(60)");
    for (signal, code) in [("INT", Some(130)), ("KILL", None)] {
        let mut command = mover(home.path(), &url);
        let mut running = Running::spawn(command.stdout(Stdio::null()).stderr(Stdio::null()));
        until_asleep(postgres, &url, &mut running);
        assert_eq!(running.end_by(signal).code, code);
        let sleepers = "select pg_terminate_backend(pid) from pg_stat_activity
                         where wait_event = 'PgSleep' and datname = current_database()";
        postgres.query(&url, sleepers);
        is_empty();
    }

    postgres.query(&url, "drop trigger accident on stepwell.submission");
    let moved = run(&mut mover(home.path(), &url)).with_code(0).json();
    assert_eq!(moved["rows"]["run"], Value::from(JOBS));
}

/// Waits until the move has come to the accident that waits for it.
fn until_asleep(postgres: &postgres::Server, url: &str, moving: &mut Running) {
    let asleep = "select count(*) from pg_stat_activity
                   where wait_event = 'PgSleep' and datname = current_database()";
    while postgres.query(url, asleep) == ["0"] {
        let ended = moving.0.try_wait().expect("it is ours");
        assert_eq!(ended, None, "the move ended before the accident");
    }
}

fn password(url: &str) -> &str {
    url.split([':', '@']).nth(2).expect("the URL has a password")
}
