//! Dead letters and the outbox.

use stepwell_core::id::Tenant;
use stepwell_core::run::{Dialect, Header};
use stepwell_core::step::StepError;
use stepwell_core::time::Timestamp;

use super::Subject;
use super::world::{self, World, at, header, item, letter, message, of_letter, run_id, started};
use crate::model::{
    Create, DeadLetter, DeadLetterDepth, DeadLetterFilter, NewDeadLetter, OutboxSettlement,
    Settlement,
};

async fn letters(world: &World, filter: DeadLetterFilter) -> Vec<DeadLetter> {
    world.store.dead_letters(filter).await.expect("dead letters")
}

/// Three runs of two tenants, each given up, in this order.
async fn given_up(world: &World) -> Vec<i64> {
    let globex = Tenant::new("globex");
    for header in [header(1), Header { tenant: globex, ..header(2) }, header(3)] {
        let create = Create { dead_letter: Some(world::given_up("run_failed")), ..started(header) };
        world.stores(item(create)).await;
    }
    let mut ids: Vec<i64> =
        letters(world, DeadLetterFilter::default()).await.iter().map(|letter| letter.id).collect();
    ids.reverse();
    ids
}

fn settlement(actor: &str) -> Settlement {
    Settlement {
        at: at(5),
        actor: actor.to_owned(),
        replayed_as: Some(run_id(9)),
        reason: "fixed".to_owned(),
    }
}

/// Dead letters are listed newest first, by tenant, workflow, run and number.
pub async fn dead_letters_are_found_again(subject: Subject) {
    let world = World::of(&subject).await;
    let ids = given_up(&world).await;
    assert_eq!(ids.len(), 3);
    assert!(ids.is_sorted());
    let all = DeadLetterFilter::default;
    let cases: [(DeadLetterFilter, &[u64]); 8] = [
        (all(), &[3, 2, 1]),
        (DeadLetterFilter { limit: 2, ..all() }, &[3, 2]),
        (DeadLetterFilter { before: Some(ids[2]), ..all() }, &[2, 1]),
        (DeadLetterFilter { tenant: Some(Tenant::new("acme")), ..all() }, &[3, 1]),
        (DeadLetterFilter { workflow: Some("onboard".to_owned()), ..all() }, &[3, 2, 1]),
        (DeadLetterFilter { workflow: Some("other".to_owned()), ..all() }, &[]),
        (DeadLetterFilter { run: Some(run_id(2)), ..all() }, &[2]),
        (DeadLetterFilter { id: Some(ids[0]), ..all() }, &[1]),
    ];
    for (filter, expected) in cases {
        let found = letters(&world, filter.clone()).await;
        let found: Vec<_> = found.iter().filter_map(|letter| letter.run).collect();
        let expected: Vec<_> = expected.iter().copied().map(run_id).collect();
        assert_eq!(found, expected, "{filter:?}");
    }
    let newest = letters(&world, all()).await.remove(0);
    let expected = DeadLetter {
        id: ids[2],
        run: Some(run_id(3)),
        message: None,
        tenant: Tenant::new("acme"),
        dialect: Some(Dialect::Commands),
        workflow: "onboard".to_owned(),
        letter: letter("run_failed"),
        settlement: None,
    };
    assert_eq!(newest, expected);
}

/// A dead letter is settled once; then it is listed only on demand.
pub async fn a_dead_letter_is_settled_once(subject: Subject) {
    let world = World::of(&subject).await;
    let ids = given_up(&world).await;
    let settle = |actor| world.store.settle_dead_letter(ids[1], settlement(actor));
    assert!(settle("ada").await.expect("settled"));
    assert!(!settle("grace").await.expect("settled before"));
    let unknown = world.store.settle_dead_letter(999, settlement("ada")).await;
    assert!(!unknown.expect("there is none"));

    let open = letters(&world, DeadLetterFilter::default()).await;
    assert_eq!(open.iter().map(|letter| letter.id).collect::<Vec<_>>(), [ids[2], ids[0]]);
    let all = DeadLetterFilter { with_settled: true, ..DeadLetterFilter::default() };
    let all = letters(&world, all).await;
    assert_eq!(all[1].settlement, Some(settlement("ada")));
    assert_eq!(world.store.figures().await.expect("figures").dead_letters, 2);
}

