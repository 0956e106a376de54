//! Credits: granted, set aside, spent, given back; the ledger adds up at every instant.

use axum::http::StatusCode;
use serde_json::{Value, json};
use std::sync::Arc;
use stepwell_store::Store;
use stepwell_store::memory::MemoryStore;
use stepwell_store::sqlite::{Options, SqliteStore};

use super::{JOBS, REPORT, create, kill, path, record, report, request_with, take};
use crate::site::{Site, get, post};

/// A site where jobs are paid for.
async fn charged(store: Arc<dyn Store>) -> Site {
    let mut settings = stepwell_engine::Settings::default();
    settings.workspaces.charged = true;
    let site = Site::with_engine(store, settings, |_| {}).await;
    site.publish(REPORT).await;
    site
}

const CREDITS: &str = "/v1/workspaces/acme/credits";

async fn grant(site: &Site, amount: Value) -> crate::site::Reply {
    let body = json!({"amount": amount, "reason": "a month of work"});
    site.ask(post(&format!("{CREDITS}/grants")).json(&body)).await
}

/// Balance, set aside and spent; and that the ledger says the same.
async fn account(site: &Site) -> [f64; 3] {
    let account = site.ask(get(CREDITS)).await.expect(StatusCode::OK);
    let ledger = site.ask(get(&format!("{CREDITS}/ledger?limit=200"))).await.expect(StatusCode::OK);
    let lines = ledger["items"].as_array().unwrap();
    let fields = ["balance", "reserved", "spent"];
    for field in fields {
        let sum: f64 = lines.iter().map(|line| line[field].as_f64().unwrap()).sum();
        assert!((sum - account[field].as_f64().unwrap()).abs() < 1e-9, "{field}: {ledger}");
        let after =
            lines.first().map_or(0.0, |line| line[format!("{field}_after")].as_f64().unwrap());
        assert!((after - account[field].as_f64().unwrap()).abs() < 1e-9, "{field}: {ledger}");
    }
    fields.map(|field| account[field].as_f64().unwrap())
}

// C-011, X-127: the estimate is set aside, what a step costs is spent, the rest comes back.
#[tokio::test]
async fn credits_are_set_aside_spent_and_given_back() {
    let place = tempfile::tempdir().unwrap();
    let sqlite = SqliteStore::open(place.path().join("stepwell.db"), Options::default()).unwrap();
    let stores: [Arc<dyn Store>; 2] = [Arc::new(MemoryStore::new()), Arc::new(sqlite)];
    for store in stores {
        let site = charged(store).await;
        grant(&site, json!(10)).await.expect(StatusCode::OK);
        assert_eq!(account(&site).await, [10.0, 0.0, 0.0]);
        let job = create(&site, &json!({})).await;
        assert_eq!((&job["credits_estimate"], &job["credits_reserved"]), (&json!(3), &json!(3)));
        assert_eq!(account(&site).await, [7.0, 3.0, 0.0]);
        let directive = take(&site).await;
        let told =
            report(&site, &directive, &json!({"status": "SUCCEEDED", "credits_spent": 1.25})).await;
        assert_eq!(account(&site).await, [7.0, 1.75, 1.25]);
        report(
            &site,
            &told["next"]["directive"],
            &json!({"status": "SUCCEEDED", "credits_spent": 0.5}),
        )
        .await;
        assert_eq!(account(&site).await, [8.25, 0.0, 1.75]);
        let done = record(&site, &job).await;
        assert_eq!((&done["credits_spent"], &done["credits_reserved"]), (&json!(1.75), &json!(0)));
        let id = job["job_id"].as_str().unwrap();
        let ledger =
            site.ask(get(&format!("{CREDITS}/ledger?job_id={id}"))).await.expect(StatusCode::OK);
        let kinds: Vec<_> =
            ledger["items"].as_array().unwrap().iter().map(|it| it["kind"].clone()).collect();
        assert_eq!(json!(kinds), json!(["released", "spent", "spent", "reserved"]));
        assert!(ledger["items"].as_array().unwrap().iter().all(|it| it["job_id"] == job["job_id"]));
    }
}

