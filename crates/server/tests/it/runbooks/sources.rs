//! What a data source holds, looked at without making anything of it.

use std::sync::Arc;

use axum::http::StatusCode;
use serde_json::{Map, Value, json};
use stepwell_connectors::source::{Rows, Source, SourceError};
use stepwell_engine::{Settings, Sources};
use stepwell_store::memory::MemoryStore;

use super::{MAILBOXES, publish};
use crate::site::{Site, post};

/// A source that answers with these rows, or with this error.
struct Fixed(Result<Vec<Value>, SourceError>);

impl Source for Fixed {
    fn rows(&self) -> stepwell_connectors::bus::Answer<'_, Result<Rows, SourceError>> {
        let rows = self.0.clone().map(|rows| Rows {
            columns: vec!["Email".to_owned(), "Name".to_owned(), "MoveAt".to_owned()],
            rows: rows
                .iter()
                .map(|row| row.as_object().unwrap().clone())
                .collect::<Vec<Map<_, _>>>(),
        });
        Box::pin(async { rows })
    }
}

async fn site_asking(rows: Result<Vec<Value>, SourceError>) -> Site {
    let mut settings = Settings::default();
    settings.scheduler.enabled = false;
    settings.scheduler.sources = Sources::new(move |_| Ok(Box::new(Fixed(rows.clone()))));
    let site = Site::with_engine(Arc::new(MemoryStore::new()), settings, |_| {}).await;
    publish(&site, MAILBOXES).await;
    site
}

fn row(number: usize, at: &str) -> Value {
    json!({"Email": format!("m{number}@contoso.com"), "Name": "M", "MoveAt": at})
}

#[tokio::test]
async fn a_preview_shows_what_a_pass_would_make_and_makes_nothing() {
    // at most 100 rows, all counted, groups and skipped rows with their reasons.
    let mut rows: Vec<Value> = (0..150).map(|number| row(number, "2025-04-01T00:00:00Z")).collect();
    rows.push(row(7, "2025-04-01T00:00:00Z"));
    rows.push(row(200, "2025-05-01T00:00:00Z"));
    rows.push(json!({"Email": "", "MoveAt": "2025-04-01T00:00:00Z"}));
    rows.push(row(201, "some day"));
    let site = site_asking(Ok(rows)).await;
    let before = site.written().await;
    let reply = site.ask(post("/api/runbooks/mailboxes/query/preview")).await;
    let preview = reply.expect(StatusCode::OK);
    assert_eq!((&preview["total"], preview["rows"].as_array().unwrap().len()), (&json!(154), 100));
    let group = |start: &str, members: usize| {
        let (exists_as, known) = (Value::Null, 0);
        json!({
            "batch_start_time": start, "members": members, "exists_as": exists_as,
            "new": members, "known": known,
        })
    };
    assert_eq!(
        preview["groups"],
        json!([group("2025-04-01T00:00:00.000Z", 150), group("2025-05-01T00:00:00.000Z", 1)])
    );
    let skipped: Vec<_> =
        preview["skipped"].as_array().unwrap().iter().map(|it| &it["row"]).collect();
    assert_eq!(skipped, [151, 153, 154]);
    assert_eq!(preview["skipped"][0]["key"], "m7@contoso.com");
    assert_eq!(site.written().await, before);
}

#[tokio::test]
async fn a_source_that_does_not_answer_is_named_with_what_to_do() {
    //
    let missing = SourceError::MissingVariable { name: "MAILBOXES".to_owned() };
    let site = site_asking(Err(missing)).await;
    let reply = site.ask(post("/api/runbooks/mailboxes/query/preview")).await;
    let problem = reply.refused(424, "source_failed");
    assert_eq!(problem["details"][0]["code"], "missing_variable");
    assert!(problem["detail"].as_str().unwrap().contains("MAILBOXES"), "{problem}");
    let reply = site.ask(post("/api/runbooks/nobody/query/preview")).await;
    reply.refused(404, "runbook_not_found");
}