async fn outbox(world: &World, now: Timestamp) -> Vec<(i64, String, u32)> {
    let due = world.outbox(now, 9).await.due;
    due.into_iter().map(|found| (found.id, found.message.body, found.tries)).collect()
}

/// A message is due from its moment on, oldest first, until it is sent, put off or given up.
pub async fn a_message_waits_until_it_is_settled(subject: Subject) {
    let world = World::of(&subject).await;
    let messages = [("late", 30), ("early", 10), ("middle", 20), ("future", 99)];
    let outbox_of = messages.map(|(body, due)| message(body, at(due))).to_vec();
    world.stores(item(Create { outbox: outbox_of, ..started(header(1)) })).await;
    assert_eq!(outbox(&world, at(9)).await, []);
    let due = outbox(&world, at(30)).await;
    let bodies: Vec<&str> = due.iter().map(|(_, body, _)| body.as_str()).collect();
    assert_eq!(bodies, ["early", "middle", "late"]);
    assert_eq!(world.outbox(at(30), 1).await.due[0].run, Some(run_id(1)));

    let settlements = vec![
        OutboxSettlement::Sent { id: due[0].0 },
        OutboxSettlement::PutOff { id: due[1].0, due_at: at(40) },
        OutboxSettlement::GivenUp {
            id: due[2].0,
            given_up: world::given_up("webhook_undelivered"),
        },
        OutboxSettlement::Sent { id: 999 },
    ];
    world.store.settle_outbox(settlements.clone()).await.expect("settled");
    assert_eq!(outbox(&world, at(39)).await, []);
    assert_eq!(outbox(&world, at(40)).await, [(due[1].0, "middle".to_owned(), 1)]);
    let given_up = letters(&world, DeadLetterFilter::default()).await;
    assert_eq!(given_up.len(), 1);
    assert_eq!(given_up[0].letter, letter("webhook_undelivered"));
    assert_eq!(world.store.figures().await.expect("figures").outbox, 2);

    let again = settlements.into_iter().skip(2).collect();
    world.store.settle_outbox(again).await.expect("a repetition is harmless");
    assert_eq!(letters(&world, DeadLetterFilter::default()).await.len(), 1);
}

/// Letters of several dialects, workflows' errors and days, in this order.
async fn various(world: &World) {
    let one = |reason, code, day: u64| NewDeadLetter {
        error: StepError::new(code, "it is so"),
        first_error: Some(StepError::new("first", "it was so")),
        at: at(day * 86_400),
        ..letter(reason)
    };
    let workspaces = Header { dialect: Dialect::Workspaces, ..header(2) };
    let letters = [
        (header(1), one("run_failed", "refused", 1)),
        (workspaces, one("run_failed", "poison", 2)),
        (header(3), one("webhook_undelivered", "refused", 3)),
        // Its clock was behind.
        (header(4), one("run_failed", "refused", 2)),
    ];
    for (header, letter) in letters {
        world
            .stores(item(Create { dead_letter: Some(of_letter(letter)), ..started(header) }))
            .await;
    }
}

