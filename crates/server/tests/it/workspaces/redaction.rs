//! Errors are shown without personal data, wherever they are shown.

use axum::http::StatusCode;
use serde_json::json;

use super::{create, path, report, site, site_on_sqlite, take};
use crate::site::{get, post};

/// What a careless worker writes into an error.
const SECRETS: [&str; 4] =
    ["ada.lovelace@example.com", "+49 170 1234567", "sk-live-0123456789abcdefghij", "203.0.113.77"];

// C-013: neither the job, nor its steps, history, dead letter, events or stale reports show them.
#[tokio::test]
async fn what_a_worker_says_of_people_is_shown_nowhere() {
    for site in [site().await, site_on_sqlite().await] {
        let job = create(&site, &json!({})).await;
        let directive = take(&site).await;
        let [mail, phone, token, address] = SECRETS;
        let message = format!(
            "no mailbox for {mail}, called {phone} from {address} with Authorization: Bearer {token}"
        );
        let error = json!({"code": format!("NoMailbox:{mail}"), "message": message});
        report(&site, &directive, &json!({"status": "FAILED_FINAL", "error": error})).await;
        let id = job["job_id"].as_str().unwrap();
        let letters = site.ask(get("/v1/dead-letters")).await.expect(StatusCode::OK);
        let letter = format!("/v1/dead-letters/{}", letters["items"][0]["id"]);
        let places = [
            path(&job),
            super::JOBS.to_owned(),
            format!("{}/history", path(&job)),
            format!("{}/explain", path(&job)),
            format!("/v1/jobs/{id}"),
            format!("/v1/jobs/{id}/steps"),
            format!("/v1/jobs/{id}/events"),
            format!("/v1/jobs/{id}/history"),
            format!("/v1/jobs/{id}/stale-reports"),
            "/v1/dead-letters".to_owned(),
            letter,
            "/v1/events?limit=1000".to_owned(),
        ];
        for place in places {
            let reply = site.ask(get(&place).header("Accept", "application/json")).await;
            assert_eq!(reply.status, StatusCode::OK, "{place}: {}", reply.text);
            for secret in SECRETS {
                assert!(!reply.text.contains(secret), "{place} shows {secret}: {}", reply.text);
            }
        }
        let shown = super::record(&site, &job).await;
        let message = shown["last_error_message"].as_str().unwrap();
        assert!(message.contains("no mailbox for") && message.chars().count() <= 200, "{message}");
        let code = shown["last_error_code"].as_str().unwrap();
        assert!(
            code.len() <= 64
                && code
                    .bytes()
                    .all(|c| matches!(c, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'.' | b'-')),
            "{code}"
        );
    }
}

#[tokio::test]
async fn a_callback_is_cleaned_as_a_report_is() {
    let site = site().await;
    let job = create(&site, &json!({})).await;
    let directive = take(&site).await;
    let url = directive["callback_urls"]["result"].as_str().unwrap();
    let body = json!({"status": "FAILED_FINAL", "error": format!("cannot reach {}", SECRETS[0])});
    let body = crate::site::report_body(&directive, &body);
    site.send(post(&url["http://stepwell.test".len()..]).json(&body))
        .await
        .expect(StatusCode::ACCEPTED);
    let history = site.ask(get(&format!("{}/history", path(&job)))).await;
    assert!(history.text.contains("cannot reach") && !history.text.contains(SECRETS[0]));
}
