//! The log of events: in order, complete, and found by whom and what they are about.

use std::sync::Arc;

use serde_json::json;
use stepwell_core::id::Tenant;
use stepwell_core::run::{Dialect, Header, Run};
use tokio::task::JoinSet;

use super::Subject;
use super::world::{World, at, decided, failure, header, item, run_id, started, success};
use crate::model::{
    Advance, Create, EventFilter, EventPlace, Events, Group, Item, NewEvent, StoredEvent,
    Subscription,
};

/// Something that is told of a run.
pub fn event(run: &Run, kind: &str, seconds: u64) -> NewEvent {
    let header = &run.header;
    NewEvent {
        tenant: header.tenant.clone(),
        dialect: header.dialect,
        run: Some(header.id),
        kind: kind.to_owned(),
        body: json!({ "id": format!("{}:{}:{kind}", header.id, run.version) }).to_string(),
        at: at(seconds),
    }
}

/// A run that begins and says so.
pub fn telling(header: Header, kinds: &[&str]) -> Create {
    let create = started(header);
    let events = kinds.iter().map(|kind| event(&create.run, kind, 0)).collect();
    Create { events, ..create }
}

/// A decision that others are told.
fn told(run: &Arc<Run>, kinds: &[&str], seconds: u64) -> Advance {
    let advance = decided(run, &success(run));
    let events = kinds.iter().map(|kind| event(&advance.run, kind, seconds)).collect();
    Advance { events, ..advance }
}

fn kinds(events: &[StoredEvent]) -> Vec<&str> {
    events.iter().map(|it| it.event.kind.as_str()).collect()
}

impl World {
    /// Events after a place.
    pub async fn events(&self, filter: EventFilter, after: EventPlace, limit: usize) -> Events {
        self.store.events(filter, after, limit).await.expect("events")
    }
}

/// Events come back as they were written, in the order of the decisions, from any place on.
pub async fn events_are_read_in_their_order(subject: Subject) {
    let world = World::of(&subject).await;
    let everything = EventFilter::default;
    let nothing = world.events(everything(), EventPlace(0), 9).await;
    assert_eq!(nothing, Events::default());

    let create = telling(header(1), &["queued", "started"]);
    let (run, first) = (Arc::clone(&create.run), create.events[0].clone());
    let silent = item(started(header(2)));
    world.commits(vec![item(create), silent, item(telling(header(3), &["queued"]))]).await;
    world.takes(told(&run, &["step", "completed"], 1)).await;

    let all = world.events(everything(), EventPlace(0), 9).await;
    assert_eq!(kinds(&all.events), ["queued", "started", "queued", "step", "completed"]);
    assert_eq!(all.events[0].event, first);
    assert!(all.events.windows(2).all(|pair| pair[0].place < pair[1].place));
    assert_eq!((all.upto, all.oldest), (all.events[4].place, Some(all.events[0].place)));

    let page = world.events(everything(), all.events[0].place, 2).await;
    assert_eq!(kinds(&page.events), ["started", "queued"]);
    assert_eq!(page.upto, all.events[2].place);
    let rest = world.events(everything(), page.upto, 2).await;
    assert_eq!((kinds(&rest.events), rest.upto), (vec!["step", "completed"], all.upto));
    let none = world.events(everything(), all.upto, 2).await;
    assert_eq!((none.events, none.upto), (vec![], all.upto));
}

/// An event is stored with its decision, or not at all.
pub async fn a_stale_decision_tells_nobody(subject: Subject) {
    let world = World::of(&subject).await;
    let create = telling(header(1), &["queued"]);
    let run = Arc::clone(&create.run);
    world.commits(vec![item(create.clone()), item(telling(header(2), &["queued"]))]).await;
    let stale = Advance { from_version: 7, ..told(&run, &["completed"], 1) };
    world.commits(vec![Item::Advance(Box::new(stale)), item(create)]).await;
    let all = world.events(EventFilter::default(), EventPlace(0), 9).await;
    assert_eq!(kinds(&all.events), ["queued", "queued"]);
}

/// Each filter finds its own; whoever finds none knows how far was looked.
pub async fn events_are_found_by_what_they_are_about(subject: Subject) {
    let world = World::of(&subject).await;
    let theirs = |number| Header {
        tenant: Tenant::new("globex"),
        dialect: Dialect::Workspaces,
        ..header(number)
    };
    let creates = [
        telling(header(1), &["queued", "started"]),
        telling(theirs(2), &["queued", "completed"]),
        telling(header(3), &["queued"]),
        telling(theirs(4), &["started"]),
    ];
    world.commits(creates.into_iter().map(item).collect()).await;
    let everything = world.events(EventFilter::default(), EventPlace(0), 99).await;

    let globex = || Some(Tenant::new("globex"));
    let of = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<String>>();
    let filters = [
        (EventFilter { tenant: globex(), ..Default::default() }, vec![2, 3, 5]),
        (EventFilter { run: Some(run_id(1)), ..Default::default() }, vec![0, 1]),
        (EventFilter { kinds: of(&["started"]), ..Default::default() }, vec![1, 5]),
        (
            EventFilter { kinds: of(&["started", "queued"]), ..Default::default() },
            vec![0, 1, 2, 4, 5],
        ),
        (EventFilter { dialects: vec![Dialect::Commands], ..Default::default() }, vec![0, 1, 4]),
        (EventFilter { tenant: globex(), kinds: of(&["started"]), ..Default::default() }, vec![5]),
        (EventFilter { tenant: globex(), run: Some(run_id(1)), ..Default::default() }, vec![]),
        (EventFilter { kinds: of(&["failed"]), ..Default::default() }, vec![]),
    ];
    for (filter, wanted) in filters {
        let found = world.events(filter.clone(), EventPlace(0), 99).await;
        let wanted: Vec<StoredEvent> =
            wanted.into_iter().map(|place: usize| everything.events[place].clone()).collect();
        assert_eq!(found.events, wanted, "{filter:?}");
        assert_eq!((found.upto, found.oldest), (everything.upto, everything.oldest), "{filter:?}");

        // In pages of one, each going on from where the last one looked.
        let (mut after, mut paged) = (EventPlace(0), Vec::new());
        loop {
            let page = world.events(filter.clone(), after, 1).await;
            after = page.upto;
            if page.events.is_empty() {
                break;
            }
            paged.extend(page.events);
        }
        assert_eq!(paged, wanted, "{filter:?}");
    }
}

