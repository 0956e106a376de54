//! API tokens.

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};
use stepwell_server::auth::Role;
use stepwell_server::first_admin_token;

use crate::site::{Call, Site, get, post};

async fn create(site: &Site, body: &Value) -> Value {
    site.ask(post("/v1/tokens").json(body)).await.expect(StatusCode::CREATED)
}

// D-064: a token opens the door it was made for; the store never has its secret.
#[tokio::test]
async fn a_token_is_shown_once_and_stored_as_a_hash() {
    let site = Site::on_sqlite().await;
    let made = create(&site, &json!({"name": "ci", "role": "client", "tenant": "acme"})).await;
    let token = made["token"].as_str().unwrap();
    let (id, secret) = token.strip_prefix("swl_").unwrap().split_once('_').unwrap();
    assert_eq!((id, secret.len()), (made["id"].as_str().unwrap(), 43));
    site.send(get("/v1/jobs").token(token)).await.expect(StatusCode::OK);
    let listed = site.ask(get("/v1/tokens")).await;
    assert!(!listed.text.contains(secret));
    assert_eq!(listed.expect(StatusCode::OK)["items"].as_array().unwrap().len(), 2);
    let stored = site.store.token(id.to_owned()).await.unwrap().unwrap();
    assert!(!stored.secret_hash.is_empty() && !secret.as_bytes().starts_with(&stored.secret_hash));
}

#[tokio::test]
async fn a_token_stops_working_within_five_seconds_of_its_revocation() {
    let site = Site::on_sqlite().await;
    let made = create(&site, &json!({"name": "ci", "role": "viewer"})).await;
    let token = made["token"].as_str().unwrap();
    site.send(get("/v1/jobs").token(token)).await.expect(StatusCode::OK);
    let path = format!("/v1/tokens/{}", made["id"].as_str().unwrap());
    let revoke = || Call::new(Method::DELETE, &path);
    site.ask(revoke()).await.expect(StatusCode::NO_CONTENT);
    site.ask(revoke()).await.expect(StatusCode::NO_CONTENT);
    site.advance(5);
    site.send(get("/v1/jobs").token(token)).await.refused(401, "invalid_token");
    let missing = Call::new(Method::DELETE, "/v1/tokens/AAAAAAAA");
    site.ask(missing).await.refused(404, "token_not_found");
}

#[tokio::test]
async fn a_token_expires() {
    let site = Site::in_memory().await;
    let made = create(&site, &json!({"name": "ci", "role": "viewer", "expires_in_days": 1})).await;
    assert_eq!(made["expires_at"], "2025-03-11T12:00:00.000Z");
    let token = made["token"].as_str().unwrap();
    site.advance(24 * 60 * 60 - 1);
    site.send(get("/v1/jobs").token(token)).await.expect(StatusCode::OK);
    site.advance(1);
    site.send(get("/v1/jobs").token(token)).await.refused(401, "invalid_token");
    let made = create(&site, &json!({"name": "ci", "role": "viewer"})).await;
    assert_eq!(
        made["expires_at"], "2025-06-09T12:00:00.000Z",
        "ninety days if nobody says otherwise"
    );
}

// F128: whatever is wrong with a token, the answer is the same.
#[tokio::test]
async fn every_token_that_proves_nothing_is_refused_in_the_same_words() {
    let site = Site::in_memory().await;
    let id = &site.admin[4..12];
    let wrong = format!("swl_{id}_{}", "A".repeat(43));
    let unknown = format!("swl_AAAAAAAA_{}", "A".repeat(43));
    let longer = format!("{}A", site.admin);
    let mut answers = Vec::new();
    for token in ["", "x", "swl_", &wrong, &unknown, &longer, &site.admin.to_lowercase()] {
        let reply = site.send(get("/v1/jobs").token(token)).await;
        assert!(reply.header("www-authenticate").starts_with("Bearer"));
        answers.push(reply.refused(401, "invalid_token")["detail"].clone());
    }
    answers.dedup();
    assert_eq!(answers.len(), 1);
    let other = get("/v1/jobs").header("Authorization", "Basic eDp5");
    site.send(other).await.refused(401, "unauthenticated");
}

#[tokio::test]
async fn an_administrator_of_one_tenant_makes_tokens_for_that_tenant_only() {
    let site = Site::in_memory().await;
    let admin = site.token(Role::Admin, Some("acme")).await;
    let call = |body: Value| post("/v1/tokens").token(&admin).json(&body);
    let before = site.written().await;
    let foreign = call(json!({"name": "x", "role": "client", "tenant": "globex"}));
    site.send(foreign).await.refused(403, "tenant_mismatch");
    assert_eq!(site.written().await, before);
    let made = site.send(call(json!({"name": "x", "role": "client"}))).await;
    assert_eq!(made.expect(StatusCode::CREATED)["tenant"], "acme");
    let listed = site.send(get("/v1/tokens").token(&admin)).await.expect(StatusCode::OK);
    assert_eq!(
        listed["items"].as_array().unwrap().len(),
        2,
        "the first administrator is not shown"
    );
    let id = &site.admin[4..12];
    let revoke = Call::new(Method::DELETE, &format!("/v1/tokens/{id}")).token(&admin);
    site.send(revoke).await.refused(404, "token_not_found");
}

#[tokio::test]
async fn the_first_administrator_is_made_once_unless_nobody_is_left() {
    let site = Site::in_memory().await;
    assert_eq!(first_admin_token(&site.engine).await.unwrap(), None);
    let id = &site.admin[4..12];
    site.ask(Call::new(Method::DELETE, &format!("/v1/tokens/{id}")))
        .await
        .expect(StatusCode::NO_CONTENT);
    let next = first_admin_token(&site.engine).await.unwrap().unwrap();
    site.send(get("/v1/tokens").token(&next)).await.expect(StatusCode::OK);
}
