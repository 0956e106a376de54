//! A request to publish a runbook.

use expect_test::expect;
use serde_json::{Value, json};
use stepwell_dialects::runbooks::accept::{OverdueBehavior, Publication, publication};

use super::MAILBOXES;
use crate::world::refusal;

fn publish(changes: &Value) -> Result<Publication, String> {
    let mut body = json!({"name": "contoso-mailbox-migration", "yaml_content": MAILBOXES});
    let fields = body.as_object_mut().unwrap();
    fields.extend(changes.as_object().unwrap().clone());
    publication(body.to_string().as_bytes()).map_err(|rejection| refusal(&rejection) + "\n")
}

// A-028, X-072, X-080: correcting a slip of the pen must not repeat a migration.
#[test]
fn a_version_leaves_batches_under_way_alone_unless_it_says_otherwise() {
    let quiet = publish(&json!({})).unwrap();
    assert_eq!((quiet.overdue_behavior, quiet.rerun_init), (OverdueBehavior::Ignore, false));
    assert_eq!(quiet.source, MAILBOXES, "the document is kept as it was sent");
    assert_eq!(quiet.reading.runbook.phases.len(), 3);
    let loud = publish(&json!({"overdue_behavior": "rerun", "rerun_init": true})).unwrap();
    assert_eq!((loud.overdue_behavior, loud.rerun_init), (OverdueBehavior::Rerun, true));
}

// A-028
#[test]
fn the_behavior_is_stored_as_its_word() {
    for behavior in [OverdueBehavior::Rerun, OverdueBehavior::Ignore] {
        assert_eq!(OverdueBehavior::of_word(behavior.word()), Some(behavior));
    }
    assert_eq!(OverdueBehavior::of_word("RERUN"), None);
}

// A-008
#[test]
fn a_document_is_published_under_its_own_name() {
    expect![[r#"
        422 invalid_request
        name: the document is called "contoso-mailbox-migration", not "fabrikam"; use the same name in both
    "#]]
    .assert_eq(&publish(&json!({"name": "fabrikam"})).unwrap_err());
}

// X-080: everything at once; line and column are those of the document.
#[test]
fn a_request_is_refused_with_all_of_its_problems() {
    let changes = json!({
        "name": 7, "yaml_content": "name: a\nphases: []\n", "overdue_behavior": "skip",
        "rerun_init": "yes", "force": true,
    });
    expect![[r#"
        422 invalid_request
        1:1: data_source: this field is required
        2:9: phases: there are 0 phases; write 1 to 100
        name: this must be text, not a number
        overdue_behavior: "skip" is not possible here; use one of rerun, ignore
        rerun_init: this must be true or false, not text
        force: there is no field "force"; known fields are name, yaml_content, overdue_behavior, rerun_init
    "#]].assert_eq(&publish(&changes).unwrap_err());
    let rejection = publication(b"{}").unwrap_err();
    expect![[r#"
        422 invalid_request
        name: this field is required
        yaml_content: this field is required
    "#]]
    .assert_eq(&(refusal(&rejection) + "\n"));
    let rejection = publication(b"name: a").unwrap_err();
    assert_eq!(rejection.kind.status(), 400);
}
