//! Workflows, tokens and secrets.

use stepwell_core::id::Tenant;

use super::Subject;
use super::world::at;
use crate::Store;
use crate::model::{NewWorkflow, TokenRecord, WorkflowDocument};

fn document(name: &str, request_type: Option<&str>, source: &str) -> NewWorkflow {
    NewWorkflow {
        name: name.to_owned(),
        request_type: request_type.map(str::to_owned),
        source: source.to_owned(),
        created_at: at(1),
        created_by: "ada".to_owned(),
    }
}

async fn publish(store: &dyn Store, document: NewWorkflow) -> u32 {
    store.publish_workflow(document).await.expect("published").version
}

async fn protocol(store: &dyn Store, request_type: &str) -> Option<(String, u32)> {
    let found = store.protocol(request_type.to_owned()).await.expect("a lookup");
    found.map(|document| (document.name, document.version))
}

/// Versions count from 1 for each name; the same text again is the same version.
pub async fn workflows_are_versioned_by_name(subject: Subject) {
    let store = &*subject.store;
    assert_eq!(store.workflow("a".to_owned(), None).await.expect("nothing"), None);
    assert_eq!(publish(store, document("b", None, "one")).await, 1);
    assert_eq!(publish(store, document("a", None, "one")).await, 1);
    assert_eq!(publish(store, document("a", Some("x"), "two")).await, 2);
    let again = NewWorkflow { created_by: "grace".to_owned(), ..document("a", Some("x"), "two") };
    assert_eq!(publish(store, again).await, 2);
    assert_eq!(publish(store, document("a", None, "one")).await, 3, "an old text is a new version");

    let second = store.workflow("a".to_owned(), Some(2)).await.expect("a version");
    let expected = WorkflowDocument {
        name: "a".to_owned(),
        version: 2,
        request_type: Some("x".to_owned()),
        source: "two".to_owned(),
        created_at: at(1),
        created_by: "ada".to_owned(),
    };
    assert_eq!(second, Some(expected));
    assert_eq!(store.workflow("a".to_owned(), Some(4)).await.expect("nothing"), None);
    let newest = store.workflow("a".to_owned(), None).await.expect("the newest");
    assert_eq!(newest.map(|document| document.version), Some(3));
    let all = store.workflows().await.expect("all");
    let all: Vec<_> = all.iter().map(|found| (found.name.as_str(), found.version)).collect();
    assert_eq!(all, [("a", 3), ("b", 1)]);
}

/// A request type leads to the workflow that claimed it last, in its newest version.
pub async fn a_request_type_leads_to_its_last_claimer(subject: Subject) {
    let store = &*subject.store;
    assert_eq!(protocol(store, "x").await, None);
    publish(store, document("a", Some("x"), "one")).await;
    assert_eq!(protocol(store, "x").await, Some(("a".to_owned(), 1)));
    publish(store, document("b", Some("x"), "one")).await;
    assert_eq!(protocol(store, "x").await, Some(("b".to_owned(), 1)));
    publish(store, document("a", Some("x"), "one")).await;
    assert_eq!(protocol(store, "x").await, Some(("b".to_owned(), 1)), "nothing new was claimed");
    publish(store, document("a", Some("x"), "two")).await;
    assert_eq!(protocol(store, "x").await, Some(("a".to_owned(), 2)));
    assert_eq!(protocol(store, "y").await, None);
}

fn token(id: &str, created: u64) -> TokenRecord {
    TokenRecord {
        id: id.to_owned(),
        secret_hash: [7; 32],
        name: "ci".to_owned(),
        role: "client".to_owned(),
        tenant: Some(Tenant::new("acme")),
        created_at: at(created),
        expires_at: Some(at(99)),
        revoked_at: None,
    }
}

/// Tokens are found by id, listed oldest first, and revoked once.
pub async fn tokens_are_revoked_once(subject: Subject) {
    let store = &*subject.store;
    let everybody = TokenRecord { tenant: None, expires_at: None, ..token("b", 1) };
    store.create_token(token("a", 2)).await.expect("created");
    store.create_token(everybody.clone()).await.expect("created");
    assert!(store.create_token(token("a", 3)).await.is_err(), "an id is given once");
    assert_eq!(store.token("a".to_owned()).await.expect("a token"), Some(token("a", 2)));
    assert_eq!(store.token("x".to_owned()).await.expect("nothing"), None);
    assert_eq!(store.tokens().await.expect("all"), [everybody, token("a", 2)]);

    assert!(store.revoke_token("a".to_owned(), at(5)).await.expect("revoked"));
    assert!(!store.revoke_token("a".to_owned(), at(6)).await.expect("before"));
    assert!(!store.revoke_token("x".to_owned(), at(6)).await.expect("nothing"));
    let revoked = store.token("a".to_owned()).await.expect("a token").and_then(|t| t.revoked_at);
    assert_eq!(revoked, Some(at(5)));
}

/// The first secret of a name stays.
pub async fn a_secret_is_drawn_once(subject: Subject) {
    let secret = |name: &str, fresh: &[u8]| subject.store.secret(name.to_owned(), fresh.to_vec());
    assert_eq!(secret("callback", b"one").await.expect("a secret"), b"one");
    assert_eq!(secret("callback", b"two").await.expect("a secret"), b"one");
    assert_eq!(secret("webhook", b"two").await.expect("a secret"), b"two");
}

/// Of two who replace the same secret one succeeds, and the other is told to look again.
pub async fn a_secret_is_replaced_by_whoever_saw_it(subject: Subject) {
    let store = &*subject.store;
    let replace = async |seen: Option<&[u8]>, fresh: &[u8]| {
        let seen = seen.map(<[u8]>::to_vec);
        store.replace_secret("hook".to_owned(), seen, fresh.to_vec()).await.expect("an answer")
    };
    assert!(!replace(Some(b"none"), b"one").await, "there is none");
    assert!(replace(None, b"one").await);
    assert!(!replace(None, b"two").await, "there is one");
    assert!(replace(Some(b"one"), b"two").await);
    assert!(!replace(Some(b"one"), b"three").await, "it is another by now");
    let names = ["other", "hook"].map(str::to_owned).to_vec();
    assert_eq!(store.secrets(names).await.expect("secrets"), [None, Some(b"two".to_vec())]);
    assert_eq!(store.secrets(Vec::new()).await.expect("secrets"), Vec::<Option<Vec<u8>>>::new());
}
