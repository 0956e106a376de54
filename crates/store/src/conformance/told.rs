//! What others are told of dead letters: with the letter, once, or not at all.

use stepwell_core::duration::Interval;
use stepwell_core::id::{RunId, Tenant};
use stepwell_core::run::Dialect;

use super::Subject;
use super::world::{World, at, header, item, message, run_id, started, told_of};
use crate::model::{
    Create, DeadLetter, DeadLetterFilter, Disposition, EventFilter, EventPlace, NewSubmission,
    OutboxMessage, OutboxSettlement, SubmissionSettlement,
};

async fn letters(world: &World) -> Vec<DeadLetter> {
    world.store.dead_letters(DeadLetterFilter::default()).await.expect("dead letters")
}

/// What the log says, oldest first.
async fn logged(world: &World) -> Vec<String> {
    let all = world.store.events(EventFilter::default(), EventPlace::default(), 99).await;
    all.expect("a log").events.into_iter().map(|event| event.event.body).collect()
}

async fn waiting(world: &World) -> Vec<OutboxMessage> {
    world.outbox(at(9_999), 99).await.due
}

fn about(messages: &[OutboxMessage]) -> Vec<(&str, Option<RunId>)> {
    messages.iter().map(|it| (&it.message.body[..], it.run)).collect()
}

async fn give_up(world: &World, id: i64, reason: &str) {
    let given_up = OutboxSettlement::GivenUp { id, given_up: told_of(reason) };
    // In one go and again: it is given up once.
    let twice = vec![given_up.clone(), given_up.clone()];
    world.store.settle_outbox(twice).await.expect("settled");
    world.store.settle_outbox(vec![given_up]).await.expect("a repetition is harmless");
}

/// Gives an order of the runbooks up, twice.
async fn refuse(world: &World, reason: &str) {
    let order = NewSubmission {
        queue: "odd".to_owned(),
        message_id: reason.to_owned(),
        workflow: "onboard".to_owned(),
        priority: 0,
        body: "?".to_owned(),
        enqueued_at: at(0),
        expires_at: at(86_400),
    };
    world.store.submit(vec![order]).await.expect("taken in");
    let keep = Interval::from_secs(60);
    let taken = world.store.receive("odd".to_owned(), at(1), keep, 1).await.expect("handed out");
    let taken = &taken.messages[0];
    let disposition = Disposition::DeadLetter {
        tenant: Tenant::new("globex"),
        dialect: Dialect::Runbooks,
        given_up: told_of(reason),
    };
    let settlement =
        SubmissionSettlement { id: taken.id, deliveries: taken.deliveries, disposition };
    let twice = vec![settlement.clone(), settlement.clone()];
    world.store.settle_submissions(twice).await.expect("settled");
    world.store.settle_submissions(vec![settlement]).await.expect("a repetition is harmless");
}

/// A run that is given up is told with its letter, after everything else that its decision tells.
pub async fn a_run_given_up_is_told_with_its_letter(subject: Subject) {
    let world = World::of(&subject).await;
    let mut begun = told_of("begun");
    let events = std::mem::take(&mut begun.told.events);
    let outbox = vec![message("begun", at(0))];
    let create =
        Create { outbox, events, dead_letter: Some(told_of("failed")), ..started(header(1)) };
    world.stores(item(create)).await;
    assert_eq!(logged(&world).await, ["begun", "failed"]);
    let run = Some(run_id(1));
    assert_eq!(about(&waiting(&world).await), [("begun", run), ("failed", run)]);
    assert_eq!(letters(&world).await[0].letter, told_of("failed").letter);
}

/// A message that is given up is told with its letter, once however often it is settled.
pub async fn a_message_given_up_is_told_once(subject: Subject) {
    let world = World::of(&subject).await;
    world
        .stores(item(Create { outbox: vec![message("begun", at(0))], ..started(header(1)) }))
        .await;
    let sent = waiting(&world).await.remove(0);
    assert_eq!((&sent.tenant.0[..], sent.dialect), ("acme", Dialect::Commands));
    give_up(&world, sent.id, "undelivered").await;
    assert_eq!(logged(&world).await, ["undelivered"]);
    assert_eq!(letters(&world).await.len(), 1);
    assert_eq!(about(&waiting(&world).await), [("undelivered", Some(run_id(1)))]);
}

/// What is told of an order that never became a run belongs to no run; nor does what cannot be delivered
/// of it, which its letter keeps.
pub async fn what_belongs_to_no_run_is_told_once(subject: Subject) {
    let world = World::of(&subject).await;
    refuse(&world, "unknown").await;
    assert_eq!(logged(&world).await, ["unknown"]);
    let sent = waiting(&world).await;
    assert_eq!(about(&sent), [("unknown", None)]);
    assert_eq!((&sent[0].tenant.0[..], sent[0].dialect), ("globex", Dialect::Runbooks));
    give_up(&world, sent[0].id, "undelivered").await;
    assert_eq!(logged(&world).await, ["unknown", "undelivered"]);
    let letters = letters(&world).await;
    assert_eq!(letters.len(), 2);
    let DeadLetter { run, message, tenant, dialect, workflow, .. } = &letters[0];
    assert_eq!((*run, message.as_deref(), &workflow[..]), (None, Some("unknown"), ""));
    assert_eq!((&tenant.0[..], *dialect), ("globex", Some(Dialect::Runbooks)));
    assert_eq!(about(&waiting(&world).await), [("undelivered", None)]);
}

/// Events that belong to no run go when they are old, and with no run.
pub async fn what_is_told_of_no_run_goes_by_its_age(subject: Subject) {
    let world = World::of(&subject).await;
    let create = Create { expires_at: None, ..started(header(1)) };
    world.stores(item(create)).await;
    refuse(&world, "unknown").await;
    world.store.sweep(at(999_999), 99).await.expect("swept");
    assert_eq!(logged(&world).await, ["unknown"]);
    assert_eq!(world.store.sweep_events(at(9), 99).await.expect("swept"), 0);
    assert_eq!(world.store.sweep_events(at(10), 99).await.expect("swept"), 1);
    assert_eq!(logged(&world).await, Vec::<String>::new());
}
