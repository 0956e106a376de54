//! Workers over HTTP.

use axum::http::StatusCode;
use expect_test::expect;
use serde_json::{Value, json};
use stepwell_server::auth::Role;
use uuid::Uuid;

use crate::site::{Site, envelope_with, post, report_body};

// D-002, D-061: the directive has every field of the contract, and the ids that tie it to its request.
#[tokio::test]
async fn a_worker_leases_a_directive_with_all_it_needs() {
    let site = Site::on_sqlite().await;
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let fields = json!({"correlation_id": "order-7", "traceparent": trace});
    site.ask(post("/v1/commands").json(&envelope_with(&fields))).await.expect(StatusCode::ACCEPTED);
    let call =
        post("/v1/workers/ocr-service/lease").json(&json!({"max": 8, "visibility_seconds": 30}));
    let leased = site.ask(call).await.expect(StatusCode::OK);
    let [item] = leased["directives"].as_array().unwrap().as_slice() else { panic!("{leased}") };
    assert_eq!(item["locked_until"], "2025-03-10T12:00:30.000Z");
    assert_eq!(item["deliveries"], 1);
    let directive = item["directive"].as_object().unwrap();
    for field in [
        "jobId",
        "tenant_id",
        "stepId",
        "protocol_id",
        "step_type",
        "attempt_no",
        "lease_id",
        "input_ref",
        "workspace_ref",
        "output_ref",
        "payload",
        "callback_urls",
        "correlation_id",
        "traceparent",
    ] {
        assert!(directive.contains_key(field), "{field}");
    }
    assert_eq!(directive["correlation_id"], "order-7");
    assert_eq!(directive["traceparent"], trace);
    let again = site.ask(post("/v1/workers/ocr-service/lease")).await.expect(StatusCode::OK);
    assert_eq!(again, json!({"directives": []}));
}

#[tokio::test]
async fn a_worker_may_ask_for_some_lanes_only() {
    let site = Site::in_memory().await;
    site.start().await; // acme has lane 14
    let lease = async |lanes: Value| {
        let call = post("/v1/workers/ocr-service/lease").json(&json!({"lanes": lanes}));
        site.ask(call).await.expect(StatusCode::OK)["directives"].as_array().unwrap().len()
    };
    assert_eq!(lease(json!([0, 1, 13, 15])).await, 0);
    assert_eq!(lease(json!([14])).await, 1);
}

#[tokio::test]
async fn a_directive_can_be_kept_given_back_and_lost() {
    let site = Site::in_memory().await;
    site.start().await;
    let lease = || post("/v1/workers/ocr-service/lease").json(&json!({"visibility_seconds": 60}));
    let first = site.ask(lease()).await.json()["directives"][0]["delivery"].clone();
    let extend = |delivery: &Value| {
        let body = json!({"deliveries": [delivery], "visibility_seconds": 120});
        post("/v1/workers/extend").json(&body)
    };
    let kept = site.ask(extend(&first)).await.expect(StatusCode::OK);
    assert_eq!(kept, json!({"deliveries": [{"delivery": first, "status": "ok"}]}));
    site.advance(61);
    assert_eq!(site.ask(lease()).await.json()["directives"], json!([]), "it was extended");
    let nack = |delivery: &Value| {
        let body = json!({"deliveries": [{"delivery": delivery, "delay_seconds": 0}]});
        post("/v1/workers/nack").json(&body)
    };
    let given = site.ask(nack(&first)).await.expect(StatusCode::OK);
    assert_eq!(given["deliveries"][0]["status"], "ok");
    let second = site.ask(lease()).await.json()["directives"][0].clone();
    assert_eq!(second["deliveries"], 2);
    let lost = site.ask(nack(&first)).await.expect(StatusCode::OK);
    assert_eq!(lost["deliveries"][0]["status"], "lost");
}

