//! From a request to the header of a run.

use expect_test::expect;
use serde_json::{Value, json};
use stepwell_core::credit::Credits;
use stepwell_core::duration::Interval;
use stepwell_core::retry::Delay;
use stepwell_core::run::Dialect;
use stepwell_dialects::workflow::SPECIALS;
use stepwell_dialects::workspaces::key::of_idempotency_key;
use stepwell_dialects::workspaces::{JobId, Key};

use super::{TRANSCRIBE, accept, accepted, request};
use crate::world::{World, refusal, run_id, start};

#[test]
fn a_request_becomes_a_header_that_keeps_all_it_said() {
    // C-006, C-012, C-016, C-027
    let header = accepted(&json!({"trigger_type": "webhook", "priority": 9}));
    assert_eq!((header.dialect, header.tenant.as_str()), (Dialect::Workspaces, "atelier"));
    assert_eq!((header.actor.as_str(), header.created_at, header.priority), ("portal", start(), 9));
    expect![[r#"
        {
          "idempotency_key": "upload-42",
          "references": {
            "audio": "s3://media/42.wav"
          },
          "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
          "trigger_type": "webhook",
          "user_id": "user-7"
        }
    "#]]
    .assert_eq(&format!("{:#}\n", json!(header.context)));
    assert_eq!(
        header.traceparent.as_deref(),
        Some("00-4bf92f3577b34da6a3ce929d0e0e4736-8000000000000001-01")
    );
    for special in SPECIALS {
        assert!(header.special.contains_key(special), "{special} has a value, if only null");
    }
    assert_eq!(header.special["_job_id"], json!(JobId::of(run_id(1))));
    let world = World::start(header);
    let params = world.run.steps[0].params.clone().unwrap();
    assert_eq!(*params, json!({"from": "s3://media/42.wav", "by": "user-7"}));
}

#[test]
fn a_job_has_five_attempts_on_the_ladder_unless_somebody_says_otherwise() {
    // C-009, C-034, X-121: the request has the first word, then the workflow, then the installation.
    let retry = |changes: Value, document: &str| {
        let terms = accept(request(&changes), document).unwrap().0.terms.unwrap();
        assert!(terms.keeping.is_some(), "a silent worker loses its job");
        terms.run_retry.clone().unwrap()
    };
    let usual = retry(json!({}), TRANSCRIBE);
    let ladder = [30, 120, 600, 1_800].map(Interval::from_secs).to_vec();
    assert_eq!((usual.attempts_max, usual.delay), (5, Delay::List(ladder.clone())));
    let asked = retry(json!({"max_attempts": 9}), TRANSCRIBE);
    assert_eq!((asked.attempts_max, asked.delay), (9, Delay::List(ladder)));
    let document =
        TRANSCRIBE.replace("steps:", "run_retry: {max_attempts: 2, interval: 1m}\nsteps:");
    let said = retry(json!({}), &document);
    assert_eq!((said.attempts_max, said.delay), (2, Delay::Fixed(Interval::from_secs(60))));
    assert_eq!(retry(json!({"max_attempts": 3}), &document).attempts_max, 3);
}

#[test]
fn the_estimate_is_what_the_request_says_or_else_what_the_steps_cost_together() {
    // C-011, X-127
    let estimate = |changes: Value, document: &str| {
        let terms = accept(request(&changes), document).unwrap().0.terms.unwrap();
        let credits = terms.credits.unwrap();
        assert!(credits.charged);
        credits.estimate
    };
    assert_eq!(estimate(json!({}), TRANSCRIBE), Credits(2_750_000));
    assert_eq!(estimate(json!({"credits_estimate": 7}), TRANSCRIBE), Credits::whole(7));
    assert_eq!(estimate(json!({"credits_estimate": 0}), TRANSCRIBE), Credits::ZERO);
    let document = TRANSCRIBE.replace("steps:", "credits: 4\nsteps:");
    assert_eq!(estimate(json!({}), &document), Credits::whole(4));
    let free = TRANSCRIBE.replace("credits: 2.5, ", "").replace(", credits: 0.25", "");
    assert_eq!(estimate(json!({}), &free), Credits::ZERO);
}

#[test]
fn input_references_and_workspace_are_judged_together() {
    // C-016: every problem at once, each at its place.
    let wrong = request(&json!({
        "input": {"speakers": 0},
        "references": {"audio": "../etc/passwd", "ok": "s3://media/1"},
        "workspace_id": "elsewhere",
    }));
    let rejection = accept(wrong, TRANSCRIBE).unwrap_err();
    expect![[r#"
        422 invalid_request
        input.language: "language" is a required property; the workflow's input_schema says so
        input.speakers: this value is less than the minimum of 1; the workflow's input_schema says so
        references.audio: "../etc/passwd" climbs with ".."; write a URI such as https://host/in.pdf, or a path such as in/1.pdf
        workspace_id: this is not the workspace of the request; leave it out, or name the workspace of the path or of the token"#]]
    .assert_eq(&refusal(&rejection));
    assert!(accept(request(&json!({"workspace_id": "atelier"})), TRANSCRIBE).is_ok());
}

#[test]
fn one_key_is_one_request_of_one_workspace() {
    // C-012, C-036, X-124: (workspace, key) names it, and its workflow and body must stay the same.
    let key = |changes: Value| Key::of("atelier", &request(&changes)).unwrap();
    let first = key(json!({}));
    assert_eq!(key(json!({})), first);
    assert_eq!(key(json!({"trace_id": "another"})), first, "a repetition has a trace of its own");
    for changed in [
        json!({"workflow_id": "translate"}),
        json!({"user_id": "user-8"}),
        json!({"input": {"language": "de"}}),
        json!({"references": {"audio": "s3://media/43.wav"}}),
        json!({"max_attempts": 2}),
        json!({"credits_estimate": 1}),
    ] {
        let other = key(changed.clone());
        assert_eq!(other.hash, first.hash, "{changed}");
        assert_ne!(other.request_hash, first.request_hash, "{changed}");
    }
    assert_ne!(Key::of("loft", &request(&json!({}))).unwrap().hash, first.hash);
    assert_ne!(of_idempotency_key("a", "b c"), of_idempotency_key("a b", "c"));
    assert_eq!(Key::of("atelier", &request(&json!({"idempotency_key": null}))), None);
}

#[test]
fn every_job_has_a_trace() {
    // C-025, C-027: what the request says of itself, or its own id.
    let header = accepted(&json!({"trace_id": null}));
    let own = "019b8d3c000070008000000000000001";
    assert_eq!(header.context["trace_id"], own);
    assert_eq!(header.traceparent, Some(format!("00-{own}-8000000000000001-01")));
    let header = accepted(&json!({"trace_id": "checkout-9"}));
    assert_eq!(header.context["trace_id"], "checkout-9");
    assert_eq!(header.traceparent, None, "W3C has no form for it");
}
