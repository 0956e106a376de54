//! Several instances on one store: each writes its own runs, and the silent lose theirs.
//!
//! A store that is not shared passes these cases by having nobody else.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::json;
use stepwell_core::duration::Interval;
use stepwell_core::id::RunId;

use super::Subject;
use super::world::{World, at, decided, header, item, run_id, started, success};
use crate::error::StoreError;
use crate::model::{Epoch, Group, InstanceState, Item, Signal, Verdict};

/// Nobody in these cases is silent for so long.
const LONG: Interval = Interval::from_secs(3_600);

/// Everybody else has been silent for longer.
const NOTHING: Interval = Interval::from_millis(0);

/// Two instances, unless there can be only one.
async fn two(subject: &Subject) -> Option<(World, World)> {
    if !subject.store.is_shared() {
        return None;
    }
    Some((World::named(subject, "one").await, World::named(subject, "two").await))
}

async fn owner(world: &World, run: RunId) -> Option<Epoch> {
    world.store.load(vec![run]).await.expect("runs can be loaded")[0].owner
}

async fn reclaims(world: &World, silence: Interval, limit: usize) -> Vec<RunId> {
    world.store.reclaim(world.epoch, silence, limit).await.expect("a takeover").runs
}

/// What an instance creates is its own, and only its own work is due to it.
pub async fn an_instance_owns_what_it_creates(subject: Subject) {
    let Some((one, two)) = two(&subject).await else { return };
    one.begins(header(1)).await;
    two.begins(header(2)).await;
    assert_eq!(owner(&one, run_id(1)).await, Some(one.epoch));
    assert_eq!(owner(&one, run_id(2)).await, Some(two.epoch));
    for (world, mine) in [(&one, run_id(1)), (&two, run_id(2))] {
        let due = world.store.due(world.epoch, at(999_999), 9).await.expect("due");
        assert_eq!(due.runs, [mine]);
        let queued = world.store.queued(world.epoch, "default".to_owned(), None, 9).await;
        let queued = queued.expect("a queue");
        assert_eq!(queued.iter().map(|step| step.key.run).collect::<Vec<_>>(), [mine]);
        let pools = world.store.queued_pools(world.epoch).await.expect("pools");
        assert_eq!(pools, ["default"]);
    }
    let nobody = Epoch(two.epoch.0 + 1_000);
    assert_eq!(one.store.queued_pools(nobody).await.expect("pools"), Vec::<String>::new());
}

/// A decision of anybody but the owner is stale, and costs its neighbors nothing.
pub async fn only_the_owner_writes_a_run(subject: Subject) {
    let Some((one, two)) = two(&subject).await else { return };
    let run = one.begins(header(1)).await;
    let intruding = Item::Advance(Box::new(decided(&run, &success(&run))));
    let verdicts = two.commits(vec![intruding, item(started(header(2)))]).await;
    assert_eq!(verdicts, [Verdict::Stale, Verdict::Done]);
    assert_eq!(one.run(1).await.version, run.version);
    let moment = Item::Reschedule { run: run.id(), version: run.version, wake_at: None };
    assert_eq!(two.commits(vec![moment]).await, [Verdict::Stale]);
    one.moves(&run, &success(&run)).await;
}

/// A run that belongs to nobody is whose who writes it first.
pub async fn whoever_writes_a_free_run_owns_it(subject: Subject) {
    let Some((one, two)) = two(&subject).await else { return };
    let mut ear = two.store.listen(two.epoch).await.expect("an ear");
    let create = started(header(1));
    let run = Arc::clone(&create.run);
    let group = Group { free: true, ..Group::of(one.epoch, vec![item(create)]) };
    assert_eq!(one.store.commit(group).await.expect("a commit"), [Verdict::Done]);
    assert_eq!(owner(&one, run.id()).await, None);
    assert_eq!(ear.recv().await, Some(Signal::Free), "the others are told");
    two.moves(&run, &success(&run)).await;
    assert_eq!(owner(&one, run.id()).await, Some(two.epoch));
}