// D-035, D-036: the same reports as the callbacks, many at once.
#[tokio::test]
async fn a_batch_of_reports_is_answered_item_by_item_in_order() {
    let site = Site::on_sqlite().await;
    let mut directives = Vec::new();
    for _ in 0..3 {
        site.start().await;
        directives.push(site.lease("ocr-service").await);
    }
    let ok = |directive: &Value| report_body(directive, &json!({"status": "SUCCEEDED"}));
    let unknown = json!({"jobId": Uuid::from_u128(1), "stepId": "ocr", "tenant_id": "acme",
        "attempt_no": 1, "lease_id": Uuid::from_u128(2), "status": "SUCCEEDED"});
    let batch = json!({"results": [
        ok(&directives[0]),
        {"jobId": "x"},
        report_body(&directives[1], &json!({"status": "SUCCEEDED", "attempt_no": 9})),
        ok(&directives[1]),
        report_body(&directives[2], &json!({"status": "SUCCEEDED", "tenant_id": "globex"})),
        unknown,
        ok(&directives[2]),
        ok(&directives[2]),
    ]});
    let reply = site.ask(post("/v1/workers/results").json(&batch)).await.expect(StatusCode::OK);
    let answers = reply["answers"].as_array().unwrap();
    let shown: Vec<_> = answers
        .iter()
        .map(|answer| {
            format!("{} {} {}", answer["applied"], answer["reason"], answer["problem"]["status"])
        })
        .collect();
    expect![[r#"
        true null null
        false "invalid_request" 422
        false "stale_attempt" null
        true null null
        false "tenant_mismatch" 403
        false "job_not_found" 404
        true null null
        false "step_ended" null"#]]
    .assert_eq(&shown.join("\n"));
    assert_eq!(answers[1]["problem"]["details"].as_array().unwrap().len(), 6);
}

#[tokio::test]
async fn a_batch_of_acks_marks_each_attempt_as_taken() {
    let site = Site::in_memory().await;
    let id = site.start().await;
    let directive = site.lease("ocr-service").await;
    let batch = json!({"acks": [report_body(&directive, &json!({}))]});
    let reply = site.ask(post("/v1/workers/acks").json(&batch)).await.expect(StatusCode::OK);
    assert_eq!(reply, json!({"answers": [{"applied": true}]}));
    assert_eq!(site.job(&id).await["steps"][0]["status"], "PROCESSING");
}

#[tokio::test]
async fn a_batch_is_neither_empty_nor_endless() {
    let site = Site::in_memory().await;
    let before = site.written().await;
    for (path, name) in
        [("acks", "acks"), ("results", "results"), ("extend", "deliveries"), ("nack", "deliveries")]
    {
        for items in [json!([]), json!(vec![0; 257]), json!({}), Value::Null] {
            let call = post(&format!("/v1/workers/{path}")).json(&json!({name: items}));
            let problem = site.ask(call).await.refused(422, "invalid_request");
            assert_eq!(problem["details"][0]["path"], name);
        }
    }
    assert_eq!(site.written().await, before);
}

// X-163: 256 KiB for a result; a batch may hold many of them.
#[tokio::test]
async fn a_batch_may_be_larger_than_other_bodies_but_each_result_has_its_limit() {
    let site = Site::in_memory().await;
    let mut results = Vec::new();
    for size in [200 * 1024; 8].into_iter().chain([256 * 1024]) {
        site.start().await;
        let directive = site.lease("ocr-service").await;
        let fields = json!({"status": "SUCCEEDED", "result": "x".repeat(size)});
        results.push(report_body(&directive, &fields));
    }
    let reply = site.ask(post("/v1/workers/results").json(&json!({"results": results}))).await;
    let answers = reply.expect(StatusCode::OK)["answers"].take();
    let answers = answers.as_array().unwrap();
    assert!(answers[..8].iter().all(|answer| answer["applied"] == true));
    assert_eq!(answers[8]["problem"]["details"][0]["code"], "too_large");
}

#[tokio::test]
async fn a_worker_that_is_bound_to_a_tenant_reports_for_it_and_leases_nothing() {
    let site = Site::in_memory().await;
    let token = site.token(Role::Worker, Some("globex")).await;
    let lease = post("/v1/workers/ocr-service/lease").token(&token);
    site.send(lease).await.refused(403, "all_tenants_required");
    site.start().await;
    let directive = site.lease("ocr-service").await;
    let batch = json!({"results": [report_body(&directive, &json!({"status": "SUCCEEDED"}))]});
    let reply = site.send(post("/v1/workers/results").token(&token).json(&batch)).await;
    assert_eq!(reply.expect(StatusCode::OK)["answers"][0]["reason"], "tenant_mismatch");
}
