//! URLs that answer with JSON, served by a real server.

use std::collections::BTreeMap;

use axum::extract::{Path, Query};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use expect_test::{Expect, expect};
use serde_json::{Value, json};
use stepwell_connectors::source::conformance::member;
use stepwell_connectors::source::{Limits, SourceError, SourceKind};

use super::{SECRET, VARIABLE, asked, opened, said};

/// How many members a page has.
const PAGE: usize = 5_000;

/// A server of members that lets in whoever knows the secret; answers its address.
pub(super) async fn serve() -> String {
    let app =
        Router::new()
            .route("/members", get(members))
            .route("/odata", get(odata))
            .route(
                "/echo",
                get(|headers: HeaderMap| async move { (StatusCode::BAD_REQUEST, echo(&headers)) }),
            )
            .route("/slow", get(std::future::pending::<&'static str>))
            .route("/answer/{status}", get(answer))
            .route(
                "/json",
                get(|Query(query): Query<BTreeMap<String, String>>| async move {
                    query["text"].clone()
                }),
            );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await });
    format!("http://{address}")
}

fn echo(headers: &HeaderMap) -> String {
    let sent = headers.get(header::AUTHORIZATION).map(|value| value.to_str().unwrap());
    format!("no such list, {}", sent.unwrap_or("stranger"))
}

fn is_known(headers: &HeaderMap) -> bool {
    let expected = format!("Bearer {SECRET}");
    headers.get(header::AUTHORIZATION).is_some_and(|sent| *sent == *expected)
}

/// Pages by `Link` headers.
async fn members(headers: HeaderMap, Query(query): Query<BTreeMap<String, usize>>) -> Response {
    if !is_known(&headers) {
        return (StatusCode::UNAUTHORIZED, echo(&headers)).into_response();
    }
    let (count, first) = (query["count"], query.get("first").copied().unwrap_or(0));
    let end = count.min(first + PAGE);
    let list: Vec<Value> = (first..end).map(|number| json!(member(number))).collect();
    let answer = Json(json!({"data": {"members": list}}));
    if end == count {
        return answer.into_response();
    }
    let link = format!("</members?count={count}&first={end}>; rel=\"next\"");
    ([(header::LINK, link)], answer).into_response()
}

/// Pages as OData does.
async fn odata(headers: HeaderMap, Query(query): Query<BTreeMap<String, String>>) -> Json<Value> {
    let host = headers[header::HOST].to_str().unwrap();
    Json(match query.get("page").map(String::as_str) {
        None => json!({
            "value": [{"Id": 1}],
            "@odata.nextLink": format!("http://{host}/odata?page=2"),
        }),
        Some("2") => json!({"value": [{"Id": 2, "Name": "Alan"}]}),
        Some("same") => json!({"value": [], "@odata.nextLink": "/odata?page=same"}),
        Some(_) => json!({"value": [], "@odata.nextLink": "http://evil.example/odata"}),
    })
}

async fn answer(Path(status): Path<u16>) -> Response {
    let status = StatusCode::from_u16(status).unwrap();
    (status, [(header::LOCATION, "/elsewhere")], "because").into_response()
}

fn at(query: &str, rows: Option<&str>) -> SourceKind {
    SourceKind::Http { query: Some(query.to_owned()), rows: rows.map(str::to_owned) }
}

#[track_caller]
fn check(error: &SourceError, expected: Expect) {
    expected.assert_eq(&said(error));
}

