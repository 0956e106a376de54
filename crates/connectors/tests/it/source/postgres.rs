//! PostgreSQL databases.

use expect_test::{Expect, expect};
use serde_json::json;
use stepwell_connectors::source::{SourceError, SourceKind};
use stepwell_testing::postgres;

use super::{SECRET, VARIABLE, asked, said};

fn query(text: &str) -> SourceKind {
    SourceKind::Postgres { query: text.to_owned() }
}

#[track_caller]
fn check(error: &SourceError, expected: Expect) {
    let said = said(error);
    assert!(!said.contains(SECRET), "{said}");
    expected.assert_eq(&said);
}

#[tokio::test]
async fn every_type_has_its_json() {
    let Ok(server) = postgres::server() else { return };
    let url = server.database("types");
    server.query(&url, "CREATE TYPE mood AS ENUM ('calm', 'busy')");
    let text = "
        SELECT 1::smallint AS small, 9007199254740993 AS big, 12.50::numeric AS price,
               12345678901234567890.12::numeric AS exact, 'NaN'::numeric AS nan, 2.5::real AS real,
               true AS yes, NULL::text AS nothing, 'x'::char(3) AS padded,
               'calm'::mood AS mood, ARRAY['a', 'b'] AS list, '{\"a\": [1]}'::jsonb AS document,
               '2026-03-15 09:00:00+01'::timestamptz AS zoned,
               '2026-03-15 08:00:00.5'::timestamp AS bare, date '2026-03-15' AS day,
               '00000000-0000-0000-0000-00000000002a'::uuid AS id -- and a comment
        ;
    ";
    let rows = asked(query(text), &[(VARIABLE, &url)]).await.unwrap();
    let expected = json!({
        "small": 1, "big": 9_007_199_254_740_993_i64, "price": 12.5,
        "exact": "12345678901234567890.12", "nan": "NaN", "real": 2.5,
        "yes": true, "nothing": null, "padded": "x  ",
        "mood": "calm", "list": ["a", "b"], "document": {"a": [1]},
        "zoned": "2026-03-15T08:00:00Z", "bare": "2026-03-15T08:00:00.5Z", "day": "2026-03-15",
        "id": "00000000-0000-0000-0000-00000000002a",
    });
    assert_eq!(json!(rows.rows[0]), expected);
    assert_eq!(rows.columns[..3], ["small", "big", "price"]);
}

#[tokio::test]
async fn a_query_is_only_ever_a_question() {
    let Ok(server) = postgres::server() else { return };
    let url = server.database("questions");
    server.query(&url, "CREATE TABLE member (id integer)");
    server.query(&url, "INSERT INTO member VALUES (1)");
    server.query(
        &url,
        "CREATE FUNCTION wipe() RETURNS integer LANGUAGE sql AS 'DELETE FROM member RETURNING 1'",
    );
    for (text, expected) in [
        (
            "DELETE FROM member",
            expect!["query_failed: the query failed: it returns no columns; write a SELECT"],
        ),
        (
            "DELETE FROM member RETURNING id",
            expect![[r#"query_failed: the query failed: syntax error at or near "FROM""#]],
        ),
        (
            "SELECT wipe() AS n",
            expect![
                "query_failed: the query failed: cannot execute DELETE in a read-only transaction"
            ],
        ),
        (
            "SELECT 1 AS a; DROP TABLE member",
            expect![
                "query_failed: the query failed: cannot insert multiple commands into a prepared statement"
            ],
        ),
        (
            "SELECT nmae FROM member",
            expect![[r#"query_failed: the query failed: column "nmae" does not exist"#]],
        ),
        (
            "SELECT id, id FROM member",
            expect![[
                r#"query_failed: the query failed: two columns are called "id"; give each a name of its own"#
            ]],
        ),
        (
            "SELECT 1 / (id - 1) AS a FROM member",
            expect!["query_failed: the query failed: division by zero"],
        ),
    ] {
        check(&asked(query(text), &[(VARIABLE, &url)]).await.unwrap_err(), expected);
    }
    assert_eq!(server.query(&url, "SELECT count(*) FROM member"), ["1"]);
}

#[tokio::test]
async fn who_is_not_let_in_is_told_what_to_look_at() {
    let Ok(server) = postgres::server() else { return };
    let url = server.database("rights");
    let name = url.rsplit('/').next().unwrap().split('?').next().unwrap();
    let other = url.replace(name, "nowhere");
    let error = asked(query("SELECT 1 AS a"), &[(VARIABLE, &other)]).await.unwrap_err();
    check(
        &error,
        expect![[r#"
            access_denied: the source does not let us in: database "nowhere" does not exist; check user,
            password and database"#]],
    );

    server.query(&url, "CREATE TABLE secret (id integer)");
    server.query(
        &url,
        "CREATE FUNCTION peek() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN
             SET LOCAL ROLE pg_monitor; RETURN (SELECT count(*) FROM secret);
         END $$",
    );
    let error = asked(query("SELECT peek() AS n"), &[(VARIABLE, &url)]).await.unwrap_err();
    check(
        &error,
        expect![[r#"
            access_denied: the source does not let us in: permission denied for table secret; grant the right to
            read it"#]],
    );
}

#[tokio::test]
async fn nobody_there_is_told() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let url = format!("postgres://ada:{SECRET}@127.0.0.1:{port}/hr");
    let error = asked(query("SELECT 1 AS a"), &[(VARIABLE, &url)]).await.unwrap_err();
    check(
        &error,
        expect!["unreachable: the source cannot be reached: Connection refused (os error 111)"],
    );
}
