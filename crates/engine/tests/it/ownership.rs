//! Several engines on one store: who decides, who takes over, and that nobody decides twice.

use std::sync::Arc;
use std::time::Duration;

use stepwell_connectors::clock::{Clock, ManualClock};
use stepwell_connectors::egress::Policy;
use stepwell_core::command::{Act, Command};
use stepwell_core::duration::Interval;
use stepwell_core::id::RunId;
use stepwell_core::refusal::Refusal;
use stepwell_core::run::RunStatus;
use stepwell_core::time::Timestamp;
use stepwell_engine::{Engine, EngineError, Ownership, Settings};
use stepwell_store::memory::MemoryStore;
use stepwell_store::{InstanceState, Store};
use tokio::sync::Semaphore;

use crate::faulty::Faulty;
use crate::world::{NOON_MS, THREE_STEPS, World, report, start, success, take_of};

/// A store that several engines share, with one clock for all.
pub(crate) struct Town {
    pub(crate) store: MemoryStore,
    clock: Arc<ManualClock>,
}

impl Town {
    pub(crate) fn new() -> Self {
        let clock = Arc::new(ManualClock::new(NOON_MS));
        let hands = Arc::clone(&clock);
        let now = move || Timestamp::from_millis(hands.now_ms());
        Self { store: MemoryStore::shared(now), clock }
    }

    pub(crate) async fn instance(&self) -> World {
        self.instance_with(Ownership::default()).await
    }

    async fn instance_with(&self, ownership: Ownership) -> World {
        self.instance_on(Arc::new(self.store.another()), ownership).await
    }

    async fn instance_on(&self, store: Arc<dyn Store>, ownership: Ownership) -> World {
        let settings = Settings { ownership, ..Settings::default() };
        let clock = Arc::clone(&self.clock);
        let engine = start(&store, &clock, &settings, Policy::default()).await;
        World { engine, store, clock, settings }
    }

    /// Lets time pass in small steps, so that everybody who lives can give signs of life.
    pub(crate) async fn pass(&self, seconds: u64) {
        for _ in 0..seconds {
            self.clock.advance(Duration::from_secs(1));
            settle().await;
        }
    }

    async fn owner(&self, run: RunId) -> Option<u64> {
        let stored = self.store.load(vec![run]).await.expect("loads").pop().expect("exists");
        stored.owner.map(|owner| owner.0)
    }
}

/// Lets every task that can run do so.
async fn settle() {
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
}

pub(crate) async fn until_owned_by(town: &Town, run: RunId, engine: &Engine) {
    let id = engine.stats().owner_id;
    loop {
        let instances = town.store.instances().await.expect("reads");
        let mine = instances.iter().find(|instance| instance.id == id).expect("registered");
        if town.owner(run).await == Some(mine.epoch.0) {
            return;
        }
        settle().await;
    }
}

// B-019, B-037, B-043, B-072: instances without a leader; each owns what it creates.
#[tokio::test]
async fn two_instances_each_own_what_they_create() {
    let town = Town::new();
    let (one, two) = (town.instance().await, town.instance().await);
    assert_ne!(one.engine.stats().owner_id, two.engine.stats().owner_id);
    one.publish(THREE_STEPS).await;
    let (first, second) = (one.start("three-steps").await, two.start("three-steps").await);
    until_owned_by(&town, first, &one.engine).await;
    until_owned_by(&town, second, &two.engine).await;
    let instances = one.engine.instances().await.expect("reads");
    assert_eq!(instances.iter().map(|instance| instance.owned).collect::<Vec<_>>(), [1, 1]);
}

// any instance stores a result; only the owner decides it, and whoever sent it gets the answer.
#[tokio::test]
async fn a_result_sent_to_another_instance_is_decided_by_the_owner() {
    let town = Town::new();
    let (one, two) = (town.instance().await, town.instance().await);
    one.publish(THREE_STEPS).await;
    let run = one.start("three-steps").await;
    let taken = one.take_one().await;
    let after = two.engine.command(run, report(&taken, success())).await.expect("followed");
    assert_eq!(after.steps[0].status.word(), "succeeded", "the answer is the run as decided");
    until_owned_by(&town, run, &one.engine).await;
    let repeated = two.engine.command(run, report(&taken, success())).await;
    assert!(
        matches!(repeated, Err(EngineError::Refused(Refusal::StepEnded(_)))),
        "the owner's refusal comes back to whoever asked elsewhere: {repeated:?}"
    );
    assert_eq!(town.store.stale_reports(run).await.expect("reads").len(), 1);
    assert_eq!(one.take_one().await.directive.step.0, 1, "the owner goes on");
}