/// While it gives signs of life nobody takes an owner's runs.
pub async fn a_living_owner_keeps_its_runs(subject: Subject) {
    let Some((one, two)) = two(&subject).await else { return };
    one.begins(header(1)).await;
    let beat = one.store.heartbeat(one.epoch, json!({ "cycles": 7 })).await.expect("a beat");
    assert!(beat.now.is_some(), "a shared store has a clock of its own");
    let reclaimed = two.store.reclaim(two.epoch, LONG, 9).await.expect("a takeover");
    assert_eq!(reclaimed.runs, []);
    let next_in = reclaimed.next_in.expect("somebody lives who may become silent");
    assert!(next_in <= LONG && next_in.as_secs() > 3_000, "{next_in:?}");
    let instances = two.store.instances().await.expect("instances");
    let seen = instances.iter().find(|instance| instance.epoch == one.epoch).expect("listed");
    assert_eq!((seen.state, seen.owned, &seen.id[..]), (InstanceState::Alive, 1, "one"));
    assert_eq!(seen.stats, json!({ "cycles": 7 }));
}

/// The runs of a silent owner go to who asks, with what is queued and due, and it writes no more.
pub async fn the_runs_of_a_silent_owner_are_taken_over(subject: Subject) {
    let Some((one, two)) = two(&subject).await else { return };
    let run = one.begins(header(1)).await;
    let ended = one.begins(header(2)).await;
    one.finishes(ended).await;
    assert_eq!(reclaims(&two, NOTHING, 9).await, [run_id(1)], "ended runs stay where they are");
    assert_eq!(owner(&two, run_id(1)).await, Some(two.epoch));
    let queued = two.store.queued(two.epoch, "default".to_owned(), None, 9).await;
    assert_eq!(queued.expect("a queue").len(), 1);
    assert_eq!(two.store.due(two.epoch, at(999_999), 9).await.expect("due").runs, [run_id(1)]);

    let late = Group::of(one.epoch, vec![item(started(header(3)))]);
    let refused = one.store.commit(late).await;
    assert!(matches!(refused, Err(StoreError::Fenced { mine, .. }) if mine == one.epoch.0));
    let refused = one.store.heartbeat(one.epoch, json!({})).await;
    assert!(matches!(refused, Err(StoreError::Fenced { .. })), "{refused:?}");
    assert!(one.store.reclaim(one.epoch, NOTHING, 9).await.is_err(), "the dead take nothing");
    let instances = two.store.instances().await.expect("instances");
    let states: Vec<_> = instances.iter().map(|it| (it.epoch, it.state, it.owned)).collect();
    let dead = (one.epoch, InstanceState::Dead, 0);
    assert_eq!(states, [dead, (two.epoch, InstanceState::Alive, 1)]);
    two.moves(&run, &success(&run)).await;
}

/// Whoever is declared dead loses in the same step what it might do alone, and so does whoever has said
/// good-bye; neither gets it back.
pub async fn what_the_dead_did_alone_is_free(subject: Subject) {
    let Some((one, two)) = two(&subject).await else { return };
    let takes = async |world: &World, name: &str| {
        let (name, holder) = (name.to_owned(), world.epoch.0.to_string());
        world.store.lease(name, holder, at(0), at(3_600)).await.expect("an answer")
    };
    assert!(takes(&one, "triggers").await);
    let nobody = two.store.reclaim(two.epoch, LONG, 9).await.expect("a takeover");
    assert_eq!(nobody.dead, []);
    assert!(!takes(&two, "triggers").await, "it lives");
    let buried = two.store.reclaim(two.epoch, NOTHING, 9).await.expect("a takeover");
    assert_eq!(buried.dead, [one.epoch]);
    assert!(takes(&two, "triggers").await, "nobody waits for the end of its time");
    assert!(!takes(&one, "triggers").await);
    assert!(!takes(&one, "file drops").await, "the dead take nothing, not even what is free");
    let three = World::named(&subject, "three").await;
    assert!(!takes(&three, "triggers").await, "it lives");
    two.store.retire(two.epoch).await.expect("a good-bye");
    assert!(takes(&three, "triggers").await);
}

/// Runs that belong to nobody are taken over too, page by page, each once.
pub async fn a_takeover_goes_page_by_page(subject: Subject) {
    let Some((one, two)) = two(&subject).await else { return };
    let free = (1..=5).map(|number| item(started(header(number)))).collect();
    let group = Group { free: true, ..Group::of(one.epoch, free) };
    one.store.commit(group).await.expect("a commit");
    let mut all = Vec::new();
    for expected in [2, 2, 1, 0] {
        let page = reclaims(&two, LONG, 2).await;
        assert_eq!(page.len(), expected);
        all.extend(page);
    }
    all.sort_unstable();
    assert_eq!(all, (1..=5).map(run_id).collect::<Vec<_>>());
}

