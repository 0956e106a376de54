//! Signed requests from outside.

use serde_json::{Value, json};
use stepwell_connectors::egress::{SignatureError, SignedHeaders, secret_bytes, sign};
use stepwell_core::duration::Interval;
use stepwell_dialects::workspaces::view;
use stepwell_engine::{Fired, HookCall, TriggerError};

use super::world::{Place, at, tenant};
use crate::world::sqlite;

const NOON: &str = "2026-02-03T12:00:00Z";
const BODY: &[u8] = br#"{"order": {"id": 7, "lines": [1, 2]}}"#;

fn document() -> Value {
    json!({
        "name": "orders", "kind": "webhook", "workflow_id": "report",
        "input": {"order": "{{_body.order.id}}", "all": "{{_body}}", "from": "{{_headers.x-shop}}"},
    })
}

/// Signs a body and sends it.
async fn send(
    place: &Place,
    secret: &[u8],
    id: &str,
    signed_at: &str,
    body: &[u8],
) -> Result<Fired, TriggerError> {
    let seconds = at(signed_at).as_millis() / 1000;
    let signature = sign(secret, id, seconds, body);
    let timestamp = seconds.to_string();
    let signed = SignedHeaders { id, timestamp: &timestamp, signature: &signature };
    let headers = [("x-shop", "north"), ("authorization", "Bearer secret")];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let call = HookCall { signed, headers: &headers, body };
    place.world.engine.hook(&tenant(), "orders", call).await
}

async fn place_with_hook() -> (Place, Vec<u8>) {
    let place = Place::new(NOON).await;
    let put = place.put(document()).await;
    let secret = put.secret.expect("it is shown when it is made");
    let bytes = secret_bytes(&secret).expect("a secret");
    assert_eq!((secret.starts_with("whsec_"), bytes.len()), (true, 32));
    (place, bytes)
}

// C-007: a webhook makes a job, its payload becomes the input by template.
#[tokio::test]
async fn a_signed_request_makes_a_job_of_its_body() {
    let (place, secret) = place_with_hook().await;
    let fired = send(&place, &secret, "msg_1", NOON, BODY).await.expect("fired");
    let run = place.run_of(&fired.firing).await;
    let input = Value::Object(run.header.input.clone());
    assert_eq!(
        input,
        json!({"order": 7, "all": {"order": {"id": 7, "lines": [1, 2]}}, "from": "north"})
    );
    let job = serde_json::to_value(view::job(&run, None)).expect("a view");
    assert_eq!(
        (&job["trigger_type"], &job["idempotency_key"]),
        (&json!("webhook"), &json!("trigger:orders:msg_1"))
    );
}

// Issue 6: a request that comes again is answered with the run that it has made.
#[tokio::test]
async fn the_same_request_again_is_answered_with_the_same_run() {
    let dir = tempfile::tempdir().expect("a place");
    let mut place = Place::on(sqlite(&dir), NOON).await;
    let secret = secret_bytes(&place.put(document()).await.secret.expect("shown")).expect("one");
    let first = send(&place, &secret, "msg_1", NOON, BODY).await.expect("fired");
    place.world.engine.crash();
    place.world.store.close().await.expect("the file is let go");
    place.world.restart(sqlite(&dir)).await;
    let again = send(&place, &secret, "msg_1", NOON, BODY).await.expect("answered");
    assert_eq!((again.firing.run, again.repeated), (first.firing.run, true));
    let other_body = send(&place, &secret, "msg_1", NOON, b"{\"order\": {\"id\": 8}}").await;
    assert_eq!(other_body.expect("answered").firing.run, first.firing.run);
    let other = send(&place, &secret, "msg_2", NOON, BODY).await.expect("fired");
    assert_ne!(other.firing.run, first.firing.run);
    assert_eq!((place.runs().await.len(), place.firings("orders").await.len()), (2, 2));
}

