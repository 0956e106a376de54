//! Events of schedulers, in and out.

use axum::http::StatusCode;
use serde_json::{Value, json};
use stepwell_server::auth::Role;

use super::{
    MAILBOXES, act, detected, in_cutover, made, receive, report, site_with, steps, until,
    without_init, work,
};
use crate::site::{Reply, Site, delete, get, post};

async fn send(site: &Site, message_type: &str, body: &Value) -> Reply {
    let call = post("/api/orchestrator-events").header("MessageType", message_type).json(body);
    site.ask(call).await
}

async fn outcome(site: &Site, message_type: &str, body: &Value) -> String {
    let reply = send(site, message_type, body).await.expect(StatusCode::ACCEPTED);
    reply["outcome"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn an_existing_scheduler_begins_init_and_phases_with_its_events() {
    // A-083, A-195, A-197, A-198, A-059, A-063: and what has begun is not begun again.
    let site = site_with(MAILBOXES).await;
    let id = made(&site).await;
    let init = json!({"BatchId": id, "RunbookName": "mailboxes", "RunbookVersion": 1});
    assert_eq!(outcome(&site, "batch-init", &init).await, "accepted");
    assert_eq!(outcome(&site, "batch-init", &init).await, "accepted");
    assert_eq!(work(&site, "worker-01", 1).await, ["New-Group"]);
    let phase = until(&site, id, |batch| batch.status.word() == "active").await.phases[0].id.0;
    let due = json!({
        "batchId": id, "runbookName": "mailboxes", "runbookVersion": 1, "phaseName": "prepare",
        "phaseExecutionId": phase, "memberIds": [1, 2, 3],
    });
    assert_eq!(outcome(&site, "phase-due", &due).await, "accepted");
    assert_eq!(outcome(&site, "phase-due", &due).await, "accepted");
    assert_eq!(work(&site, "worker-01", 2).await.len(), 2);
    until(&site, id, |batch| batch.phases[0].status.word() == "completed").await;
    let call = post("/api/worker-jobs/worker-01/receive").json(&json!({"max": 10}));
    assert_eq!(site.ask(call).await.json()["messages"], json!([]), "nothing was sent twice");
}

#[tokio::test]
async fn the_body_names_the_type_only_where_the_property_does_not() {
    // A-195, X-008
    let site = site_with(MAILBOXES).await;
    let id = made(&site).await;
    let body = json!({
        "messageType": "batch-init", "batchId": id, "runbookName": "mailboxes", "runbookVersion": 1,
    });
    let reply = site.ask(post("/api/orchestrator-events").json(&body)).await;
    assert_eq!(reply.expect(StatusCode::ACCEPTED)["outcome"], "accepted");
    let reply = send(&site, "phase-due", &body).await;
    reply.refused(422, "invalid_request");
}

#[tokio::test]
async fn an_event_that_the_batch_does_not_call_for_is_ignored() {
    // A-098, A-102, A-217
    let site = site_with(MAILBOXES).await;
    let id = made(&site).await;
    let phase = site.engine.batch(stepwell_core::id::BatchId(id)).await.unwrap().phases[0].id.0;
    let due = json!({
        "BatchId": id, "RunbookName": "mailboxes", "RunbookVersion": 1, "PhaseName": "prepare",
        "PhaseExecutionId": phase,
    });
    assert_eq!(outcome(&site, "phase-due", &due).await, "ignored");
    let nowhere = json!({"BatchId": 999, "RunbookName": "mailboxes", "RunbookVersion": 1});
    assert_eq!(outcome(&site, "batch-init", &nowhere).await, "unknown");
    let member = super::members(&site, id).await[0]["id"].clone();
    let change = json!({"BatchId": id, "MemberKey": "ada@contoso.com", "BatchMemberId": member});
    assert_eq!(outcome(&site, "member-added", &change).await, "ignored");
    let nobody = json!({"BatchId": id, "MemberKey": "x", "BatchMemberId": 999});
    assert_eq!(outcome(&site, "member-removed", &nobody).await, "unknown");
    let check = json!({"StepExecutionId": 999 << 16, "IsInitStep": false});
    assert_eq!(outcome(&site, "poll-check", &check).await, "unknown");
}

#[tokio::test]
async fn a_check_wakes_a_step_only_when_its_time_has_come() {
    // A-101, A-102, A-200, A-201, X-024: the row decides, the message is only the wake-up.
    let site = site_with(MAILBOXES).await;
    let id = in_cutover(&site).await;
    let job = &receive(&site, "worker-02", 2).await[0];
    report(&site, job, "Failure", &Value::Null).await;
    let step = job["body"]["CorrelationData"]["StepExecutionId"].clone();
    let check = json!({"StepExecutionId": step, "IsInitStep": false});
    assert_eq!(outcome(&site, "retry-check", &check).await, "accepted");
    let waiting = &steps(&site, id, "phase=cutover&status=pending").await[0];
    assert_eq!(waiting["id"], step, "its time has not come");
}

#[tokio::test]
async fn an_unknown_type_is_refused_and_kept_as_a_dead_letter() {
    // A-205, X-032
    let site = site_with(MAILBOXES).await;
    let problem =
        send(&site, "phase-du", &json!({"BatchId": 1})).await.refused(422, "unknown_message_type");
    assert!(problem["detail"].as_str().unwrap().contains("phase-due"), "{problem}");
    let reply = site.ask(post("/api/orchestrator-events").json(&json!({"BatchId": 1}))).await;
    reply.refused(422, "unknown_message_type");
    let letters = site.ask(get("/v1/dead-letters")).await.expect(StatusCode::OK);
    let letters = letters["items"].as_array().unwrap();
    assert_eq!(letters.len(), 2);
    assert!(letters.iter().all(|it| it["reason"] == "UnknownMessageType"), "{letters:?}");
    let letter = site.ask(get(&format!("/v1/dead-letters/{}", letters[1]["id"]))).await;
    assert_eq!(letter.expect(StatusCode::OK)["message"], r#"{"BatchId":1}"#);
}

async fn emitted(site: &Site, query: &str) -> (Vec<(String, Value)>, Value) {
    let page =
        site.ask(get(&format!("/api/orchestrator-events?{query}"))).await.expect(StatusCode::OK);
    let items = page["items"].as_array().unwrap().iter();
    let events = items.map(|it| {
        (it["properties"]["MessageType"].as_str().unwrap().to_owned(), it["body"].clone())
    });
    (events.collect(), page["next"].clone())
}

#[tokio::test]
async fn our_own_scheduler_tells_its_events_with_their_exact_schemas() {
    // A-197, A-198, A-199, A-205, X-008, X-009
    let site = site_with(MAILBOXES).await;
    let id = in_cutover(&site).await;
    let late = "Email,Name\ncyd@contoso.com,Cyd\n";
    site.ask(post(&format!("/api/batches/{id}/members")).csv(late))
        .await
        .expect(StatusCode::CREATED);
    let members = super::members(&site, id).await;
    let first = members[0]["id"].clone();
    site.ask(delete(&format!("/api/batches/{id}/members/{first}"))).await.expect(StatusCode::OK);
    let phases = super::batch(&site, id).await["phases"].clone();
    let due = |place: usize, name: &str| {
        let body = json!({
            "BatchId": id, "RunbookName": "mailboxes", "RunbookVersion": 1, "PhaseName": name,
            "PhaseExecutionId": phases[place]["id"],
        });
        ("phase-due".to_owned(), body)
    };
    let change = |kind: &str, member: &Value| {
        let body = json!({
            "BatchId": id, "MemberKey": member["member_key"], "BatchMemberId": member["id"],
        });
        (kind.to_owned(), body)
    };
    let expected = [
        (
            "batch-init".to_owned(),
            json!({"BatchId": id, "RunbookName": "mailboxes", "RunbookVersion": 1}),
        ),
        due(0, "prepare"),
        due(1, "cutover"),
        change("member-added", &members[2]),
        change("member-removed", &members[0]),
    ];
    assert_eq!(emitted(&site, "").await.0, expected);
    let (mut told, mut after) = (Vec::new(), String::new());
    for _ in 0..5 {
        let (events, next) = emitted(&site, &format!("limit=1{after}")).await;
        told.extend(events);
        after = format!("&after={}", next.as_str().unwrap());
    }
    assert_eq!(told, expected);
    let (nothing, next) = emitted(&site, &after).await;
    assert_eq!(nothing, []);
    act(&site, id, "cancel").await;
    assert_eq!(emitted(&site, &format!("after={}", next.as_str().unwrap())).await.0, []);
}

#[tokio::test]
async fn phases_that_come_due_by_themselves_are_told_too() {
    // A-041, A-060
    let site = site_with(&without_init()).await;
    let id = detected(&site, 3_600).await.id().0;
    until(&site, id, |batch| batch.phases[0].status.word() == "dispatched").await;
    let (events, _) = emitted(&site, "").await;
    assert_eq!(events.len(), 1);
    assert_eq!((events[0].0.as_str(), &events[0].1["PhaseName"]), ("phase-due", &json!("prepare")));
}

#[tokio::test]
async fn events_are_taken_from_operators_and_read_by_anybody() {
    let site = site_with(MAILBOXES).await;
    let viewer = site.token(Role::Viewer, None).await;
    let call = post("/api/orchestrator-events").json(&json!({})).token(&viewer);
    site.send(call).await.refused(403, "forbidden");
    site.send(get("/api/orchestrator-events").token(&viewer)).await.expect(StatusCode::OK);
    let call = get("/api/orchestrator-events?after=x").token(&viewer);
    site.send(call).await.refused(400, "malformed_parameter");
}
