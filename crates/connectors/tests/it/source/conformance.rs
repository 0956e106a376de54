//! The suite of sources on every kind.

use std::sync::Arc;

use stepwell_connectors::source::conformance::{CASES, COLUMNS, START, Subject, Typing};
use stepwell_connectors::source::{Limits, Source, SourceKind};
use stepwell_testing::postgres;

use super::warehouse::Warehouse;
use super::{SECRET, VARIABLE, http, opened, sqlite};

pub(super) async fn run(subject: Subject) {
    for (name, case) in CASES {
        println!("{name}");
        case(&subject).await;
    }
}

/// Answers a query at an address.
fn of(kind: SourceKind, connection: &str, limits: Limits) -> Box<dyn Source> {
    opened(kind, &[(VARIABLE, connection)], limits).unwrap()
}

#[tokio::test]
async fn a_csv_file_does_what_every_source_must() {
    let folder = Arc::new(tempfile::Builder::new().prefix(SECRET).tempdir().unwrap());
    let broken = folder.path().join("broken.csv");
    std::fs::write(&broken, "Id,Age\n1\n").unwrap();
    run(Subject {
        members: Box::new(move |count, limits| {
            let path = folder.path().join(format!("{count}.csv"));
            let mut writer = csv::Writer::from_path(&path).unwrap();
            writer.write_record(COLUMNS).unwrap();
            for number in 0..count {
                let row = Typing::TextOnly.member(number);
                writer.write_record(COLUMNS.map(|name| row[name].as_str().unwrap())).unwrap();
            }
            writer.flush().unwrap();
            of(SourceKind::Csv, path.to_str().unwrap(), limits)
        }),
        broken: Box::new(move |limits| of(SourceKind::Csv, broken.to_str().unwrap(), limits)),
        slow: None,
        unset: Box::new(|limits| opened(SourceKind::Csv, &[], limits)),
        variable: VARIABLE,
        secrets: vec![SECRET.to_owned()],
        typing: Typing::TextOnly,
    })
    .await;
}

#[tokio::test]
async fn a_sqlite_file_does_what_every_source_must() {
    let folder = Arc::new(tempfile::Builder::new().prefix(SECRET).tempdir().unwrap());
    let path = sqlite::filled(folder.path(), 12_345).to_str().unwrap().to_owned();
    let (broken, slow) = (path.clone(), path.clone());
    let query = |query: &str| SourceKind::Sqlite { query: query.to_owned() };
    run(Subject {
        members: Box::new(move |count, limits| {
            let _kept = &folder;
            let asked = format!("SELECT * FROM member WHERE Age < {count} ORDER BY Age");
            of(query(&asked), &path, limits)
        }),
        broken: Box::new(move |limits| of(query("SELECT * FROM nowhere"), &broken, limits)),
        slow: Some(Box::new(move |limits| {
            let endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) \
                           SELECT count(*) AS n FROM n";
            of(query(endless), &slow, limits)
        })),
        unset: Box::new(move |limits| opened(query("SELECT 1 AS a"), &[], limits)),
        variable: VARIABLE,
        secrets: vec![SECRET.to_owned()],
        typing: Typing::NoBooleans,
    })
    .await;
}

#[tokio::test]
async fn a_postgresql_does_what_every_source_must() {
    let Ok(server) = postgres::server() else { return };
    let url = server.database("sources");
    server.query(&url, "CREATE TABLE note (place integer, text text)");
    let notes = stepwell_connectors::source::conformance::NOTES;
    for (place, note) in notes.iter().enumerate() {
        let text = note.map_or("NULL".to_owned(), |note| format!("$note${note}$note$"));
        server.query(&url, &format!("INSERT INTO note VALUES ({place}, {text})"));
    }
    let (broken, slow) = (url.clone(), url.clone());
    let query = |query: &str| SourceKind::Postgres { query: query.to_owned() };
    run(Subject {
        members: Box::new(move |count, limits| {
            let asked = format!(
                "SELECT 'm-' || lpad(n::text, 5, '0') AS \"Id\", n AS \"Age\", \
                 0.25::numeric AS \"Share\", n % 2 = 1 AS \"Vip\", note.text AS \"Note\", \
                 timestamptz '{START}' AS \"Start\" \
                 FROM generate_series(0, {count} - 1) AS n JOIN note ON place = n % 4 ORDER BY n;"
            );
            of(query(&asked), &url, limits)
        }),
        broken: Box::new(move |limits| of(query("SELECT * FROM nowhere"), &broken, limits)),
        slow: Some(Box::new(move |limits| of(query("SELECT pg_sleep(60)"), &slow, limits))),
        unset: Box::new(move |limits| opened(query("SELECT 1 AS a"), &[], limits)),
        variable: VARIABLE,
        secrets: vec![server.maintenance_url()],
        typing: Typing::Full,
    })
    .await;
}

#[tokio::test]
async fn a_url_does_what_every_source_must() {
    let base = http::serve().await;
    let (broken, slow) = (base.clone(), base.clone());
    let at = |path: &str| SourceKind::Http {
        query: Some(path.to_owned()),
        rows: Some("data.members".to_owned()),
    };
    let open = move |base: &str, path: &str, limits| {
        let authorization = format!("Bearer {SECRET}");
        let pairs = [(VARIABLE, base), ("MEMBERS_AUTHORIZATION", authorization.as_str())];
        opened(at(path), &pairs, limits).unwrap()
    };
    run(Subject {
        members: Box::new(move |count, limits| {
            open(&base, &format!("/members?count={count}"), limits)
        }),
        broken: Box::new(move |limits| open(&broken, "/echo", limits)),
        slow: Some(Box::new(move |limits| open(&slow, "/slow", limits))),
        unset: Box::new(move |limits| opened(at("/"), &[], limits)),
        variable: VARIABLE,
        secrets: vec![SECRET.to_owned()],
        typing: Typing::Full,
    })
    .await;
}

// the SQL statements API, with the URL and the warehouse from the environment.
#[tokio::test]
async fn databricks_does_what_every_source_must() {
    let warehouse = Warehouse::start(SECRET).await;
    let (broken, slow) = (warehouse.clone(), warehouse.clone());
    run(Subject {
        members: Box::new(move |count, limits| {
            warehouse.source(&format!("members {count}"), limits)
        }),
        broken: Box::new(move |limits| broken.source("SELECT * FROM nowhere", limits)),
        slow: Some(Box::new(move |limits| slow.source("never", limits))),
        unset: Box::new(|limits| {
            let kind = SourceKind::Databricks {
                query: "members 1".to_owned(),
                warehouse_id: "WAREHOUSE".to_owned(),
            };
            opened(kind, &[("WAREHOUSE", "w-1")], limits)
        }),
        variable: VARIABLE,
        secrets: vec![SECRET.to_owned()],
        typing: Typing::Full,
    })
    .await;
}