// B-057: while signs of life come, a run stays where it is, however long it takes.
#[tokio::test]
async fn a_living_owner_keeps_its_runs() {
    let town = Town::new();
    let (one, _two) = (town.instance().await, town.instance().await);
    one.publish(THREE_STEPS).await;
    let run = one.start("three-steps").await;
    town.pass(600).await;
    until_owned_by(&town, run, &one.engine).await;
    assert!(one.engine.may_decide());
}

// B-057, X-102: a takeover that waits, for a commit of somebody who stands still, does not make the one
// who takes over look dead.
#[tokio::test]
async fn an_owner_whose_takeover_waits_for_others_keeps_its_runs() {
    let town = Town::new();
    let slow = Faulty::new(Arc::new(town.store.another()));
    let one = town.instance_on(Arc::clone(&slow) as Arc<dyn Store>, Ownership::default()).await;
    let _two = town.instance().await;
    one.publish(THREE_STEPS).await;
    let run = one.start("three-steps").await;
    settle().await;
    slow.takeovers.forget_permits(Semaphore::MAX_PERMITS);
    town.pass(600).await;
    until_owned_by(&town, run, &one.engine).await;
    assert!(one.engine.may_decide());
}

// B-040, B-058, B-072, X-102: after a crash the runs go on elsewhere, within the threshold of the last
// sign of life and not a scan later.
#[tokio::test]
async fn after_a_crash_another_instance_goes_on_from_what_is_stored() {
    let town = Town::new();
    let (one, two) = (town.instance().await, town.instance().await);
    one.publish(THREE_STEPS).await;
    let run = one.start("three-steps").await;
    let taken = one.take_one().await;
    one.engine.crash();
    town.pass(119).await;
    assert_ne!(town.owner(run).await, None);
    let before = town.owner(run).await;
    // A worker that reports meanwhile is not turned away: what it says is kept for the next owner.
    let told = two.engine.clone();
    let reported = tokio::spawn({
        let command = report(&taken, success());
        async move { told.command(run, command).await }
    });
    town.pass(7).await;
    reported.await.expect("no panic").expect("stored or decided");
    until_owned_by(&town, run, &two.engine).await;
    assert_ne!(town.owner(run).await, before);
    assert_eq!(two.engine.stats().jobs_reclaimed, 1);
    assert_eq!(two.take_one().await.directive.step.0, 1, "the first step is not done again");
    let instances = two.engine.instances().await.expect("reads");
    assert_eq!(instances[0].state, InstanceState::Dead);
}

// whoever was declared dead changes nothing, and goes on as somebody new.
#[tokio::test]
async fn a_zombie_changes_nothing_and_begins_anew() {
    let town = Town::new();
    let one = town.instance().await;
    one.publish(THREE_STEPS).await;
    let run = one.start("three-steps").await;
    let taken = one.take_one().await;
    let before = one.engine.stats().owner_id;
    // Its clock and the store's stand for it: nothing of it runs while time passes for the others.
    town.clock.advance(Duration::from_secs(200));
    let silence = Ownership::default().silence;
    let heir = town.store.open_epoch("heir").await.expect("opens");
    let taken_over = town.store.reclaim(heir, silence, 10).await.expect("reclaims");
    assert_eq!(taken_over.runs, [run]);
    let late = tokio::spawn({
        let (zombie, command) = (one.engine.clone(), report(&taken, success()));
        async move { zombie.command(run, command).await }
    });
    town.pass(6).await;
    // It was kept for the heir, which is silent here; or it was turned away, to be sent again.
    match late.await.expect("no panic") {
        Ok(kept) => assert_eq!(kept.version, taken.run.version),
        Err(error) => assert!(matches!(error, EngineError::Unavailable(_)), "{error:?}"),
    }
    assert_eq!(town.owner(run).await, Some(heir.0));
    let stored = town.store.load(vec![run]).await.expect("loads").remove(0);
    assert_eq!(stored.version, taken.run.version, "nothing was written");
    while one.engine.stats().owner_id == before || !one.engine.may_decide() {
        settle().await;
    }
    assert_eq!(one.engine.stats().fenced_writes, 1, "its sign of life was refused, nothing else");
    one.start("three-steps").await;
}

