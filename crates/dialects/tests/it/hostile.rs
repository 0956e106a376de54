//! Whatever comes in is read or refused; nothing makes a reader fall over.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use stepwell_dialects::commands::{self, outcome};
use stepwell_dialects::workflow;

use crate::world::body;

const DOCUMENT: &str = include_str!("../../../../examples/workflows/approval-and-poll.yaml");

/// Any small JSON value.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
        "(https?://|[a-z]+:)?[a-z.:@/\\[\\]]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z_]{1,6}", inner, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

proptest! {
    #[test]
    fn a_document_with_its_lines_shuffled_is_read_or_refused(
        lines in prop::collection::vec(0..DOCUMENT.lines().count(), 1..40),
    ) {
        let all: Vec<&str> = DOCUMENT.lines().collect();
        let text: Vec<&str> = lines.iter().map(|line| all[*line]).collect();
        let _ = workflow::read(text.join("\n").as_bytes());
    }

    #[test]
    fn a_document_with_a_piece_cut_out_is_read_or_refused(
        from in 0..DOCUMENT.len(), length in 0..60_usize,
    ) {
        let mut bytes = DOCUMENT.as_bytes().to_vec();
        bytes.drain(from..(from + length).min(DOCUMENT.len()));
        let _ = workflow::read(&bytes);
    }

    #[test]
    fn a_graph_of_any_edges_is_read_exactly_if_it_has_an_order(
        edges in prop::collection::vec((0..6_usize, 0..6_usize), 0..10),
    ) {
        let after = |step: usize| {
            let mut names: Vec<String> = edges
                .iter()
                .filter(|(_, to)| *to == step)
                .map(|(from, _)| format!("s{from}"))
                .collect();
            names.sort();
            names.dedup();
            names.join(", ")
        };
        let steps: Vec<String> = (0..6)
            .map(|step| format!("  - {{id: s{step}, type: T, pool: p, after: [{}]}}", after(step)))
            .collect();
        let text = format!("name: a\nsteps:\n{}\n", steps.join("\n"));
        // Taking away what nothing is left before must take away everything, or there is a cycle.
        let mut left: Vec<usize> = (0..6).collect();
        for _ in 0..6 {
            let blocked = |step: usize| edges.iter().any(|(from, to)| *to == step && left.contains(from));
            left = left.iter().copied().filter(|step| blocked(*step)).collect();
        }
        prop_assert_eq!(workflow::read(text.as_bytes()).is_ok(), left.is_empty(), "{}", text);
    }

    #[test]
    fn an_envelope_with_any_value_anywhere_is_read_or_refused(
        field in prop::sample::select(vec![
            "tenant_id", "request_type", "input_ref", "output_ref", "payload", "schema_version", "mode",
            "idempotency_key", "doc_id", "callback_urls", "correlation_id", "traceparent", "other",
        ]),
        value in value(),
    ) {
        let _ = commands::envelope(&body(&json!({field: value})));
    }

    #[test]
    fn a_callback_with_any_value_anywhere_is_read_or_refused(
        field in prop::sample::select(vec![
            "jobId", "stepId", "tenant_id", "attempt_no", "lease_id", "status", "result", "output",
            "error", "retry_after",
        ]),
        value in value(),
    ) {
        let body = json!({"status": "FAILED_RETRYABLE", field: value});
        let _ = (outcome::ack(&body), outcome::result(&body));
    }
}
