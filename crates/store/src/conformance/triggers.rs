//! Triggers, their firings, and what is agreed for tenants.

use serde_json::json;
use stepwell_core::credit::Restore;
use stepwell_core::duration::Interval;
use stepwell_core::id::Tenant;
use stepwell_core::time::Timestamp;
use stepwell_core::trigger::TriggerKind;

use super::Subject;
use super::world::{World, at, run_id};
use crate::model::{Firing, FiringOutcome, TenantPolicy, Trigger, TriggerFilter, TriggerProgress};

fn trigger(name: &str, version: u32) -> Trigger {
    Trigger {
        tenant: Tenant::new("acme"),
        name: name.to_owned(),
        kind: TriggerKind::Schedule,
        workflow: "onboard".to_owned(),
        document: json!({ "schedule": { "cron": "0 2 * * *" }, "input": { "name": "Zo\u{eb}" } }),
        enabled: true,
        version,
        next_at: None,
        fired_until: None,
        last_error: None,
        actor: "ada".to_owned(),
        created_at: at(0),
        updated_at: at(u64::from(version)),
    }
}

fn due_at(name: &str, seconds: u64) -> Trigger {
    Trigger { next_at: Some(at(seconds)), ..trigger(name, 1) }
}

fn firing(key: &str, seconds: u64, outcome: FiringOutcome) -> Firing {
    Firing {
        tenant: Tenant::new("acme"),
        trigger: "nightly".to_owned(),
        key: key.to_owned(),
        scheduled_for: Some(at(seconds)),
        at: at(seconds + 1),
        run: (outcome == FiringOutcome::Started).then(|| run_id(seconds)),
        outcome,
        reason: (outcome != FiringOutcome::Started).then(|| "the last one goes on".to_owned()),
    }
}

fn progress(version: u32, next_at: Option<Timestamp>, firings: Vec<Firing>) -> TriggerProgress {
    TriggerProgress {
        tenant: Tenant::new("acme"),
        name: "nightly".to_owned(),
        version,
        next_at,
        fired_until: Some(at(7)),
        last_error: Some("no such workflow".to_owned()),
        firings,
    }
}

impl World {
    async fn puts(&self, trigger: Trigger) -> bool {
        self.store.put_trigger(trigger).await.expect("a trigger is put")
    }

    async fn finds(&self, filter: TriggerFilter) -> Vec<Trigger> {
        self.store.triggers(filter).await.expect("triggers are listed")
    }

    async fn progresses(&self, progress: TriggerProgress) -> bool {
        let written = self.store.progress_triggers(vec![progress]).await.expect("progress");
        written == [true]
    }

    async fn firing_keys(&self, outcome: Option<FiringOutcome>, limit: usize) -> Vec<String> {
        let acme = Tenant::new("acme");
        let found = self.store.firings(acme, "nightly".to_owned(), outcome, limit).await;
        found.expect("firings").into_iter().map(|firing| firing.key).collect()
    }
}

/// A trigger is changed only from the version that was read; so two people never overwrite each other.
pub async fn a_trigger_is_changed_from_the_version_before(subject: Subject) {
    let world = World::of(&subject).await;
    assert!(!world.puts(trigger("nightly", 2)).await, "there is no version before");
    assert!(world.puts(trigger("nightly", 1)).await);
    assert!(!world.puts(trigger("nightly", 1)).await, "it exists");
    let changed = Trigger { enabled: false, last_error: Some("odd".to_owned()), ..due_at("", 9) };
    let changed = Trigger { name: "nightly".to_owned(), version: 2, ..changed };
    assert!(world.puts(changed.clone()).await);
    assert!(!world.puts(trigger("nightly", 2)).await, "somebody was first");
    assert!(!world.puts(trigger("nightly", 4)).await, "a version was left out");
    assert_eq!(world.finds(TriggerFilter::default()).await, [changed]);
    let delete = |name: &str| world.store.delete_trigger(Tenant::new("acme"), name.to_owned());
    assert!(delete("nightly").await.expect("deleted"));
    assert!(!delete("nightly").await.expect("it is gone"));
    assert_eq!(world.finds(TriggerFilter::default()).await, []);
}

