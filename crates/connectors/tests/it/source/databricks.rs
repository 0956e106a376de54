//! Databricks: what its API may answer, and who may ask.

use std::time::Duration;

use expect_test::{Expect, expect};
use stepwell_connectors::source::{Limits, SourceError};

use super::warehouse::{Warehouse, asking};
use super::{SECRET, VARIABLE, asked, said};

#[track_caller]
fn check(error: &SourceError, expected: Expect) {
    let said = said(error);
    assert!(!said.contains(SECRET) && !said.contains("p%26ss"), "{said}");
    expected.assert_eq(&said);
}

#[tokio::test]
async fn a_statement_that_is_done_at_once_is_not_asked_for_again() {
    let warehouse = Warehouse::start(SECRET).await;
    let rows = warehouse.source("fast 3", Limits::default()).rows().await.unwrap();
    assert_eq!(rows.rows.len(), 3);
}

#[tokio::test]
async fn whatever_else_a_statement_becomes_is_told() {
    let warehouse = Warehouse::start(SECRET).await;
    for (query, expected) in [
        (
            "SELECT 1",
            expect![
                "query_failed: the query failed: BAD_REQUEST: [TABLE_OR_VIEW_NOT_FOUND] asked with [hidden]"
            ],
        ),
        ("canceled", expect!["query_failed: the query failed: the statement was canceled"]),
        (
            "closed",
            expect![
                "query_failed: the query failed: the statement was closed before its result was read"
            ],
        ),
        (
            "lost",
            expect![
                "unreadable: the answer of the source cannot be read: 3 rows were announced and 2 came"
            ],
        ),
        (
            "elsewhere",
            expect![
                "unreadable: the answer of the source cannot be read: its next chunk is no result of a statement"
            ],
        ),
    ] {
        let error = warehouse.source(query, Limits::default()).rows().await.unwrap_err();
        check(&error, expected);
    }
}

// A warehouse costs money as long as a statement runs.
#[tokio::test]
async fn a_statement_that_nobody_waits_for_is_canceled() {
    let warehouse = Warehouse::start(SECRET).await;
    let limits = Limits { time_max: Duration::from_millis(300), ..Limits::default() };
    let error = warehouse.source("never", limits).rows().await.unwrap_err();
    assert_eq!(error.code(), "timed_out");
    warehouse.canceled().await;
}

// A-032: a token of Microsoft Entra for the application of the environment.
#[tokio::test]
async fn an_application_gets_its_token_from_entra() {
    let warehouse = Warehouse::start(SECRET).await;
    let pairs = |secret: &'static str| {
        [
            (VARIABLE, warehouse.url.as_str()),
            ("WAREHOUSE", "w-1"),
            ("AZURE_AUTHORITY_HOST", warehouse.url.as_str()),
            ("AZURE_TENANT_ID", "contoso.example"),
            ("AZURE_CLIENT_ID", "app"),
            ("AZURE_CLIENT_SECRET", secret),
        ]
    };
    let rows = asked(asking("members 2"), &pairs("p&ss word")).await.unwrap();
    assert_eq!(rows.rows.len(), 2);
    let error = asked(asking("members 2"), &pairs("0ther-s3cret")).await.unwrap_err();
    check(
        &error,
        expect![[r#"
            access_denied: the source does not let us in: Microsoft Entra gives no token (AADSTS7000215: Invalid
            client secret provided: client_secret=[hidden]); check AZURE_TENANT_ID, AZURE_CLIENT_ID and
            AZURE_CLIENT_SECRET"#]],
    );
}

// A-033: the warehouse and the token come from the environment.
#[tokio::test]
async fn a_wrong_token_or_warehouse_is_told() {
    let warehouse = Warehouse::start(SECRET).await;
    let url = (VARIABLE, warehouse.url.as_str());
    let beside = [url, ("WAREHOUSE", "w-1"), ("MEMBERS_TOKEN", SECRET)];
    assert_eq!(asked(asking("members 1"), &beside).await.unwrap().rows.len(), 1);
    let wrong = [url, ("WAREHOUSE", "w-1"), ("MEMBERS_TOKEN", "wr0ng-t0ken")];
    let error = asked(asking("members 1"), &wrong).await.unwrap_err();
    check(
        &error,
        expect![[r#"
            access_denied: the source does not let us in: it answered 403 (PERMISSION_DENIED: Invalid access
            token: Bearer [hidden]); check MEMBERS_TOKEN"#]],
    );
    let other = [url, ("WAREHOUSE", "w-2"), ("MEMBERS_TOKEN", SECRET)];
    let error = asked(asking("members 1"), &other).await.unwrap_err();
    check(
        &error,
        expect![[r#"
            query_failed: the query failed: it answered 400 (INVALID_PARAMETER_VALUE: warehouse_id must not be
            "w-2")"#]],
    );
}