// Issue 6: replay window.
#[tokio::test]
async fn a_request_that_is_too_old_or_signed_otherwise_makes_nothing() {
    let (place, secret) = place_with_hook().await;
    for (secret, signed_at, expected) in [
        (&secret[..], "2026-02-03T11:54:59Z", SignatureError::Stale),
        (&secret[..], "2026-02-03T12:05:01Z", SignatureError::Stale),
        (b"another secret", NOON, SignatureError::Mismatch),
    ] {
        let refused = send(&place, secret, "msg_1", signed_at, BODY).await.expect_err("refused");
        assert!(
            matches!(refused, TriggerError::Signature(error) if error == expected),
            "{refused}"
        );
    }
    assert!(place.runs().await.is_empty());
    assert!(
        place.firings("orders").await.is_empty(),
        "nobody can fill the list without the secret"
    );
}

#[tokio::test]
async fn a_window_of_its_own_is_kept_to() {
    let place = Place::new(NOON).await;
    let mut document = document();
    document["webhook"] = json!({"tolerance": "10s"});
    let secret = secret_bytes(&place.put(document).await.secret.expect("shown")).expect("one");
    let late = send(&place, &secret, "msg_1", "2026-02-03T11:59:49Z", BODY).await;
    assert!(matches!(late, Err(TriggerError::Signature(SignatureError::Stale))), "{late:?}");
    send(&place, &secret, "msg_1", "2026-02-03T11:59:50Z", BODY).await.expect("in time");
}

#[tokio::test]
async fn a_secret_is_shown_once_and_stays_when_the_trigger_changes() {
    let (place, secret) = place_with_hook().await;
    assert_eq!(place.put(document()).await.secret, None, "it is not shown again");
    send(&place, &secret, "msg_1", NOON, BODY).await.expect("and still fits");
    place.world.engine.delete_trigger(&tenant(), "orders").await.expect("deleted");
    place.world.clock.advance(std::time::Duration::from_millis(1));
    let fresh = secret_bytes(&place.put(document()).await.secret.expect("shown")).expect("one");
    assert_ne!(fresh, secret, "a new trigger has a secret of its own");
}

// The variable is one that every test has: what it holds is the secret.
#[tokio::test]
async fn a_secret_may_come_from_the_environment() {
    let place = Place::new(NOON).await;
    let mut from_environment = document();
    from_environment["webhook"] = json!({"secret_env": "CARGO_PKG_NAME"});
    assert_eq!(place.put(from_environment).await.secret, None);
    send(&place, b"stepwell-engine", "msg_1", NOON, BODY).await.expect("it fits");
}

// A variable may be gone after a restart: then nobody can sign, and the trigger can be switched off.
#[tokio::test]
async fn a_secret_that_is_not_there_is_missed_when_the_trigger_is_made() {
    let place = Place::new(NOON).await;
    let mut missing = document();
    missing["webhook"] = json!({"secret_env": "STEPWELL_TEST_NO_SUCH_VARIABLE"});
    let refused = place.try_put(missing.clone()).await.expect_err("refused");
    let TriggerError::Rejected(rejection) = refused else { panic!("{refused:?}") };
    let problem = rejection.problems.iter().next().expect("a problem");
    assert_eq!(problem.path, "webhook.secret_env");
    missing["enabled"] = json!(false);
    place.put(missing).await;
    let refused = send(&place, b"", "msg_1", NOON, BODY).await;
    assert!(matches!(refused, Err(TriggerError::NoSecret(_))), "{refused:?}");
}

#[tokio::test]
async fn only_whoever_can_sign_learns_that_a_trigger_is_switched_off() {
    let (place, secret) = place_with_hook().await;
    let engine = &place.world.engine;
    engine.switch_trigger(&tenant(), "orders", false, "tester").await.expect("switched");
    let refused = send(&place, b"another", "msg_1", NOON, BODY).await;
    assert!(matches!(refused, Err(TriggerError::Signature(_))), "{refused:?}");
    let refused = send(&place, &secret, "msg_1", NOON, BODY).await;
    assert!(matches!(refused, Err(TriggerError::Disabled(_))), "{refused:?}");
}

#[tokio::test]
async fn a_body_that_does_not_fit_the_template_is_refused_and_noted() {
    let (place, secret) = place_with_hook().await;
    let refused = send(&place, &secret, "msg_1", NOON, b"not json").await;
    assert!(matches!(refused, Err(TriggerError::Rejected(_))), "{refused:?}");
    let firing = place.firings("orders").await.remove(0);
    assert_eq!((firing.key.as_str(), firing.outcome.word()), ("msg_1", "failed"));
    // The sender mends it and sends the same message again.
    send(&place, &secret, "msg_1", NOON, BODY).await.expect("fired");
    assert_eq!(place.firings("orders").await.remove(0).outcome.word(), "started");
}