/// Triggers are listed by tenant and name, and by what they are.
pub async fn triggers_are_found_again(subject: Subject) {
    let world = World::of(&subject).await;
    let hook = Trigger { kind: TriggerKind::Webhook, enabled: false, ..trigger("a hook", 1) };
    let theirs = Trigger { tenant: Tenant::new("globex"), ..trigger("a hook", 1) };
    for trigger in [trigger("nightly", 1), theirs, hook] {
        assert!(world.puts(trigger).await);
    }
    let all = TriggerFilter::default;
    let acme = || TriggerFilter { tenant: Some(Tenant::new("acme")), ..all() };
    let cases: [(TriggerFilter, &[&str]); 6] = [
        (all(), &["acme a hook", "acme nightly", "globex a hook"]),
        (acme(), &["acme a hook", "acme nightly"]),
        (TriggerFilter { name: Some("nightly".to_owned()), ..acme() }, &["acme nightly"]),
        (
            TriggerFilter { name: Some("a hook".to_owned()), ..all() },
            &["acme a hook", "globex a hook"],
        ),
        (TriggerFilter { kind: Some(TriggerKind::Webhook), ..all() }, &["acme a hook"]),
        (TriggerFilter { enabled_only: true, ..acme() }, &["acme nightly"]),
    ];
    for (filter, expected) in cases {
        let found = world.finds(filter.clone()).await;
        let found: Vec<String> =
            found.iter().map(|it| format!("{} {}", it.tenant.as_str(), it.name)).collect();
        assert_eq!(found, expected, "{filter:?}");
    }
}

/// Enabled triggers are due from their moment on, earliest first; when to look again is known.
pub async fn triggers_are_due_in_their_order(subject: Subject) {
    let world = World::of(&subject).await;
    let off = Trigger { enabled: false, ..due_at("off", 5) };
    for trigger in [due_at("late", 30), due_at("early", 10), off, trigger("never", 1)] {
        assert!(world.puts(trigger).await);
    }
    let cases: [(u64, usize, &[&str], Option<u64>); 4] = [
        (9, 9, &[], Some(10)),
        (10, 9, &["early"], Some(30)),
        (30, 9, &["early", "late"], None),
        (30, 1, &["early"], None),
    ];
    for (now, limit, expected, look_again) in cases {
        let (due, next) = world.store.due_triggers(at(now), limit).await.expect("due");
        let due: Vec<&str> = due.iter().map(|trigger| trigger.name.as_str()).collect();
        assert_eq!((due.as_slice(), next), (expected, look_again.map(at)), "at {now}");
    }
}

/// What became of a trigger is written only if it is as it was read: of two instances that look at the
/// same one after it was changed, the old word is refused, its firings with it.
pub async fn progress_from_an_old_version_is_refused(subject: Subject) {
    let world = World::of(&subject).await;
    assert!(world.puts(Trigger { name: "nightly".to_owned(), ..due_at("", 5) }).await);
    let first = firing("one", 5, FiringOutcome::Queued);
    assert!(world.progresses(progress(1, Some(at(65)), vec![first])).await);
    let changed = Trigger { version: 2, ..trigger("nightly", 1) };
    assert!(world.puts(changed).await);
    let second = firing("two", 65, FiringOutcome::Started);
    let old = progress(1, Some(at(125)), vec![second.clone()]);
    let unknown = TriggerProgress { name: "other".to_owned(), ..progress(1, None, vec![]) };
    let current = progress(2, None, vec![firing("one", 5, FiringOutcome::Started)]);
    let written = world.store.progress_triggers(vec![old, unknown, current]).await;
    assert_eq!(written.expect("progress"), [false, false, true]);

    let found = world.finds(TriggerFilter::default()).await.remove(0);
    let expected = Trigger {
        fired_until: Some(at(7)),
        last_error: Some("no such workflow".to_owned()),
        ..trigger("nightly", 2)
    };
    assert_eq!(found, Trigger { updated_at: at(1), ..expected });
    let acme = || Tenant::new("acme");
    let firings = world.store.firings(acme(), "nightly".to_owned(), None, 9).await;
    let replaced = firing("one", 5, FiringOutcome::Started);
    let firings = firings.expect("firings");
    assert_eq!(firings, std::slice::from_ref(&replaced), "the same firing is noted once");
    // An instance that was frozen over it has not heard of the run.
    let late = firing("one", 9, FiringOutcome::Skipped);
    assert!(world.progresses(progress(2, None, vec![late])).await);
    let firings = world.store.firings(acme(), "nightly".to_owned(), None, 9).await;
    assert_eq!(firings.expect("firings"), [replaced], "what has made a run has made it");
    let keys = ["one", "two"].map(str::to_owned).to_vec();
    let known = world.store.known_firings(acme(), "nightly".to_owned(), keys.clone()).await;
    assert_eq!(known.expect("known"), [true, false]);
    let others = world.store.known_firings(Tenant::new("globex"), "nightly".to_owned(), keys).await;
    assert_eq!(others.expect("known"), [false, false]);
}

