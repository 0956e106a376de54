//! Lists of batches and phases.

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::{MAILBOXES, act, detected, made, site_with};
use crate::site::{Site, get};

async fn listed(site: &Site, query: &str) -> (Vec<i64>, Value) {
    let page = site.ask(get(&format!("/api/batches?{query}"))).await.expect(StatusCode::OK);
    let ids = page["items"].as_array().unwrap().iter().map(|it| it["id"].as_i64().unwrap());
    (ids.collect(), page)
}

#[tokio::test]
async fn batches_are_listed_newest_first_by_runbook_status_and_kind() {
    //
    let site = site_with(MAILBOXES).await;
    let first = made(&site).await;
    let timed = detected(&site, 7 * 86_400).await.id().0;
    let last = made(&site).await;
    act(&site, last, "cancel").await;
    assert_eq!(listed(&site, "").await.0, [last, timed, first]);
    assert_eq!(listed(&site, "manual=true").await.0, [last, first]);
    assert_eq!(listed(&site, "manual=false").await.0, [timed]);
    assert_eq!(listed(&site, "status=cancelled").await.0, [last]);
    assert_eq!(listed(&site, "status=cancelled,detected").await.0, [last, first]);
    assert_eq!(listed(&site, "runbook=mailboxes&status=init_dispatched").await.0, [timed]);
    assert_eq!(listed(&site, "runbook=nobody").await.0, Vec::<i64>::new());
}

#[tokio::test]
async fn a_page_says_where_in_the_list_it_is() {
    //
    let site = site_with(MAILBOXES).await;
    let (first, second) = (made(&site).await, made(&site).await);
    let timed = detected(&site, 7 * 86_400).await.id().0;
    let (ids, page) = listed(&site, "limit=1&offset=1").await;
    assert_eq!(ids, [second]);
    assert_eq!(
        (&page["total"], &page["limit"], &page["offset"]),
        (&json!(3), &json!(1), &json!(1))
    );
    assert_eq!(listed(&site, "limit=2&offset=1").await.0, [second, first]);
    let (ids, page) = listed(&site, "manual=false&limit=1&offset=0").await;
    assert_eq!((ids, &page["total"]), (vec![timed], &json!(1)));
    assert_eq!(listed(&site, "manual=false&offset=1").await.0, Vec::<i64>::new());
}

#[tokio::test]
async fn a_parameter_that_cannot_be_used_is_refused() {
    let site = site_with(MAILBOXES).await;
    for query in
        ["limit=0", "limit=201", "offset=-1", "offset=x", "manual=maybe", "status=open", "runbok=x"]
    {
        let path = format!("/api/batches?{query}");
        site.ask(get(&path)).await.refused(400, "malformed_parameter");
    }
}

#[tokio::test]
async fn phases_are_listed_in_the_order_they_are_due() {
    //
    let site = site_with(MAILBOXES).await;
    let id = detected(&site, 7 * 86_400).await.id().0;
    let page = site.ask(get(&format!("/api/batches/{id}/phases"))).await.expect(StatusCode::OK);
    let phases = page["items"].as_array().unwrap();
    let told: Vec<_> = phases
        .iter()
        .map(|it| {
            (
                it["phase_name"].as_str().unwrap(),
                it["offset"].as_str().unwrap(),
                it["due_at"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("prepare", "T-1d", "2025-03-16T12:00:00.000Z"),
            ("cutover", "T-0", "2025-03-17T12:00:00.000Z"),
        ]
    );
    assert!(phases.iter().all(|it| it["status"] == "pending" && it["batch_id"] == id));
}