/// Dead letters are found by dialect, reason, code and time, and by all of them together.
pub async fn dead_letters_are_found_by_what_happened(subject: Subject) {
    let world = World::of(&subject).await;
    various(&world).await;
    let all = DeadLetterFilter::default;
    let day = |day: u64| Some(at(day * 86_400));
    let of = |reason: &str| DeadLetterFilter { reason: Some(reason.to_owned()), ..all() };
    let refused = || DeadLetterFilter { error_code: Some("refused".to_owned()), ..all() };
    let cases: [(DeadLetterFilter, &[u64]); 11] = [
        (DeadLetterFilter { dialect: Some(Dialect::Workspaces), ..all() }, &[2]),
        (DeadLetterFilter { dialect: Some(Dialect::Platform), ..all() }, &[]),
        (of("run_failed"), &[4, 2, 1]),
        (DeadLetterFilter { with_settled: true, ..of("run_failed") }, &[4, 2, 1]),
        (DeadLetterFilter { limit: 1, ..of("run_failed") }, &[4]),
        (refused(), &[4, 3, 1]),
        (DeadLetterFilter { from: day(2), ..refused() }, &[4, 3]),
        (DeadLetterFilter { from: day(2), ..all() }, &[4, 3, 2]),
        (DeadLetterFilter { from: day(2), until: day(3), ..all() }, &[4, 2]),
        (DeadLetterFilter { until: day(2), ..all() }, &[1]),
        (
            DeadLetterFilter {
                workflow: Some("onboard".to_owned()),
                dialect: Some(Dialect::Commands),
                from: day(2),
                ..of("run_failed")
            },
            &[4],
        ),
    ];
    for (filter, expected) in cases {
        let found = letters(&world, filter.clone()).await;
        let found: Vec<_> = found.iter().filter_map(|letter| letter.run).collect();
        let expected: Vec<_> = expected.iter().copied().map(run_id).collect();
        assert_eq!(found, expected, "{filter:?}");
    }
    let newest = letters(&world, all()).await.remove(0).letter;
    assert_eq!(newest.first_error, Some(StepError::new("first", "it was so")));
}

/// Many dead letters are settled in one go, each once; the figures know how many are left, and for what
/// reason.
pub async fn dead_letters_are_settled_by_the_dozen(subject: Subject) {
    let world = World::of(&subject).await;
    various(&world).await;
    let found = letters(&world, DeadLetterFilter::default()).await;
    let ids: Vec<i64> = found.iter().rev().map(|letter| letter.id).collect();
    let settle = |ids: &[i64]| {
        let each = ids.iter().map(|id| (*id, settlement(&format!("ada {id}"))));
        world.store.settle_dead_letters(each.collect())
    };
    let settled = settle(&[ids[1], 999, ids[0], ids[1]]).await.expect("settled");
    assert_eq!(settled, [true, false, true, false]);
    assert_eq!(settle(&ids).await.expect("settled"), [false, false, true, true]);
    let all = DeadLetterFilter { with_settled: true, ..DeadLetterFilter::default() };
    let by: Vec<_> = letters(&world, all).await.into_iter().map(|it| it.settlement).collect();
    let expected: Vec<_> =
        ids.iter().rev().map(|id| Some(settlement(&format!("ada {id}")))).collect();
    assert_eq!(by, expected);
}

/// The figures say how many dead letters of each reason and dialect nobody has settled, and how old they
/// are.
pub async fn figures_tell_dead_letters_apart(subject: Subject) {
    let world = World::of(&subject).await;
    various(&world).await;
    let depths = || async { world.store.figures().await.expect("figures").dead_letters_by_reason };
    let depth = |reason: &str, dialect, count, day: u64| DeadLetterDepth {
        reason: reason.to_owned(),
        dialect: Some(dialect),
        count,
        oldest_at: at(day * 86_400),
    };
    let (commands, workspaces) = (Dialect::Commands, Dialect::Workspaces);
    let undelivered = depth("webhook_undelivered", commands, 1, 3);
    let of_workspaces = depth("run_failed", workspaces, 1, 2);
    let expected =
        [depth("run_failed", commands, 2, 1), of_workspaces.clone(), undelivered.clone()];
    assert_eq!(depths().await, expected);
    let oldest = letters(&world, DeadLetterFilter::default()).await.pop().expect("a letter");
    assert!(world.store.settle_dead_letter(oldest.id, settlement("ada")).await.expect("settled"));
    let expected = [depth("run_failed", commands, 1, 2), of_workspaces, undelivered];
    assert_eq!(depths().await, expected);
}