// Half of a list would look like members that have left.
#[tokio::test]
async fn a_list_in_pages_is_read_to_its_end() {
    let base = serve().await;
    let pairs = [(VARIABLE, base.as_str())];
    let rows = asked(at("/odata", Some("value")), &pairs).await.unwrap();
    assert_eq!(rows.columns, ["Id", "Name"]);
    assert_eq!(json!(rows.rows), json!([{"Id": 1}, {"Id": 2, "Name": "Alan"}]));

    let elsewhere = asked(at("/odata?page=x", Some("value")), &pairs).await.unwrap_err();
    check(
        &elsewhere,
        expect![[r#"
            unreadable: the answer of the source cannot be read: its next page is on another host, which is not
            asked"#]],
    );
    let same = asked(at("/odata?page=same", Some("value")), &pairs).await.unwrap_err();
    check(
        &same,
        expect![
            "unreadable: the answer of the source cannot be read: its next page is the same page again"
        ],
    );
}

#[tokio::test]
async fn an_answer_that_is_no_list_is_told() {
    let base = serve().await;
    for (text, rows, expected) in [
        (
            "[{\"Id\":1},7]",
            None,
            expect!["unreadable: the answer of the source cannot be read: row 2 is not an object"],
        ),
        (
            "{\"a\":[]}",
            None,
            expect![[r#"
                unreadable: the answer of the source cannot be read: it is not a list; say with `rows` where in it
                the list is"#]],
        ),
        (
            "{\"a\":{\"b\":[]}}",
            Some("a.c"),
            expect![[
                r#"unreadable: the answer of the source cannot be read: there is no "c"; there are ["b"]"#
            ]],
        ),
        (
            "{\"a\":7}",
            Some("a.c"),
            expect![[
                r#"unreadable: the answer of the source cannot be read: there is no "c", because it stands in no object"#
            ]],
        ),
        (
            "<html>",
            None,
            expect![[r#"
                unreadable: the answer of the source cannot be read: it is not JSON (expected value at line 1 column
                1)"#]],
        ),
    ] {
        let mut url = "/json?text=".to_owned();
        url.extend(text.bytes().map(|byte| format!("%{byte:02X}")));
        check(&asked(at(&url, rows), &[(VARIABLE, &base)]).await.unwrap_err(), expected);
    }
}

#[tokio::test]
async fn a_refusal_says_what_to_look_at() {
    let base = serve().await;
    for (status, expected) in [
        (
            403,
            expect![
                "access_denied: the source does not let us in: it answered 403 (because); check MEMBERS_AUTHORIZATION"
            ],
        ),
        (404, expect!["query_failed: the query failed: it answered 404 (because)"]),
        (
            302,
            expect![[r#"
                unreachable: the source cannot be reached: it answered 302, and redirects are not followed; name the
                URL that it leads to"#]],
        ),
        (503, expect!["unreachable: the source cannot be reached: it answered 503 (because)"]),
    ] {
        let kind = at(&format!("/answer/{status}"), None);
        check(&asked(kind, &[(VARIABLE, &base)]).await.unwrap_err(), expected);
    }
    let pairs = [(VARIABLE, base.as_str()), ("MEMBERS_AUTHORIZATION", "Bearer wr0ng-t0ken")];
    let error = asked(at("/members?count=1", None), &pairs).await.unwrap_err();
    check(
        &error,
        expect![[r#"
            access_denied: the source does not let us in: it answered 401 (no such list, [hidden]); check
            MEMBERS_AUTHORIZATION"#]],
    );
}

#[tokio::test]
async fn nobody_there_and_an_answer_without_end_are_told() {
    let base = serve().await;
    let limits = Limits { bytes_max: 1_000, ..Limits::default() };
    let authorization = format!("Bearer {SECRET}");
    let pairs = [(VARIABLE, base.as_str()), ("MEMBERS_AUTHORIZATION", authorization.as_str())];
    let source = opened(at("/members?count=100", Some("data.members")), &pairs, limits).unwrap();
    let error = source.rows().await.unwrap_err();
    assert_eq!(error, SourceError::TooManyBytes { bytes_max: 1_000 });

    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let gone = format!("http://{}/{SECRET}", listener.local_addr().unwrap());
    drop(listener);
    let error = asked(at("", None), &[(VARIABLE, &gone)]).await.unwrap_err();
    check(
        &error,
        expect!["unreachable: the source cannot be reached: Connection refused (os error 111)"],
    );
}