/// Firings are listed newest first, and by what became of them; they go with their trigger.
pub async fn firings_are_found_again(subject: Subject) {
    let world = World::of(&subject).await;
    assert!(world.puts(trigger("nightly", 1)).await);
    let firings = vec![
        firing("b", 20, FiringOutcome::Skipped),
        firing("a", 10, FiringOutcome::Started),
        firing("d", 30, FiringOutcome::Skipped),
        firing("c", 30, FiringOutcome::Queued),
    ];
    assert!(world.progresses(progress(1, None, firings)).await);
    assert_eq!(world.firing_keys(None, 9).await, ["d", "c", "b", "a"]);
    assert_eq!(world.firing_keys(None, 2).await, ["d", "c"]);
    assert_eq!(world.firing_keys(Some(FiringOutcome::Skipped), 9).await, ["d", "b"]);
    assert_eq!(world.firing_keys(Some(FiringOutcome::Failed), 9).await, [""; 0]);
    let deleted = world.store.delete_trigger(Tenant::new("acme"), "nightly".to_owned()).await;
    assert!(deleted.expect("deleted"));
    assert_eq!(world.firing_keys(None, 9).await, [""; 0]);
}

/// Old firings are forgotten, except those that wait and those of files, which may still lie there.
pub async fn firings_are_forgotten_in_the_end(subject: Subject) {
    let world = World::of(&subject).await;
    let drop_box = Trigger { kind: TriggerKind::FileDrop, ..trigger("inbox", 1) };
    assert!(world.puts(drop_box).await);
    assert!(world.puts(trigger("nightly", 1)).await);
    let firings = vec![
        firing("a", 10, FiringOutcome::Started),
        firing("b", 20, FiringOutcome::Queued),
        firing("c", 20, FiringOutcome::Skipped),
        firing("d", 30, FiringOutcome::Started),
    ];
    assert!(world.progresses(progress(1, None, firings.clone())).await);
    let files = firings.into_iter().map(|it| Firing { trigger: "inbox".to_owned(), ..it });
    let files = progress(1, None, files.collect());
    assert!(world.progresses(TriggerProgress { name: "inbox".to_owned(), ..files }).await);
    let forget = |before| world.store.forget(at(0), at(before), 1);
    assert_eq!(forget(31).await.expect("one at a time"), 1);
    assert_eq!(forget(31).await.expect("the other"), 1);
    assert_eq!(forget(31).await.expect("none is left"), 0);
    assert_eq!(world.firing_keys(None, 9).await, ["d", "b"]);
    let inbox = world.store.firings(Tenant::new("acme"), "inbox".to_owned(), None, 9).await;
    assert_eq!(inbox.expect("firings").len(), 4);
}

/// What is agreed for a tenant holds until something else is.
pub async fn agreements_hold_until_changed(subject: Subject) {
    let world = World::of(&subject).await;
    let (acme, globex) = (Tenant::new("acme"), Tenant::new("globex"));
    let policies = || async { world.store.tenant_policies().await.expect("policies") };
    let set = |tenant: &Tenant, policy| world.store.set_tenant_policy(tenant.clone(), policy);
    assert_eq!(policies().await, []);
    let keeps = |days: u64| TenantPolicy {
        keep: Some(Interval::from_secs(days * 86_400)),
        restore: Some(Restore::Failed),
        ..TenantPolicy::default()
    };
    set(&globex, Some(TenantPolicy::default())).await.expect("agreed");
    set(&acme, Some(keeps(7))).await.expect("agreed");
    set(&acme, Some(keeps(9))).await.expect("agreed anew");
    let expected = [(acme.clone(), keeps(9)), (globex.clone(), TenantPolicy::default())];
    assert_eq!(policies().await, expected);
    set(&globex, None).await.expect("nothing any more");
    set(&globex, None).await.expect("still nothing");
    assert_eq!(policies().await, [(acme, keeps(9))]);
}