// the store refuses what a zombie writes that has not noticed; the refusals are counted.
#[tokio::test]
async fn what_a_zombie_writes_unknowingly_is_refused_whole() {
    let town = Town::new();
    let one = town.instance().await;
    one.publish(THREE_STEPS).await;
    let run = one.start("three-steps").await;
    let taken = one.take_one().await;
    // Others count silence in another way than it was told: the fence is the store's alone.
    let heir = town.store.open_epoch("heir").await.expect("opens");
    town.clock.advance(Duration::from_secs(2));
    let hasty = Interval::from_secs(1);
    assert_eq!(town.store.reclaim(heir, hasty, 10).await.expect("reclaims").runs, [run]);
    let refused = one.engine.command(run, report(&taken, success())).await;
    assert!(matches!(refused, Err(EngineError::Unavailable(_))), "{refused:?}");
    assert!(one.engine.stats().fenced_writes >= 1);
    let stored = town.store.load(vec![run]).await.expect("loads").remove(0);
    assert_eq!((stored.version, stored.owner), (taken.run.version, Some(heir)));
}

// a graceful stop releases at once.
#[tokio::test]
async fn a_stopped_instance_leaves_its_runs_to_others_at_once() {
    let town = Town::new();
    let (one, two) = (town.instance().await, town.instance().await);
    one.publish(THREE_STEPS).await;
    let run = one.start("three-steps").await;
    one.engine.stop().await;
    until_owned_by(&town, run, &two.engine).await;
    assert_eq!(two.take_one().await.run.id(), run);
}

// X-101, D-005: an instance that only takes work in leaves its runs to those that decide.
#[tokio::test]
async fn an_instance_without_the_engine_role_leaves_the_work_to_others() {
    let town = Town::new();
    let door = town.instance_with(Ownership { decides: false, ..Ownership::default() }).await;
    door.publish(THREE_STEPS).await;
    let run = door.start("three-steps").await;
    assert_eq!(town.owner(run).await, None);
    let refused = door.try_take().await;
    assert!(matches!(refused, Err(EngineError::Unavailable(_))), "{refused:?}");
    let one = town.instance().await;
    until_owned_by(&town, run, &one.engine).await;
    let cancel = Command::Cancel { mode: None, by: Act::new("operator", "") };
    let after = door.engine.command(run, cancel).await.expect("followed by the owner");
    assert_eq!(after.status, RunStatus::Cancelling, "a step is with a worker, so it drains");
}

// Work goes to where workers wait for it, and stays there.
#[tokio::test]
async fn workers_at_one_instance_get_the_work_of_another() {
    let town = Town::new();
    let (one, two) = (town.instance().await, town.instance().await);
    one.publish(THREE_STEPS).await;
    let waiting = tokio::spawn({
        let two = two.engine.clone();
        async move { take_of(&two, 1).await }
    });
    settle().await;
    let run = one.start("three-steps").await;
    let taken = waiting.await.expect("no panic").pop().expect("a directive");
    assert_eq!(taken.run.id(), run);
    until_owned_by(&town, run, &two.engine).await;
    let after = two.engine.command(run, report(&taken, success())).await.expect("followed");
    assert_eq!(after.status, RunStatus::Running);
    // And what was there before anybody waited goes as well.
    let earlier = one.start("three-steps").await;
    let mut both = [two.take_one().await.run.id(), two.take_one().await.run.id()];
    both.sort_unstable();
    let mut expected = [run, earlier];
    expected.sort_unstable();
    assert_eq!(both, expected);
    assert!(one.take_now().await.is_empty(), "nothing is handed out twice");
}

// A run with a step in a worker's hands is not handed over: nobody else shall get that step.
#[tokio::test]
async fn a_run_that_a_worker_holds_stays_where_it_is() {
    let town = Town::new();
    let (one, two) = (town.instance().await, town.instance().await);
    one.publish(
        "name: pair\nsteps:\n  - {id: left, type: T, pool: workers, after: []}\n  \
         - {id: right, type: T, pool: workers, after: []}\n",
    )
    .await;
    let run = one.start("pair").await;
    let left = one.take_one().await;
    let waiting = tokio::spawn({
        let two = two.engine.clone();
        async move { take_of(&two, 1).await }
    });
    settle().await;
    until_owned_by(&town, run, &one.engine).await;
    one.engine.command(run, report(&left, success())).await.expect("followed");
    // Now nobody holds a step of it, and the next word of hunger moves it.
    town.pass(31).await;
    let right = waiting.await.expect("no panic").pop().expect("a directive");
    assert_eq!((right.run.id(), right.directive.step.0), (run, 1));
}
