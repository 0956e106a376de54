//! SQLite files.

use std::path::{Path, PathBuf};

use expect_test::{Expect, expect};
use rusqlite::Connection;
use serde_json::json;
use stepwell_connectors::source::conformance::{NOTES, START};
use stepwell_connectors::source::{SourceError, SourceKind};

use super::{SECRET, VARIABLE, asked, said};

/// A database with so many members of the suite.
pub(super) fn filled(folder: &Path, count: usize) -> PathBuf {
    let path = folder.join("members.db");
    let mut connection = Connection::open(&path).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE member (Id TEXT, Age INTEGER, Share REAL, Vip BOOLEAN, Note TEXT, Start TEXT)",
        )
        .unwrap();
    let transaction = connection.transaction().unwrap();
    {
        let mut insert =
            transaction.prepare("INSERT INTO member VALUES (?, ?, 0.25, ?, ?, ?)").unwrap();
        for number in 0..count {
            let age = i64::try_from(number).unwrap();
            let id = format!("m-{number:05}");
            insert.execute((id, age, number % 2 == 1, NOTES[number % 4], START)).unwrap();
        }
    }
    transaction.commit().unwrap();
    path
}

#[track_caller]
fn check(error: &SourceError, expected: Expect) {
    let said = said(error);
    assert!(!said.contains(SECRET), "{said}");
    expected.assert_eq(&said);
}

fn query(text: &str) -> SourceKind {
    SourceKind::Sqlite { query: text.to_owned() }
}

#[tokio::test]
async fn a_query_is_only_ever_a_question() {
    let folder = tempfile::Builder::new().prefix(SECRET).tempdir().unwrap();
    let path = filled(folder.path(), 3);
    let path = path.to_str().unwrap();
    for (text, expected) in [
        (
            "DELETE FROM member",
            expect!["query_failed: the query failed: it returns no columns; write a SELECT"],
        ),
        (
            "DELETE FROM member RETURNING Id",
            expect!["query_failed: the query failed: it returns no columns; write a SELECT"],
        ),
        (
            "ATTACH 'other.db' AS other",
            expect!["query_failed: the query failed: it returns no columns; write a SELECT"],
        ),
        (
            "SELECT Id FROM member; DROP TABLE member",
            expect!["query_failed: the query failed: Multiple statements provided"],
        ),
        (
            "SELECT Nmae FROM member",
            expect![
                "query_failed: the query failed: no such column: Nmae in SELECT Nmae FROM member at offset 7"
            ],
        ),
        (
            "SELECT Id, Id FROM member",
            expect![[
                r#"query_failed: the query failed: two columns are called "Id"; give each a name of its own"#
            ]],
        ),
        (
            "SELECT CAST(x'ff' AS TEXT) AS a",
            expect![[
                r#"unreadable: the answer of the source cannot be read: a text in column "a" is not UTF-8"#
            ]],
        ),
    ] {
        check(&asked(query(text), &[(VARIABLE, path)]).await.unwrap_err(), expected);
    }
    let rows = asked(query("SELECT count(*) AS n FROM member"), &[(VARIABLE, path)]).await.unwrap();
    assert_eq!(rows.rows[0]["n"], json!(3), "nothing was deleted");
}

#[tokio::test]
async fn a_file_that_is_missing_or_something_else_is_told() {
    let folder = tempfile::Builder::new().prefix(SECRET).tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("list.db"), "Id,Name\n1,Ada\n".repeat(100)).unwrap();
    for (name, expected) in [
        (
            "missing.db",
            expect![
                "unreachable: the source cannot be reached: the file that MEMBERS names cannot be opened"
            ],
        ),
        (
            "list.db",
            expect![[r#"
                unreadable: the answer of the source cannot be read: the file that MEMBERS names is no SQLite
                database"#]],
        ),
    ] {
        let error = asked(query("SELECT 1 AS a"), &[(VARIABLE, &path(name))]).await.unwrap_err();
        check(&error, expected);
    }
    assert!(!folder.path().join("missing.db").exists(), "and it is not made");
}

#[tokio::test]
async fn every_type_has_its_json() {
    let folder = tempfile::tempdir().unwrap();
    let path = filled(folder.path(), 0);
    let text = "SELECT 1 AS whole, 2.5 AS real, 'x' AS text, x'0102' AS bytes, NULL AS absent";
    let rows = asked(query(text), &[(VARIABLE, path.to_str().unwrap())]).await.unwrap();
    assert_eq!(rows.columns, ["whole", "real", "text", "bytes", "absent"]);
    let expected = json!({"whole": 1, "real": 2.5, "text": "x", "bytes": "AQI=", "absent": null});
    assert_eq!(json!(rows.rows[0]), expected);
}
