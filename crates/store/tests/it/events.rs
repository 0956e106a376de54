//! The log of events and the addresses that are told, on every store.

use stepwell_core::time::Timestamp;
use stepwell_store::conformance::{self, telling, world};
use stepwell_store::{EventFilter, EventPlace, Events, Store};
use tokio_postgres::{Client, NoTls};

use crate::conformance::on_each_store;
use crate::postgres::Place;

#[tokio::test]
async fn events_are_read_in_their_order() {
    on_each_store(conformance::events_are_read_in_their_order).await;
}

#[tokio::test]
async fn a_stale_decision_tells_nobody() {
    on_each_store(conformance::a_stale_decision_tells_nobody).await;
}

#[tokio::test]
async fn events_are_found_by_what_they_are_about() {
    on_each_store(conformance::events_are_found_by_what_they_are_about).await;
}

// what is told of a run goes with it.
#[tokio::test]
async fn old_events_are_deleted() {
    on_each_store(conformance::old_events_are_deleted).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_misses_nothing() {
    on_each_store(conformance::a_follower_misses_nothing).await;
}

#[tokio::test]
async fn subscriptions_are_kept_until_they_are_forgotten() {
    on_each_store(conformance::subscriptions_are_kept_until_they_are_forgotten).await;
}

/// A transaction of another instance that has appended an event and is not committed yet.
async fn begins_to_tell(place: &Place) -> Client {
    let plain = place.url.split_once("schema=").unwrap().0.trim_end_matches(['?', '&']);
    let (client, driver) = tokio_postgres::connect(plain, NoTls).await.unwrap();
    tokio::spawn(driver);
    let enter = include_str!("../../sql/postgres/event_enter.sql");
    let begun = format!(
        "SET search_path = {}; BEGIN; {enter};
         INSERT INTO event (tenant, dialect, kind, body, at)
         VALUES ('acme', 'workspaces', 'slow', '{{}}', 0)",
        place.schema
    );
    client.batch_execute(&begun).await.unwrap();
    client
}

fn told(events: &Events) -> Vec<&str> {
    events.events.iter().map(|event| event.event.kind.as_str()).collect()
}

#[tokio::test]
async fn a_place_is_not_shown_while_a_lower_one_is_to_come() {
    let Some(place) = Place::fresh() else { return };
    let store = place.open().await;
    let epoch = store.open_epoch("one").await.unwrap();
    let tells = async |number: u64, kind: &str| {
        let create = world::item(telling(world::header(number), &[kind]));
        store.commit(stepwell_store::Group::of(epoch, vec![create])).await.unwrap();
    };
    let reads =
        async |after: EventPlace| store.events(EventFilter::default(), after, 9).await.unwrap();

    tells(1, "first").await;
    let slow = begins_to_tell(&place).await;
    let abandoned = begins_to_tell(&place).await;
    tells(2, "fast").await;
    let before = reads(EventPlace(0)).await;
    assert_eq!(told(&before), ["first"], "the one behind the open transaction waits for it");
    assert_eq!(before.upto, before.events[0].place);

    abandoned.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(told(&reads(before.upto).await), [""; 0], "another one is still open");
    slow.batch_execute("COMMIT").await.unwrap();
    let after = reads(before.upto).await;
    assert_eq!(told(&after), ["slow", "fast"]);
    tells(3, "last").await;
    assert_eq!(told(&reads(after.upto).await), ["last"]);
    assert_eq!(store.sweep_events(Timestamp::from_millis(1), 9).await.unwrap(), 1);
}
