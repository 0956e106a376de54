//! The addresses of the contract.

use axum::http::StatusCode;
use serde_json::json;
use stepwell_server::auth::Role;

use super::{record, request, request_with, site};
use crate::site::{get, post};

// POST/GET /v1/lifebook/jobs, GET …/{id}, POST …/{id}:cancel, for the token's own workspace.
#[tokio::test]
async fn the_addresses_of_the_contract_lead_to_the_jobs_of_the_tokens_workspace() {
    let site = site().await;
    let token = site.token(Role::Client, Some("acme")).await;
    let made = site.send(post("/v1/lifebook/jobs").token(&token).json(&request())).await;
    let job = made.expect(StatusCode::CREATED);
    assert_eq!(job["workspace_id"], "acme");
    assert_eq!(record(&site, &job).await, job);
    let listed = site.send(get("/v1/lifebook/jobs").token(&token)).await.expect(StatusCode::OK);
    assert_eq!(listed["items"][0]["job_id"], job["job_id"]);
    let path = format!("/v1/lifebook/jobs/{}", job["job_id"].as_str().unwrap());
    assert_eq!(site.send(get(&path).token(&token)).await.expect(StatusCode::OK), job);
    let other = site.token(Role::Client, Some("globex")).await;
    site.send(get(&path).token(&other)).await.refused(404, "job_not_found");
    site.send(post(&format!("{path}:cancel")).token(&other)).await.refused(404, "job_not_found");
    let canceled = site.send(post(&format!("{path}:cancel")).token(&token)).await;
    assert_eq!(canceled.expect(StatusCode::OK)["status"], "canceled");
}

#[tokio::test]
async fn a_token_for_all_workspaces_names_one() {
    let site = site().await;
    let nowhere = site.ask(post("/v1/lifebook/jobs").json(&request())).await;
    nowhere.refused(400, "malformed_parameter");
    site.ask(get("/v1/lifebook/jobs")).await.refused(400, "malformed_parameter");
    let named = post("/v1/lifebook/jobs").json(&request_with(&json!({"workspace_id": "globex"})));
    assert_eq!(site.ask(named).await.expect(StatusCode::CREATED)["workspace_id"], "globex");
    let listed = site.ask(get("/v1/lifebook/jobs?workspace_id=globex&limit=5")).await;
    assert_eq!(listed.expect(StatusCode::OK)["items"].as_array().unwrap().len(), 1);
    let token = site.token(Role::Client, Some("acme")).await;
    let foreign = post("/v1/lifebook/jobs").token(&token);
    let foreign = foreign.json(&request_with(&json!({"workspace_id": "globex"})));
    site.send(foreign).await.refused(404, "workspace_not_found");
}
