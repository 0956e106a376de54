//! Orders that wait in a queue until somebody takes them.

use stepwell_core::duration::Interval;
use stepwell_core::id::Tenant;
use stepwell_core::run::Dialect;
use stepwell_core::time::Timestamp;

use super::Subject;
use super::world::{World, at, given_up};
use crate::model::{
    DeadLetterFilter, Disposition, NewSubmission, Received, Submission, SubmissionSettlement,
};

const KEEP: Interval = Interval::from_secs(300);

fn order(message_id: &str, enqueued_at: Timestamp, priority: u8) -> NewSubmission {
    NewSubmission {
        queue: "dag-jobs".to_owned(),
        message_id: message_id.to_owned(),
        workflow: "onboard".to_owned(),
        priority,
        body: format!("{{\"message_id\":\"{message_id}\"}}"),
        enqueued_at,
        expires_at: enqueued_at.after(Interval::from_secs(86_400)),
    }
}

async fn submit(world: &World, orders: Vec<NewSubmission>) -> Vec<bool> {
    world.store.submit(orders).await.expect("orders are taken in")
}

async fn receive(world: &World, now: Timestamp, limit: usize) -> Received {
    let queue = "dag-jobs".to_owned();
    world.store.receive(queue, now, KEEP, limit).await.expect("orders are handed out")
}

async fn settle(world: &World, taken: &Submission, disposition: Disposition) {
    let (id, deliveries) = (taken.id, taken.deliveries);
    let settlement = SubmissionSettlement { id, deliveries, disposition };
    world.store.settle_submissions(vec![settlement]).await.expect("settled");
}

fn names(received: &Received) -> Vec<&str> {
    received.messages.iter().map(|taken| &taken.message.message_id[..]).collect()
}

/// The urgent go first, but whoever has waited for long enough goes before them.
pub async fn urgent_orders_go_first_without_starving_others(subject: Subject) {
    let world = World::of(&subject).await;
    let orders = vec![
        order("plain", at(100), 0),
        order("urgent", at(110), 10),
        order("patient", at(0), 0),
        // A minute of waiting is worth as much as one step of priority.
        order("later and urgent", at(590), 9),
    ];
    assert_eq!(submit(&world, orders).await, [true; 4]);
    let first = receive(&world, at(1_000), 3).await;
    assert_eq!(names(&first), ["urgent", "patient", "later and urgent"]);
    assert_eq!(first.messages[0].message, order("urgent", at(110), 10), "it comes as it went in");
    assert_eq!(names(&receive(&world, at(1_000), 3).await), ["plain"]);
}

/// What somebody has is kept from the others, and handed out again when the time is up.
pub async fn an_order_is_kept_from_others_for_a_while(subject: Subject) {
    let world = World::of(&subject).await;
    submit(&world, vec![order("one", at(0), 0)]).await;
    let taken = receive(&world, at(10), 9).await.messages.remove(0);
    assert_eq!(taken.deliveries, 1);
    let nothing = receive(&world, at(300), 9).await;
    assert_eq!(nothing, Received { messages: Vec::new(), next: Some(at(310)) });
    let again = receive(&world, at(310), 9).await.messages.remove(0);
    assert_eq!((again.id, again.deliveries), (taken.id, 2));
    // Whoever had it first settles nothing any more.
    settle(&world, &taken, Disposition::Complete).await;
    settle(&world, &again, Disposition::Abandon { until: at(400) }).await;
    assert_eq!(receive(&world, at(399), 9).await.next, Some(at(400)));
    let last = receive(&world, at(400), 9).await.messages.remove(0);
    assert_eq!(last.deliveries, 3);
    settle(&world, &last, Disposition::Complete).await;
    assert_eq!(receive(&world, at(99_999), 9).await, Received::default());
}

/// One message of an id at a time, and queues do not see each other's.
pub async fn a_message_waits_once_in_its_queue(subject: Subject) {
    let world = World::of(&subject).await;
    let elsewhere = NewSubmission { queue: "other".to_owned(), ..order("one", at(0), 0) };
    let twice = vec![order("one", at(0), 0), elsewhere, order("one", at(5), 3)];
    assert_eq!(submit(&world, twice).await, [true, true, false]);
    assert_eq!(submit(&world, vec![order("one", at(9), 0)]).await, [false]);
    let taken = receive(&world, at(10), 9).await;
    assert_eq!(names(&taken), ["one"]);
    assert_eq!(taken.messages[0].message.enqueued_at, at(0), "the first one stays");
    settle(&world, &taken.messages[0], Disposition::Complete).await;
    assert_eq!(submit(&world, vec![order("one", at(20), 0)]).await, [true], "its place is free");
}

/// An order that is given up becomes a dead letter without a run, with what it said.
pub async fn an_order_given_up_is_a_dead_letter(subject: Subject) {
    let world = World::of(&subject).await;
    submit(&world, vec![order("bad", at(0), 0)]).await;
    let taken = receive(&world, at(1), 9).await.messages.remove(0);
    let given_up = given_up("WorkflowNotFound");
    let dead = Disposition::DeadLetter {
        tenant: Tenant::new("acme"),
        dialect: Dialect::Runbooks,
        given_up: given_up.clone(),
    };
    settle(&world, &taken, dead.clone()).await;
    settle(&world, &taken, dead).await;
    assert_eq!(receive(&world, at(99_999), 9).await, Received::default());
    let letters = world.store.dead_letters(DeadLetterFilter::default()).await.expect("letters");
    assert_eq!(letters.len(), 1);
    assert_eq!((letters[0].run, &letters[0].workflow[..]), (None, "onboard"));
    assert_eq!(letters[0].message.as_deref(), Some("{\"message_id\":\"bad\"}"));
    assert_eq!(letters[0].letter, given_up.letter);
    assert_eq!((&letters[0].tenant.0[..], letters[0].dialect), ("acme", Some(Dialect::Runbooks)));
    assert_eq!(world.store.figures().await.expect("figures").dead_letters, 1);
}
