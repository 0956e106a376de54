//! Inputs for runs that another instance owns.

use std::sync::Arc;

use stepwell_core::duration::Interval;
use stepwell_core::run::Run;
use uuid::Uuid;

use super::Subject;
use super::world::{World, at, decided, header, run_id, success};
use crate::model::{Group, Input, InputAnswer, Item, Signal, Verdict};

async fn two(subject: &Subject) -> Option<(World, World, Arc<Run>)> {
    if !subject.store.is_shared() {
        return None;
    }
    let one = World::named(subject, "one").await;
    let two = World::named(subject, "two").await;
    let run = one.begins(header(1)).await;
    Some((one, two, run))
}

fn input(number: u128, run: u64, from: &World) -> Input {
    Input {
        id: Uuid::from_u128(number),
        run: run_id(run),
        body: format!("{{\"number\":{number}}}"),
        from: from.epoch,
        at: at(1),
    }
}

fn answer(input: &Input, written: bool) -> InputAnswer {
    InputAnswer {
        input: input.id,
        run: input.run,
        written,
        to: input.from,
        body: "\"followed\"".to_owned(),
    }
}

/// An input waits for the owner, in order, and is told to it.
pub async fn an_input_waits_for_the_owner(subject: Subject) {
    let Some((one, two, _)) = two(&subject).await else { return };
    let mut ear = one.store.listen(one.epoch).await.expect("an ear");
    // Their ids say nothing about their order.
    let (first, second) = (input(9, 1, &two), input(3, 1, &two));
    let missing = input(5, 7, &two);
    let items = [first.clone(), missing, second.clone()].map(Item::Forward);
    let verdicts = two.commits(items.to_vec()).await;
    assert_eq!(verdicts, [Verdict::Done, Verdict::Stale, Verdict::Done]);
    assert_eq!(ear.recv().await, Some(Signal::Inputs));
    assert_eq!(one.store.inputs(one.epoch, 9).await.expect("inputs"), [first.clone(), second]);
    assert_eq!(one.store.inputs(one.epoch, 1).await.expect("inputs"), [first]);
    assert_eq!(two.store.inputs(two.epoch, 9).await.expect("inputs"), []);
}

/// An answer strikes the input off with the group, and reaches whoever waits.
pub async fn an_answer_strikes_the_input_off(subject: Subject) {
    let Some((one, two, run)) = two(&subject).await else { return };
    let mut ear = two.store.listen(two.epoch).await.expect("an ear");
    let waiting = input(1, 1, &two);
    two.stores(Item::Forward(waiting.clone())).await;
    let advance = Item::Advance(Box::new(decided(&run, &success(&run))));
    let group =
        Group { answers: vec![answer(&waiting, true)], ..Group::of(one.epoch, vec![advance]) };
    assert_eq!(one.store.commit(group).await.expect("a commit"), [Verdict::Done]);
    assert_eq!(one.store.inputs(one.epoch, 9).await.expect("inputs"), []);
    let body = "\"followed\"".to_owned();
    assert_eq!(ear.recv().await, Some(Signal::Answered { input: waiting.id, body }));

    let refused = input(2, 1, &two);
    two.stores(Item::Forward(refused.clone())).await;
    let group =
        Group { answers: vec![answer(&refused, false)], ..Group::of(one.epoch, Vec::new()) };
    assert_eq!(one.store.commit(group).await.expect("a commit"), []);
    assert_eq!(one.store.inputs(one.epoch, 9).await.expect("inputs"), []);
}

/// An answer that rests on a stale write, or on somebody else's run, strikes nothing off.
pub async fn an_answer_without_ground_leaves_the_input(subject: Subject) {
    let Some((one, two, run)) = two(&subject).await else { return };
    let waiting = input(1, 1, &two);
    two.stores(Item::Forward(waiting.clone())).await;
    let mut stale = decided(&run, &success(&run));
    stale.from_version += 1;
    let items = vec![Item::Advance(Box::new(stale))];
    let group = Group { answers: vec![answer(&waiting, true)], ..Group::of(one.epoch, items) };
    assert_eq!(one.store.commit(group).await.expect("a commit"), [Verdict::Stale]);
    let presumed = Group { answers: vec![answer(&waiting, false)], ..Group::of(two.epoch, vec![]) };
    two.store.commit(presumed).await.expect("a commit");
    assert_eq!(one.store.inputs(one.epoch, 9).await.expect("inputs"), [waiting]);
}

/// An input for an ended run whose owner is gone finds somebody to answer it.
pub async fn an_input_for_an_ended_run_is_not_left_alone(subject: Subject) {
    let Some((one, two, run)) = two(&subject).await else { return };
    one.finishes(run).await;
    let waiting = input(1, 1, &two);
    two.stores(Item::Forward(waiting.clone())).await;
    one.store.retire(one.epoch).await.expect("a good-bye");
    let hour = Interval::from_secs(3_600);
    let taken = two.store.reclaim(two.epoch, hour, 9).await.expect("a takeover");
    assert_eq!(taken.runs, [run_id(1)]);
    assert_eq!(
        two.store.inputs(two.epoch, 9).await.expect("inputs"),
        std::slice::from_ref(&waiting)
    );
    let answers = vec![answer(&waiting, false)];
    let group = Group { answers, ..Group::of(two.epoch, Vec::new()) };
    two.store.commit(group).await.expect("a commit");
    let again = two.store.reclaim(two.epoch, hour, 9).await.expect("a takeover");
    assert_eq!(again.runs, [], "once is enough");
}

/// Inputs follow their run to its next owner.
pub async fn inputs_follow_their_run(subject: Subject) {
    let Some((one, two, run)) = two(&subject).await else { return };
    let waiting = input(1, 1, &two);
    two.stores(Item::Forward(waiting.clone())).await;
    one.store.hand_over(one.epoch, vec![run.id()], two.epoch).await.expect("given");
    assert_eq!(one.store.inputs(one.epoch, 9).await.expect("inputs"), []);
    assert_eq!(two.store.inputs(two.epoch, 9).await.expect("inputs"), [waiting]);
}
