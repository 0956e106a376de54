//! How long what has ended is kept, and that it goes then.

use std::sync::Arc;
use std::time::Duration;

use stepwell_core::duration::Interval;
use stepwell_core::id::{RunId, Tenant};
use stepwell_core::run::{Dialect, Header};
use stepwell_core::step::Outcome;
use stepwell_engine::{Ask, Keep, Reply, Retention, Settings, Start};
use stepwell_store::TenantPolicy;
use stepwell_store::memory::MemoryStore;

use crate::world::{THREE_STEPS, World, failure, success};

const DAY: u64 = 24 * 3_600;

impl World {
    /// Starts a run of a dialect, and ends it with the first report if that is a failure.
    async fn ends(&self, dialect: Dialect, tenant: &str, outcome: Outcome) -> RunId {
        let run = self.starts(dialect, tenant).await;
        let fails = matches!(outcome, Outcome::Failed { .. });
        let taken = self.take_one().await;
        self.report(&taken, outcome).await.expect("the report counts");
        if !fails {
            self.work_off(run).await;
        }
        assert!(self.run(run).await.status.is_terminal());
        run
    }

    async fn starts(&self, dialect: Dialect, tenant: &str) -> RunId {
        let header = Header { dialect, ..self.header("three-steps", tenant).await };
        let header = Arc::new(header);
        let start = Start { header, carried: Vec::new(), key: None, tenant_cap: None };
        match self.engine.ask_one(Ask::Start(Box::new(start))).await {
            Ok(Reply::Started(run)) => run.id(),
            other => panic!("not started: {other:?}"),
        }
    }

    /// How long after its end a run is deleted, in seconds.
    async fn kept_for(&self, run: RunId) -> Option<u64> {
        let run = self.run(run).await;
        let expiry = self.engine.expires_at(&run).await.expect("the store answers")?;
        let ended_at = run.ended_at.expect("it has ended");
        Some(expiry.since(ended_at).as_millis() / 1_000)
    }

    /// Waits until a run is deleted.
    async fn deletes(&self, run: RunId) {
        while self.store.stub(run).await.expect("the store answers").is_none() {
            tokio::task::yield_now().await;
        }
    }
}

fn keeps(seconds: u64) -> TenantPolicy {
    TenantPolicy { keep: Some(Interval::from_secs(seconds)), ..TenantPolicy::default() }
}

// C-005, C-041, X-127, X-161: 30 days, dead jobs 90; the other dialects keep for ever.
#[tokio::test]
async fn jobs_of_workspaces_are_kept_for_a_month_and_dead_ones_for_three() {
    let world = World::in_memory().await;
    world.publish(THREE_STEPS).await;
    let done = world.ends(Dialect::Workspaces, "acme", success()).await;
    assert_eq!(world.kept_for(done).await, Some(30 * DAY));
    let dead = world.ends(Dialect::Workspaces, "acme", failure(false)).await;
    assert_eq!(world.kept_for(dead).await, Some(90 * DAY));
    for dialect in [Dialect::Runbooks, Dialect::Platform, Dialect::Commands] {
        for outcome in [success(), failure(false)] {
            let run = world.ends(dialect, "acme", outcome).await;
            assert_eq!(world.kept_for(run).await, None, "{dialect:?}");
        }
    }
    world.engine.stop().await;
}

// every surface has its own setting.
#[tokio::test]
async fn every_dialect_keeps_its_runs_as_long_as_it_is_told() {
    let seconds = |ended, failed| Keep {
        ended: Some(Interval::from_secs(ended)),
        failed: Some(Interval::from_secs(failed)),
    };
    let retention = Retention {
        runbooks: seconds(1, 2),
        platform: seconds(3, 4),
        workspaces: seconds(5, 6),
        commands: seconds(7, 8),
        ..Retention::default()
    };
    let settings = Settings { retention, ..Settings::default() };
    let world = World::with(Arc::new(MemoryStore::new()), settings, Default::default()).await;
    world.publish(THREE_STEPS).await;
    let dialects = [Dialect::Runbooks, Dialect::Platform, Dialect::Workspaces, Dialect::Commands];
    for (number, dialect) in (0..).zip(dialects) {
        let done = world.ends(dialect, "acme", success()).await;
        assert_eq!(world.kept_for(done).await, Some(2 * number + 1), "{dialect:?}");
        let failed = world.ends(dialect, "acme", failure(false)).await;
        assert_eq!(world.kept_for(failed).await, Some(2 * number + 2), "{dialect:?}");
    }
    world.engine.stop().await;
}

// C-041: the window is configured from outside, for a workspace too.
#[tokio::test]
async fn what_is_agreed_for_a_workspace_holds_for_what_ends_from_then_on() {
    let store = Arc::new(MemoryStore::new());
    let mut world = World::on(store.clone()).await;
    world.publish(THREE_STEPS).await;
    let acme = Tenant::new("acme");
    let before = world.ends(Dialect::Workspaces, "acme", success()).await;
    world.engine.set_tenant_policy(acme.clone(), Some(keeps(60))).await.expect("agreed");
    assert_eq!(world.engine.tenant_policy(&acme), keeps(60));

    let after = world.ends(Dialect::Workspaces, "acme", success()).await;
    assert_eq!(world.kept_for(after).await, Some(60));
    let dead = world.ends(Dialect::Workspaces, "acme", failure(false)).await;
    assert_eq!(world.kept_for(dead).await, Some(90 * DAY), "nothing was agreed for dead ones");
    let others = world.ends(Dialect::Workspaces, "globex", success()).await;
    assert_eq!(world.kept_for(others).await, Some(30 * DAY));
    let command = world.ends(Dialect::Commands, "acme", success()).await;
    assert_eq!(world.kept_for(command).await, None, "a workspace speaks for its jobs alone");
    assert_eq!(world.kept_for(before).await, Some(30 * DAY), "it was fixed at its end");

    world.engine.crash();
    world.restart(store).await;
    let again = world.ends(Dialect::Workspaces, "acme", success()).await;
    assert_eq!(world.kept_for(again).await, Some(60), "a restart forgets nothing");
    world.engine.set_tenant_policy(acme, None).await.expect("nothing any more");
    let last = world.ends(Dialect::Workspaces, "acme", success()).await;
    assert_eq!(world.kept_for(last).await, Some(30 * DAY));
    world.engine.stop().await;
}

// C-005, C-042, X-161: what has expired goes by itself; what has not ended never does.
#[tokio::test]
async fn what_has_expired_goes_and_what_goes_on_stays() {
    let world = World::in_memory().await;
    world.publish(THREE_STEPS).await;
    let acme = Tenant::new("acme");
    world.engine.set_tenant_policy(acme, Some(keeps(60))).await.expect("agreed");
    let done = world.ends(Dialect::Workspaces, "acme", success()).await;
    let open = world.starts(Dialect::Workspaces, "acme").await;
    world.clock.advance(Duration::from_secs(120));
    world.deletes(done).await;
    assert!(!world.run(open).await.status.is_terminal());
    assert_eq!(world.engine.expires_at(&*world.run(open).await).await.expect("an answer"), None);
    world.engine.stop().await;
}