/// Old events go, a few at a time; so do those of a run that is deleted. Places never come back.
pub async fn old_events_are_deleted(subject: Subject) {
    let world = World::of(&subject).await;
    for number in 1..=3 {
        let create = started(header(number));
        let events = vec![event(&create.run, "queued", number * 10)];
        world.stores(item(Create { events, ..create })).await;
    }
    let all = world.events(EventFilter::default(), EventPlace(0), 9).await;
    assert_eq!(world.store.sweep_events(at(10), 9).await.expect("a sweep"), 0);
    assert_eq!(world.store.sweep_events(at(25), 1).await.expect("a sweep"), 1);
    let left = world.events(EventFilter::default(), EventPlace(0), 9).await;
    assert_eq!((&left.events[..], left.oldest), (&all.events[1..], Some(all.events[1].place)));

    let run = world.run(3).await;
    let expires_at = Some(at(40));
    world.takes(Advance { expires_at, ..decided(&run, &failure(&run)) }).await;
    assert_eq!(world.store.sweep(at(99), 9).await.expect("a sweep"), 1);
    assert_eq!(world.store.sweep_events(at(25), 9).await.expect("a sweep"), 1);
    let none = world.events(EventFilter::default(), EventPlace(0), 9).await;
    assert_eq!((none.events, none.oldest), (vec![], None));

    world.stores(item(telling(header(4), &["queued"]))).await;
    let later = world.events(EventFilter::default(), all.upto, 9).await;
    assert_eq!(kinds(&later.events), ["queued"], "a place is never given twice");
}

/// Whoever follows the log while many write to it sees every event once.
pub async fn a_follower_misses_nothing(subject: Subject) {
    const WRITERS: u64 = 8;
    const EACH: u64 = 12;
    let world = World::of(&subject).await;
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let (store, epoch) = (Arc::clone(&world.store), world.epoch);
        writers.spawn(async move {
            for number in 0..EACH {
                let create = telling(header(1 + writer * EACH + number), &["queued", "started"]);
                store.commit(Group::of(epoch, vec![item(create)])).await.expect("a commit");
            }
        });
    }
    let (mut seen, mut after) = (Vec::new(), EventPlace(0));
    let mut done = false;
    loop {
        let page = world.events(EventFilter::default(), after, 7).await;
        assert!(page.events.iter().all(|event| event.place > after && event.place <= page.upto));
        after = page.upto;
        let was_last = page.events.is_empty() && done;
        seen.extend(page.events.into_iter().map(|event| event.event.body + &event.event.kind));
        if was_last {
            break;
        }
        done = writers.is_empty();
        if !done {
            writers.try_join_next().transpose().expect("a writer ends well");
            tokio::task::yield_now().await;
        }
    }
    let count = seen.len();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!((count as u64, seen.len() as u64), (2 * WRITERS * EACH, 2 * WRITERS * EACH));
}

/// Addresses are kept, changed and forgotten.
pub async fn subscriptions_are_kept_until_they_are_forgotten(subject: Subject) {
    let world = World::of(&subject).await;
    let store = &world.store;
    let later = Subscription {
        id: "a".to_owned(),
        tenant: None,
        dialects: Vec::new(),
        kinds: Vec::new(),
        url: "https://receiver.example/all".to_owned(),
        description: String::new(),
        enabled: true,
        actor: "ada".to_owned(),
        created_at: at(2),
    };
    let mut first = Subscription {
        id: "b".to_owned(),
        tenant: Some(Tenant::new("acme")),
        dialects: vec![Dialect::Workspaces, Dialect::Commands],
        kinds: vec!["workflow_run_completed".to_owned()],
        description: "billing".to_owned(),
        created_at: at(1),
        ..later.clone()
    };
    assert_eq!(store.subscriptions().await.expect("a list"), []);
    store.put_subscription(later.clone()).await.expect("it is stored");
    store.put_subscription(first.clone()).await.expect("it is stored");
    assert_eq!(store.subscriptions().await.expect("a list"), [first.clone(), later.clone()]);
    (first.enabled, first.tenant) = (false, None);
    store.put_subscription(first.clone()).await.expect("it is stored");
    assert_eq!(store.subscriptions().await.expect("a list"), [first, later.clone()]);
    assert!(store.delete_subscription("b".to_owned()).await.expect("it is forgotten"));
    assert!(!store.delete_subscription("b".to_owned()).await.expect("it was forgotten"));
    assert_eq!(store.subscriptions().await.expect("a list"), [later]);
}
