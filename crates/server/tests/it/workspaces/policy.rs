//! What is agreed for a workspace.

use axum::http::StatusCode;
use serde_json::json;

use super::{JOBS, create, finish, record, request, site, site_on_sqlite};
use crate::site::{get, post, put};

const POLICY: &str = "/v1/workspaces/acme/policy";

// C-041: how long jobs are kept is agreed per workspace, and others keep the installation's times.
#[tokio::test]
async fn a_workspace_has_times_of_its_own() {
    let site = site_on_sqlite().await;
    let nothing = site.ask(get(POLICY)).await.expect(StatusCode::OK);
    let none = json!({"keep": null, "keep_dead": null, "restore": null, "jobs_open_max": null});
    assert_eq!(nothing, none);
    let policy =
        json!({"keep": "2d", "keep_dead": "5d", "restore": "unfinished", "jobs_open_max": 2});
    assert_eq!(site.ask(put(POLICY).json(&policy)).await.expect(StatusCode::OK), policy);
    assert_eq!(site.ask(get(POLICY)).await.expect(StatusCode::OK), policy);
    let job = create(&site, &json!({})).await;
    finish(&site).await;
    let day_s = 24 * 60 * 60;
    assert_eq!(record(&site, &job).await["ttl_at"], 1_741_608_000 + 2 * day_s);
    // C-005: the time is the one at which the sweep deletes it, and not before.
    site.advance(2 * day_s - 1);
    assert_eq!(site.store.sweep(site.engine.now(), 10).await.unwrap(), 0);
    site.advance(1);
    assert_eq!(site.store.sweep(site.engine.now(), 10).await.unwrap(), 1);
    let gone = site.ask(get(&super::path(&job)).header("Accept", "application/json")).await;
    gone.refused(410, "job_deleted");
    assert_eq!(site.ask(put(POLICY).json(&json!({}))).await.expect(StatusCode::OK), none);
}

#[tokio::test]
async fn a_workspace_may_have_so_many_open_jobs() {
    let site = site().await;
    site.ask(put(POLICY).json(&json!({"jobs_open_max": 1}))).await.expect(StatusCode::OK);
    create(&site, &json!({})).await;
    let full = site.ask(post(JOBS).json(&request())).await;
    full.refused(429, "tenant_full");
    let elsewhere = post("/v1/workspaces/globex/jobs").json(&request());
    site.ask(elsewhere).await.expect(StatusCode::CREATED);
}

#[tokio::test]
async fn a_policy_that_is_not_sound_changes_nothing() {
    let site = site().await;
    for body in [
        json!({"keep": "soon"}),
        json!({"keep": "1s"}),
        json!({"restore": "always"}),
        json!({"kept": "2d"}),
    ] {
        site.ask(put(POLICY).json(&body)).await.refused(422, "invalid_request");
    }
    assert_eq!(site.ask(get(POLICY)).await.json()["keep"], serde_json::Value::Null);
}
