//! Runbooks: versions, the active one, what the scheduler notes, and the keys an immediate one has seen.

use stepwell_core::batch::Overdue;

use super::Subject;
use super::world::at;
use crate::Store;
use crate::model::{Automation, NewRunbook, RunbookDocument};

fn document(name: &str, source: &str) -> NewRunbook {
    NewRunbook {
        name: name.to_owned(),
        source: source.to_owned(),
        overdue: Overdue::Rerun,
        rerun_init: false,
        created_at: at(1),
        created_by: "ada".to_owned(),
    }
}

async fn publish(store: &dyn Store, document: NewRunbook) -> RunbookDocument {
    store.publish_runbook(document).await.expect("published")
}

async fn active(store: &dyn Store, name: &str) -> Option<u32> {
    let found = store.runbook(name.to_owned(), None).await.expect("a lookup");
    found.map(|document| document.version)
}

/// Each publication is the next version and the only active one, unless it says what is active already.
pub async fn a_runbook_has_one_active_version(subject: Subject) {
    let store = &*subject.store;
    assert_eq!(active(store, "move").await, None);
    let first = publish(store, document("move", "one")).await;
    let expected = RunbookDocument {
        id: first.id,
        name: "move".to_owned(),
        version: 1,
        source: "one".to_owned(),
        is_active: true,
        overdue: Overdue::Rerun,
        overdue_applied: false,
        rerun_init: false,
        created_at: at(1),
        created_by: "ada".to_owned(),
        last_error: None,
        last_error_at: None,
    };
    assert_eq!(first, expected);
    let again = NewRunbook { created_by: "bob".to_owned(), ..document("move", "one") };
    assert_eq!(publish(store, again).await, first, "nothing is stored");
    let ignoring = NewRunbook { overdue: Overdue::Ignore, ..document("move", "one") };
    assert_eq!(publish(store, ignoring).await.version, 2, "other settings are another version");
    let preparing = NewRunbook { rerun_init: true, ..document("move", "two") };
    let third = publish(store, preparing).await;
    assert_eq!((third.version, third.rerun_init), (3, true));
    publish(store, document("merge", "one")).await;

    assert_eq!(active(store, "move").await, Some(3));
    let versions = store.runbooks(Some("move".to_owned())).await.expect("versions");
    let listed: Vec<_> = versions.iter().map(|it| (it.version, it.is_active)).collect();
    assert_eq!(listed, [(3, true), (2, false), (1, false)]);
    assert_eq!(versions[0], third);
    let all = store.runbooks(None).await.expect("runbooks");
    let listed: Vec<_> = all.iter().map(|it| (it.name.as_str(), it.version)).collect();
    assert_eq!(listed, [("merge", 1), ("move", 3)]);
    let second = store.runbook("move".to_owned(), Some(2)).await.expect("a lookup");
    assert_eq!(second.map(|it| it.overdue), Some(Overdue::Ignore));
    assert_eq!(store.runbook("move".to_owned(), Some(4)).await.expect("a lookup"), None);
}

/// A version that was taken out of use is not active; the next publication is, whatever it says.
pub async fn a_version_is_taken_out_of_use(subject: Subject) {
    let store = &*subject.store;
    publish(store, document("move", "one")).await;
    let deactivate = async |version: u32| {
        store.deactivate_runbook("move".to_owned(), version).await.expect("an answer")
    };
    assert!(!deactivate(2).await, "there is none such");
    assert!(deactivate(1).await);
    assert!(deactivate(1).await, "it stays out of use");
    assert_eq!(active(store, "move").await, None);
    assert_eq!(store.runbooks(None).await.expect("runbooks"), []);
    assert_eq!(store.runbooks(Some("move".to_owned())).await.expect("versions").len(), 1);
    assert_eq!(publish(store, document("move", "one")).await.version, 2);
    assert_eq!(active(store, "move").await, Some(2));
}

/// How the last pass over a version ended is kept with it, and cleared by a pass that was clean.
pub async fn a_pass_is_noted_with_its_version(subject: Subject) {
    let store = &*subject.store;
    let id = publish(store, document("move", "one")).await.id;
    let other = publish(store, document("merge", "one")).await;
    let noted = async || {
        let found = store.runbook("move".to_owned(), None).await.expect("a lookup");
        let found = found.expect("it is active");
        (found.last_error, found.last_error_at, found.overdue_applied)
    };
    store.note_runbook(id, Some("no such table".to_owned()), at(5)).await.expect("noted");
    assert_eq!(noted().await, (Some("no such table".to_owned()), Some(at(5)), false));
    store.note_runbook(id, None, at(6)).await.expect("noted");
    store.overdue_applied(id).await.expect("noted");
    assert_eq!(noted().await, (None, None, true));
    let untouched = store.runbook("merge".to_owned(), None).await.expect("a lookup");
    assert_eq!(untouched, Some(other));
}

/// Who switched the making of batches on or off, and when, is kept for both.
pub async fn automation_is_switched_by_somebody(subject: Subject) {
    let store = &*subject.store;
    let found = async || store.automation("move".to_owned()).await.expect("a lookup");
    let switch = async |enabled: bool, actor: &str, seconds: u64| {
        let set = store.set_automation("move".to_owned(), enabled, actor.to_owned(), at(seconds));
        set.await.expect("switched")
    };
    assert_eq!(found().await, None, "nobody ever said");
    let off = Automation {
        runbook: "move".to_owned(),
        enabled: false,
        enabled_at: None,
        enabled_by: None,
        disabled_at: Some(at(5)),
        disabled_by: Some("ada".to_owned()),
    };
    assert_eq!(switch(false, "ada", 5).await, off);
    let on = Automation {
        enabled: true,
        enabled_at: Some(at(6)),
        enabled_by: Some("bob".to_owned()),
        ..off
    };
    assert_eq!(switch(true, "bob", 6).await, on);
    assert_eq!(found().await, Some(on));
    assert_eq!(store.automation("merge".to_owned()).await.expect("a lookup"), None);
}

/// A key is seen until it is absent once.
pub async fn a_key_is_seen_until_it_is_absent(subject: Subject) {
    let store = &*subject.store;
    let keys = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>();
    let seen = async |present: &[&str]| {
        store.seen_keys("move".to_owned(), keys(present)).await.expect("keys")
    };
    assert_eq!(seen(&["a", "b"]).await, keys(&[]));
    store.note_keys("move".to_owned(), keys(&["a", "b"])).await.expect("noted");
    store.note_keys("move".to_owned(), keys(&["b", "c"])).await.expect("noted");
    store.note_keys("merge".to_owned(), keys(&["d"])).await.expect("noted");
    assert_eq!(seen(&["b", "d", "a"]).await, keys(&["b", "a"]), "of this runbook only");
    assert_eq!(seen(&["a", "b", "c"]).await, keys(&["a", "b"]), "c was absent");
    assert_eq!(seen(&[]).await, keys(&[]));
    assert_eq!(seen(&["a", "b", "c"]).await, keys(&[]));
    let others = store.seen_keys("merge".to_owned(), keys(&["d"])).await.expect("keys");
    assert_eq!(others, keys(&["d"]));
}
