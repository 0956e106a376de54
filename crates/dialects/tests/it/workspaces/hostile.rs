//! Whatever comes in is read or refused.

use proptest::prelude::*;
use serde_json::json;
use stepwell_dialects::workspaces::{envelope, policy, request, trigger};

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = request::read(&bytes, None);
        let _ = policy::read(&bytes);
        let _ = trigger::read(&bytes);
        if let Err(poison) = envelope::read(&bytes) {
            prop_assert!(envelope::REASONS.contains(&poison.reason), "{}", poison);
        }
    }

    #[test]
    fn a_document_with_any_text_anywhere_is_read_or_refused(
        field in prop::sample::select(vec!["name", "cron", "time_zone", "directory", "glob", "input"]),
        text in any::<String>(),
    ) {
        let mut document = json!({"name": "x", "kind": "schedule", "workflow_id": "w", "schedule": {"cron": "@daily"}});
        if matches!(field, "cron" | "time_zone") {
            document["schedule"][field] = json!(text);
        } else if matches!(field, "directory" | "glob") {
            document = json!({"name": "x", "kind": "file_drop", "workflow_id": "w", "file_drop": {"directory": "/in", field: text}});
        } else {
            document[field] = json!(text);
        }
        if let Ok(trigger) = trigger::of_json(&document) {
            let stored = trigger.to_json();
            prop_assert_eq!(trigger::of_json(&stored).unwrap().to_json(), stored);
        }
    }
}