/// Puts a fresh secret in the place of the one there is.
async fn rotate(place: &Place, grace_s: u64) -> Vec<u8> {
    let grace = Interval::from_secs(grace_s);
    let (engine, tenant) = (&place.world.engine, tenant());
    let rotated = engine.rotate_trigger_secret(&tenant, "orders", grace, "tester").await;
    let rotated = rotated.expect("rotated");
    assert!(!format!("{rotated:?}").contains("whsec_"), "nothing that is logged shows it");
    let old_until = (grace_s > 0).then(|| place.world.engine.now().after(grace));
    assert_eq!(rotated.old_until, old_until);
    secret_bytes(&rotated.secret).expect("a secret")
}

// Issue 6: senders change over in their own time; after the grace only the new secret fits.
#[tokio::test]
async fn an_old_secret_is_good_until_its_grace_is_over() {
    let dir = tempfile::tempdir().expect("a place");
    let place = Place::on(sqlite(&dir), NOON).await;
    let old = secret_bytes(&place.put(document()).await.secret.expect("shown")).expect("one");
    let new = rotate(&place, 3600).await;
    assert_ne!(old, new);
    send(&place, &old, "msg_1", NOON, BODY).await.expect("still good");
    send(&place, &new, "msg_2", NOON, BODY).await.expect("good");
    assert_eq!(place.put(document()).await.secret, None, "it is not shown again");
    place.move_to(at("2026-02-03T12:59:59Z"));
    send(&place, &old, "msg_3", "2026-02-03T12:59:59Z", BODY).await.expect("to the last moment");
    place.move_to(at("2026-02-03T13:00:00Z"));
    let late = send(&place, &old, "msg_4", "2026-02-03T13:00:00Z", BODY).await;
    assert!(matches!(late, Err(TriggerError::Signature(SignatureError::Mismatch))), "{late:?}");
    send(&place, &new, "msg_4", "2026-02-03T13:00:00Z", BODY).await.expect("good");
}

// Issue 6: a secret that was stolen ends at once, and so does the one before it.
#[tokio::test]
async fn without_a_grace_only_the_new_secret_fits() {
    let (place, first) = place_with_hook().await;
    let second = rotate(&place, 3600).await;
    let third = rotate(&place, 0).await;
    for old in [first, second] {
        let refused = send(&place, &old, "msg_1", NOON, BODY).await;
        assert!(matches!(refused, Err(TriggerError::Signature(_))), "{refused:?}");
    }
    send(&place, &third, "msg_1", NOON, BODY).await.expect("good");
}

#[tokio::test]
async fn two_who_rotate_at_once_both_have_a_secret_that_fits() {
    let (place, old) = place_with_hook().await;
    let (one, two) = tokio::join!(rotate(&place, 60), rotate(&place, 60));
    for (number, secret) in [old, one, two].iter().enumerate() {
        send(&place, secret, &format!("msg_{number}"), NOON, BODY).await.expect("good");
    }
}

#[tokio::test]
async fn only_a_secret_that_we_have_made_can_be_replaced() {
    let place = Place::new(NOON).await;
    let mut from_environment = document();
    from_environment["webhook"] = json!({"secret_env": "CARGO_PKG_NAME"});
    place.put(from_environment).await;
    place.put(json!({"name": "button", "kind": "manual", "workflow_id": "report"})).await;
    let rotate = async |name: &str| {
        let (engine, grace) = (&place.world.engine, Interval::ZERO);
        engine.rotate_trigger_secret(&tenant(), name, grace, "tester").await.expect_err("refused")
    };
    let refused = rotate("orders").await;
    assert!(matches!(&refused, TriggerError::SecretElsewhere(it) if it == "CARGO_PKG_NAME"));
    assert!(matches!(rotate("button").await, TriggerError::NoHook(_)));
    assert!(matches!(rotate("nothing").await, TriggerError::NotFound(_)));
}
