//! Triggers and hooks.

use axum::http::StatusCode;
use serde_json::{Value, json};
use stepwell_connectors::egress::{secret_bytes, sign};
use stepwell_server::auth::Role;

use super::{record, site, site_on_sqlite};
use crate::site::{Call, NOON_MS, Reply, Site, delete, get, post, put};

const TRIGGERS: &str = "/v1/workspaces/acme/triggers";

const NIGHTLY: &str = "
name: nightly
kind: schedule
workflow_id: report
input: {day: monday}
schedule: {cron: \"30 2 * * *\", time_zone: Europe/Berlin}
";

async fn make(site: &Site, document: &str) -> Value {
    site.ask(post(TRIGGERS).yaml(document)).await.expect(StatusCode::CREATED)
}

#[tokio::test]
async fn a_trigger_is_made_changed_switched_and_forgotten() {
    for site in [site().await, site_on_sqlite().await] {
        let made = make(&site, NIGHTLY).await;
        assert_eq!((&made["kind"], &made["version"]), (&json!("schedule"), &json!(1)));
        assert_eq!(made["next_at"], "2025-03-11T01:30:00.000Z");
        let again = site.ask(post(TRIGGERS).yaml(NIGHTLY)).await.expect(StatusCode::OK);
        assert_eq!(again["version"], 2);
        let path = format!("{TRIGGERS}/nightly");
        let stale = put(&path).header("If-Match", "\"1\"").yaml(NIGHTLY);
        site.ask(stale).await.refused(412, "version_mismatch");
        let fresh = put(&path).header("If-Match", "\"2\"").yaml(NIGHTLY);
        assert_eq!(site.ask(fresh).await.expect(StatusCode::OK)["version"], 3);
        let off = site.ask(post(&format!("{path}:disable"))).await.expect(StatusCode::OK);
        assert_eq!((&off["enabled"], &off["next_at"]), (&json!(false), &Value::Null));
        site.ask(post(&format!("{path}:fire"))).await.refused(409, "trigger_disabled");
        let on = site.ask(post(&format!("{path}:enable"))).await.expect(StatusCode::OK);
        assert_eq!(on["enabled"], true);
        let list = site.ask(get(TRIGGERS)).await.expect(StatusCode::OK);
        assert_eq!(list, json!({"items": [on]}));
        assert_eq!(site.ask(get(&path)).await.expect(StatusCode::OK), on);
        assert_eq!(site.ask(delete(&path)).await.status, StatusCode::NO_CONTENT);
        site.ask(get(&path)).await.refused(404, "trigger_not_found");
        site.ask(delete(&path)).await.refused(404, "trigger_not_found");
    }
}

// C-007: the job of a firing says what made it; the same firing again makes no second one.
#[tokio::test]
async fn a_trigger_is_fired_by_hand_once_under_one_key() {
    let site = site_on_sqlite().await;
    make(&site, NIGHTLY).await;
    let call = || {
        let call = post(&format!("{TRIGGERS}/nightly:fire")).header("Idempotency-Key", "k");
        call.json(&json!({"input": {"day": "tuesday"}}))
    };
    let fired = site.ask(call()).await.expect(StatusCode::CREATED);
    assert_eq!(fired["outcome"], "started");
    let job = record(&site, &fired).await;
    assert_eq!((&job["trigger_type"], &job["workflow_id"]), (&json!("schedule"), &json!("report")));
    let again = site.ask(call()).await.expect(StatusCode::OK);
    assert_eq!(again["job_id"], fired["job_id"]);
    let firings = site.ask(get(&format!("{TRIGGERS}/nightly/firings?outcome=started"))).await;
    let firings = firings.expect(StatusCode::OK)["items"].take();
    assert_eq!(firings.as_array().unwrap().len(), 1, "{firings}");
    assert_eq!(firings[0]["job_id"], fired["job_id"]);
    let failed = site.ask(get(&format!("{TRIGGERS}/nightly/firings?outcome=failed"))).await;
    assert_eq!(failed.expect(StatusCode::OK), json!({"items": []}));
    let bad = get(&format!("{TRIGGERS}/nightly/firings?outcome=well"));
    site.ask(bad).await.refused(400, "malformed_parameter");
    let bad = post(&format!("{TRIGGERS}/nightly:fire")).json(&json!({"input": 7}));
    site.ask(bad).await.refused(422, "invalid_request");
}

#[tokio::test]
async fn the_next_firings_of_a_schedule_are_shown_in_the_time_of_the_place() {
    let site = site().await;
    let body =
        json!({"schedule": {"cron": "30 2 * * *", "time_zone": "Europe/Berlin"}, "count": 2});
    let preview = site.ask(post(&format!("{TRIGGERS}:preview")).json(&body)).await;
    let preview = preview.expect(StatusCode::OK);
    assert_eq!(preview["firings"].as_array().unwrap().len(), 2);
    assert_eq!(preview["firings"][0]["at"], "2025-03-11T01:30:00.000Z");
    assert!(preview["firings"][0]["local"].as_str().unwrap().contains("02:30"), "{preview}");
    let bad = json!({"schedule": {"cron": "61 * * * *"}});
    let bad = site.ask(post(&format!("{TRIGGERS}:preview")).json(&bad)).await;
    bad.refused(422, "invalid_request");
}

#[tokio::test]
async fn a_trigger_that_is_not_sound_is_told_everything_and_is_not_made() {
    let site = site().await;
    for document in [
        "name: X\nkind: schedule\nworkflow_id: report\n",
        "name: a\nkind: telepathy\nworkflow_id: report\n",
        "name: a\nkind: file_drop\nworkflow_id: report\nfile_drop: {directory: /etc, glob: \"*\"}\n",
    ] {
        let refused = site.ask(post(TRIGGERS).yaml(document)).await;
        refused.refused(422, "invalid_request");
    }
    let unknown = "name: a\nkind: manual\nworkflow_id: nothing\n";
    site.ask(post(TRIGGERS).yaml(unknown)).await.refused(404, "workflow_not_found");
    let other = put(&format!("{TRIGGERS}/other")).yaml(NIGHTLY);
    site.ask(other).await.refused(422, "invalid_request");
    assert_eq!(site.ask(get(TRIGGERS)).await.expect(StatusCode::OK), json!({"items": []}));
}

#[tokio::test]
async fn triggers_are_for_operators_and_clients_of_the_workspace() {
    let site = site().await;
    for role in [Role::Operator, Role::Client] {
        let token = site.token(role, Some("acme")).await;
        let call = post(TRIGGERS).token(&token).yaml(NIGHTLY);
        assert!(site.send(call).await.status.is_success());
    }
    let viewer = site.token(Role::Viewer, Some("acme")).await;
    site.send(post(TRIGGERS).token(&viewer).yaml(NIGHTLY)).await.refused(403, "forbidden");
    site.send(get(TRIGGERS).token(&viewer)).await.expect(StatusCode::OK);
    let foreign = site.token(Role::Operator, Some("globex")).await;
    site.send(get(TRIGGERS).token(&foreign)).await.refused(404, "workspace_not_found");
    let fire = post(&format!("{TRIGGERS}/nightly:fire")).token(&foreign);
    site.send(fire).await.refused(404, "workspace_not_found");
}

const HOOK: &str = "
name: upload
kind: webhook
workflow_id: report
input: {day: \"{{_body.day}}\"}
webhook: {tolerance: 5m}
";

/// A request to a hook, signed at a moment.
fn signed(secret: &str, id: &str, timestamp_s: i64, body: &Value) -> Call {
    let body = body.to_string();
    let secret = secret_bytes(secret).unwrap();
    let signature = sign(&secret, id, timestamp_s, body.as_bytes());
    post("/v1/hooks/acme/upload")
        .header("webhook-id", id)
        .header("webhook-timestamp", &timestamp_s.to_string())
        .header("webhook-signature", &signature)
        .bytes("application/json", body.into_bytes())
}

// A signed request makes one job, however often it is sent; nobody else makes any.
#[tokio::test]
async fn a_signed_request_fires_a_webhook_trigger_once() {
    let site = site_on_sqlite().await;
    let made = make(&site, HOOK).await;
    assert_eq!(made["hook_url"], "http://stepwell.test/v1/hooks/acme/upload");
    let secret = made["secret"].as_str().unwrap();
    let shown = site.ask(get(&format!("{TRIGGERS}/upload"))).await.expect(StatusCode::OK);
    assert!(shown.get("secret").is_none(), "it is shown once");
    let (now_s, day) = (NOON_MS / 1_000, json!({"day": "friday"}));
    let first = site.send(signed(secret, "m-1", now_s, &day)).await.expect(StatusCode::ACCEPTED);
    assert_eq!(first["created"], true);
    let job = record(&site, &first).await;
    assert_eq!((&job["trigger_type"], &job["status"]), (&json!("webhook"), &json!("queued")));
    let directive = site.lease(super::QUEUE).await;
    assert_eq!(directive["payload"], day);
    let again = site.send(signed(secret, "m-1", now_s, &day)).await.expect(StatusCode::ACCEPTED);
    assert_eq!(again, json!({"job_id": first["job_id"], "created": false}));
    let refused: [Reply; 3] = [
        site.send(signed("whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "m-2", now_s, &day)).await,
        site.send(signed(secret, "m-2", now_s - 301, &day)).await,
        site.send(post("/v1/hooks/acme/upload").json(&day)).await,
    ];
    for reply in &refused {
        reply.refused(401, "invalid_signature");
    }
    let unknown = signed(secret, "m-3", now_s, &day).path("/v1/hooks/acme/nothing");
    let unknown = site.send(unknown).await;
    assert_eq!(unknown.refused(401, "invalid_signature")["detail"], refused[0].json()["detail"]);
    site.ask(post(&format!("{TRIGGERS}/upload:disable"))).await.expect(StatusCode::OK);
    site.send(signed(secret, "m-4", now_s, &day)).await.refused(409, "trigger_disabled");
    site.ask(post(&format!("{TRIGGERS}/upload:fire"))).await.refused(409, "trigger_disabled");
    site.ask(post(&format!("{TRIGGERS}/upload:enable"))).await.expect(StatusCode::OK);
    site.ask(post(&format!("{TRIGGERS}/upload:fire"))).await.refused(422, "invalid_request");
}

// Issue 6: the fresh secret is answered once; the old one stays valid for the grace that was stated.
#[tokio::test]
async fn the_secret_of_a_webhook_is_replaced_and_the_old_one_ends_with_its_grace() {
    let site = site_on_sqlite().await;
    let made = make(&site, HOOK).await;
    let old = made["secret"].as_str().unwrap();
    let rotate = format!("{TRIGGERS}/upload:rotate-secret");
    let rotated = site.ask(post(&rotate)).await.expect(StatusCode::OK);
    assert_eq!(rotated["previous_valid_until"], "2025-03-11T12:00:00.000Z", "24 hours");
    let new = rotated["secret"].as_str().unwrap();
    let now_s = NOON_MS / 1000;
    for (secret, id) in [(old, "m-1"), (new, "m-2")] {
        let sent = site.send(signed(secret, id, now_s, &json!({"day": "monday"}))).await;
        sent.expect(StatusCode::ACCEPTED);
    }
    let ended = site.ask(post(&rotate).json(&json!({"grace": "0s"}))).await.expect(StatusCode::OK);
    assert_eq!(ended["previous_valid_until"], Value::Null);
    for secret in [old, new] {
        let sent = site.send(signed(secret, "m-3", now_s, &json!({"day": "monday"}))).await;
        sent.refused(401, "invalid_signature");
    }
    let shown = site.ask(get(TRIGGERS)).await.expect(StatusCode::OK).to_string()
        + &site.ask(get(&format!("{TRIGGERS}/upload"))).await.expect(StatusCode::OK).to_string()
        + &site.ask(get(&format!("{TRIGGERS}/upload/firings"))).await.text;
    assert!(!shown.contains("whsec_"), "{shown}");
}

#[tokio::test]
async fn a_secret_is_replaced_only_where_there_is_one_and_only_by_who_may() {
    let site = site().await;
    make(&site, HOOK).await;
    make(&site, NIGHTLY).await;
    let rotate = |name: &str| post(&format!("{TRIGGERS}/{name}:rotate-secret"));
    site.ask(rotate("nightly")).await.refused(422, "invalid_request");
    site.ask(rotate("nothing")).await.refused(404, "trigger_not_found");
    for grace in [json!("31d"), json!("soon"), json!(-1)] {
        let refused = site.ask(rotate("upload").json(&json!({"grace": grace}))).await;
        assert_eq!(refused.refused(422, "invalid_request")["details"][0]["path"], "grace");
    }
    let from = |variable| HOOK.replace("{tolerance: 5m}", &format!("{{secret_env: {variable}}}"));
    let refused = site.ask(post(TRIGGERS).yaml(&from("NO_SUCH_VARIABLE"))).await;
    let refused = refused.refused(422, "invalid_request");
    assert_eq!(refused["details"][0]["path"], "webhook.secret_env", "{refused}");
    // One that every test has.
    site.ask(post(TRIGGERS).yaml(&from("CARGO_PKG_NAME"))).await.expect(StatusCode::OK);
    let refused = site.ask(rotate("upload")).await.refused(422, "invalid_request");
    assert!(refused.to_string().contains("CARGO_PKG_NAME"), "{refused}");
    let viewer = site.token(Role::Viewer, Some("acme")).await;
    site.send(rotate("upload").token(&viewer)).await.refused(403, "forbidden");
    let foreign = site.token(Role::Operator, Some("globex")).await;
    site.send(rotate("upload").token(&foreign)).await.refused(404, "workspace_not_found");
}