/// Two that reclaim at once never get the same run.
pub async fn a_takeover_has_one_winner(subject: Subject) {
    let Some((one, two)) = two(&subject).await else { return };
    let runs = (0..64).map(|number| item(started(header(number)))).collect();
    let group = Group { free: true, ..Group::of(one.epoch, runs) };
    one.store.commit(group).await.expect("a commit");
    let mut racers = tokio::task::JoinSet::new();
    for racer in 0..8 {
        let world = World::named(&subject, &format!("racer {racer}")).await;
        racers.spawn(async move {
            let mut mine = Vec::new();
            loop {
                let page = reclaims(&world, LONG, 3).await;
                if page.is_empty() {
                    return mine;
                }
                mine.extend(page);
            }
        });
    }
    let taken: Vec<RunId> = racers.join_all().await.into_iter().flatten().collect();
    // One racer may see the end while another still holds the rest; nobody sees a run twice.
    let distinct: BTreeSet<RunId> = taken.iter().copied().collect();
    assert_eq!(distinct.len(), taken.len());
    let rest = reclaims(&two, LONG, 99).await;
    assert_eq!(distinct.len() + rest.len(), 64);
}

/// Runs go to another living instance, and to nobody else.
pub async fn runs_are_handed_over_to_the_living(subject: Subject) {
    let Some((one, two)) = two(&subject).await else { return };
    let run = one.begins(header(1)).await;
    one.begins(header(2)).await;
    let ended = one.begins(header(3)).await;
    one.finishes(ended).await;
    let mut ear = two.store.listen(two.epoch).await.expect("an ear");
    let wanted = vec![run_id(1), run_id(3), run_id(9)];
    let given = one.store.hand_over(one.epoch, wanted.clone(), two.epoch).await.expect("given");
    assert_eq!(given, [run_id(1)], "ended runs and runs that do not exist stay");
    assert_eq!(ear.recv().await, Some(Signal::Given));
    two.moves(&run, &success(&run)).await;
    let again = one.store.hand_over(one.epoch, wanted, two.epoch).await.expect("given");
    assert_eq!(again, [], "what is not the giver's is not given");
    let nobody = Epoch(two.epoch.0 + 1_000);
    let lost = one.store.hand_over(one.epoch, vec![run_id(2)], nobody).await.expect("given");
    assert_eq!(lost, []);
    assert_eq!(owner(&one, run_id(2)).await, Some(one.epoch));
}

/// Good-bye frees everything at once, and the others are told.
pub async fn good_bye_frees_everything(subject: Subject) {
    let Some((one, two)) = two(&subject).await else { return };
    one.begins(header(1)).await;
    let mut ear = two.store.listen(two.epoch).await.expect("an ear");
    one.store.retire(one.epoch).await.expect("a good-bye");
    assert_eq!(ear.recv().await, Some(Signal::Free));
    assert_eq!(reclaims(&two, LONG, 9).await, [run_id(1)]);
    let late = Group::of(one.epoch, vec![item(started(header(3)))]);
    assert!(matches!(one.store.commit(late).await, Err(StoreError::Fenced { .. })));
    let instances = two.store.instances().await.expect("instances");
    assert_eq!(instances[0].state, InstanceState::Stopped);
}

/// What one says all others hear, and it does not hear itself.
pub async fn words_reach_the_others(subject: Subject) {
    let Some((one, two)) = two(&subject).await else { return };
    let mut own = one.store.listen(one.epoch).await.expect("an ear");
    let mut ear = two.store.listen(two.epoch).await.expect("an ear");
    let hungry = Signal::Hungry { epoch: one.epoch, pool: "mail".to_owned(), for_ms: 30_000 };
    one.store.tell(one.epoch, hungry.clone()).await.expect("told");
    assert_eq!(ear.recv().await, Some(hungry));
    two.store.tell(two.epoch, Signal::Published).await.expect("told");
    assert_eq!(own.recv().await, Some(Signal::Published), "the first word that is not its own");
}