// an account that does not cover the estimate makes no job.
#[tokio::test]
async fn a_job_that_the_account_does_not_cover_is_not_made() {
    let site = charged(Arc::new(MemoryStore::new())).await;
    grant(&site, json!(2.5)).await.expect(StatusCode::OK);
    let before = site.written().await;
    let refused = site.ask(post(JOBS).json(&request_with(&json!({})))).await;
    refused.refused(402, "credits_short");
    assert_eq!(site.written().await, before);
    assert_eq!(account(&site).await, [2.5, 0.0, 0.0]);
    create(&site, &json!({"credits_estimate": 2.5})).await;
    assert_eq!(account(&site).await, [0.0, 2.5, 0.0]);
}

#[tokio::test]
async fn what_was_set_aside_comes_back_when_a_job_is_canceled_or_dies() {
    let site = charged(Arc::new(MemoryStore::new())).await;
    grant(&site, json!(10)).await.expect(StatusCode::OK);
    let job = create(&site, &json!({})).await;
    site.ask(post(&format!("{}:cancel", path(&job)))).await.expect(StatusCode::OK);
    assert_eq!(account(&site).await, [10.0, 0.0, 0.0]);
    create(&site, &json!({})).await;
    kill(&site).await;
    assert_eq!(account(&site).await, [10.0, 0.0, 0.0]);
}

#[tokio::test]
async fn credits_come_back_by_the_policy_of_the_workspace() {
    let site = charged(Arc::new(MemoryStore::new())).await;
    grant(&site, json!(10)).await.expect(StatusCode::OK);
    let policy = crate::site::put("/v1/workspaces/acme/policy").json(&json!({"restore": "failed"}));
    site.ask(policy).await.expect(StatusCode::OK);
    create(&site, &json!({})).await;
    let directive = take(&site).await;
    let failed = json!({"status": "FAILED_FINAL", "credits_spent": 2});
    report(&site, &directive, &failed).await;
    assert_eq!(account(&site).await, [10.0, 0.0, 0.0]);
    let ledger = site.ask(get(&format!("{CREDITS}/ledger?limit=1"))).await.json();
    assert_eq!(ledger["items"][0]["kind"], "restored");
}

#[tokio::test]
async fn a_grant_is_booked_once_under_its_key_and_takes_out_no_more_than_there_is() {
    let site = charged(Arc::new(MemoryStore::new())).await;
    let call = |amount: i64| {
        let call = post(&format!("{CREDITS}/grants")).header("Idempotency-Key", "march");
        call.json(&json!({"amount": amount, "reason": "march"}))
    };
    let account_after = site.ask(call(5)).await.expect(StatusCode::OK);
    assert_eq!(
        account_after,
        json!({"workspace_id": "acme", "balance": 5, "reserved": 0, "spent": 0, "charged": true})
    );
    assert_eq!(site.ask(call(5)).await.expect(StatusCode::OK), account_after);
    site.ask(call(6)).await.refused(409, "idempotency_key_reused");
    grant(&site, json!(-6)).await.refused(402, "credits_short");
    grant(&site, json!(0)).await.refused(422, "invalid_request");
    grant(&site, json!("many")).await.refused(422, "invalid_request");
    grant(&site, json!(-5)).await.expect(StatusCode::OK);
    assert_eq!(account(&site).await, [0.0, 0.0, 0.0]);
}

// C-011: where jobs are not paid for, what they spend is counted all the same.
#[tokio::test]
async fn without_charges_credits_are_counted_and_the_account_is_untouched() {
    let site = super::site().await;
    let job = create(&site, &json!({})).await;
    let directive = take(&site).await;
    report(&site, &directive, &json!({"status": "SUCCEEDED", "credits_spent": 2})).await;
    assert_eq!(record(&site, &job).await["credits_spent"], 2);
    assert_eq!(account(&site).await, [0.0, 0.0, 0.0]);
    assert_eq!(site.ask(get(CREDITS)).await.expect(StatusCode::OK)["charged"], false);
}
