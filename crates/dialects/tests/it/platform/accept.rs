//! From an order to the header of a run.

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use stepwell_core::run::Dialect;
use stepwell_dialects::platform::queue::DELIVERIES_MAX;
use stepwell_dialects::platform::rejection::REASONS;
use stepwell_dialects::platform::{Delivery, JobQueueMessage, Order, Rejection, key, order};
use stepwell_dialects::workflow::{Checks, SPECIALS};

use super::{DIAMOND, accepted, delivery, input, message};
use crate::world::{World, run_id, start, workflow};

#[test]
fn an_order_becomes_the_header_of_a_run() {
    // B-049, X-100, X-159: workflow, params, correlation id, submitter, priority; the default tenant.
    let header = accepted(message());
    assert_eq!((header.id, header.dialect), (run_id(1), Dialect::Platform));
    assert_eq!(
        (header.tenant.as_str(), header.workflow.name.as_str()),
        ("default", "raster_ingest")
    );
    assert_eq!(header.input, message().input_params);
    assert_eq!(header.correlation_id.as_deref(), Some("ddh-req-12345"));
    assert_eq!((header.actor.as_str(), header.priority), ("ddh-gateway", 3));
    assert_eq!(header.created_at.to_string(), "2026-01-05T08:00:01.000Z");
    let nobody = JobQueueMessage { submitted_by: None, ..message() };
    assert_eq!(accepted(nobody).actor, "unknown");
}

#[test]
fn every_special_variable_has_a_value() {
    let header = accepted(message());
    for special in SPECIALS {
        assert!(header.special.contains_key(special), "{special}");
    }
    let world = World::start(header);
    let params = world.run.steps[0].params.as_deref().unwrap();
    assert_eq!(params, &json!({"from": "data/file.tif", "job": run_id(1).to_string()}));
}

#[test]
fn the_idempotency_key_makes_orders_the_same_and_without_one_the_message_id_does() {
    // B-034, B-042, B-048, X-099, X-109
    let key = |key: Option<&str>, id: &str| {
        let (idempotency_key, message_id) = (key.map(str::to_owned), id.to_owned());
        Order::from(JobQueueMessage { idempotency_key, message_id, ..message() }).key()
    };
    assert_eq!(key(Some("k"), "m-1"), key(Some("k"), "m-2"));
    assert_ne!(key(Some("k"), "m-1"), key(Some("l"), "m-1"));
    assert_eq!(key(None, "m-1"), key(None, "m-1"));
    assert_ne!(key(None, "m-1"), key(None, "m-2"));
    assert_ne!(key(None, "k"), key(Some("k"), "k"), "a message id is no idempotency key");
    assert_eq!(key(Some("k"), "m").hash, key::of_idempotency_key("k"));
    assert_eq!(key(None, "m").hash, key::of_message_id("m"));
    let other = JobQueueMessage { workflow_id: "other".to_owned(), ..message() };
    assert_eq!(Order::from(other).key(), Order::from(message()).key(), "the first one counts");
}

/// The rejection with one problem a line.
fn listed(rejection: &Rejection) -> String {
    rejection.to_string().replace("; ", "\n")
}

#[track_caller]
fn rejected(order: Result<Order, Rejection>, expected: Expect) {
    expected.assert_eq(&listed(&order.unwrap_err()));
}

#[test]
fn an_order_that_waited_too_long_is_given_up() {
    // X-108: not lost, but kept with the reason.
    let late = Delivery { received_at: delivery().expires_at, ..delivery() };
    rejected(
        order(&message().to_body(), &late),
        expect!["MessageExpired: no instance took it before 2026-01-06T08:00:00.000Z"],
    );
}

#[test]
fn an_order_that_was_handed_out_too_often_is_given_up() {
    // B-068, X-164
    let last = Delivery { deliveries: DELIVERIES_MAX, ..delivery() };
    assert_eq!(order(&message().to_body(), &last).unwrap().message(), &message());
    let beyond = Delivery { deliveries: DELIVERIES_MAX + 1, ..delivery() };
    rejected(
        order(&message().to_body(), &beyond),
        expect![
            "DeliveryLimit: handed out 10 times without success: whoever took it did not come back"
        ],
    );
}

#[test]
fn an_order_that_cannot_be_read_is_given_up() {
    // B-015
    rejected(
        order("{", &delivery()),
        expect!["MessageInvalid: 1:1: this is not JSON: EOF while parsing an object"],
    );
    let body = json!({"input_params": 1, "priority": 11, "correlation_id": 1, "callback_url": 1});
    rejected(
        order(&body.to_string(), &delivery()),
        expect![[r#"
            MessageInvalid: workflow_id: this field is required
            input_params: this must be an object, not a number
            correlation_id: this must be text, not a number
            and 2 more"#]],
    );
}

#[test]
fn an_order_for_an_unknown_workflow_names_it() {
    // B-047
    let order = order(&message().to_body(), &delivery()).unwrap();
    assert_eq!(order.workflow_id(), "raster_ingest");
    rejected(
        Err(order.workflow_not_found()),
        expect![[r#"WorkflowNotFound: workflow "raster_ingest" does not exist"#]],
    );
}

#[test]
fn an_order_whose_input_the_workflow_does_not_take_is_given_up() {
    let workflow = workflow(DIAMOND);
    let checks = Checks::compile(&workflow).unwrap();
    let judge = |params: Value| {
        let order = Order::from(JobQueueMessage { input_params: input(&params), ..message() });
        order.header(run_id(1), &workflow, &checks, start()).map(|_| ())
    };
    assert_eq!(judge(json!({"blob_name": "x"})), Ok(()));
    let rejection = judge(json!({"bands": [1, "2"]})).unwrap_err();
    expect![[r#"
        InputInvalid: input_params.blob_name: "blob_name" is a required property
        the workflow's input_schema says so
        input_params.bands[1]: this value is not of type "integer"
        the workflow's input_schema says so"#]]
    .assert_eq(&listed(&rejection));
    assert_eq!(rejection.error().code, "input_invalid");
}

#[test]
fn every_reason_has_a_code_of_the_same_words() {
    for (reason, code) in REASONS {
        let joined: String = code.split('_').collect();
        assert_eq!(reason.to_lowercase(), joined);
    }
}
