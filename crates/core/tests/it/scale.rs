//! Ten thousand items: an answer for one of them costs no look at the others.

use std::sync::Arc;

use serde_json::{Value, json};
use stepwell_core::definition::{ForEach, StepSpec};
use stepwell_core::entry::Entry;
use stepwell_core::invariant;
use stepwell_core::run::RunStatus;

use crate::replay::replayed;
use crate::world::{World, graph, step};

const ITEMS: u16 = 10_000;

fn wide(parallel_max: Option<u16>) -> StepSpec {
    let list: Value = (0..ITEMS).map(Value::from).collect();
    let for_each = Some(ForEach { list, items_max: ITEMS, parallel_max });
    let outputs = [("ids".to_owned(), "id".to_owned())].into();
    StepSpec { for_each, outputs, params: Some(json!({ "n": "{{item}}" })), ..step("a") }
}

// B-021: the most items a step may have, all under way together, each answered on its own.
#[test]
fn a_step_with_ten_thousand_items_is_done_in_as_many_small_decisions() {
    let mut world = World::started(graph(vec![wide(None), step("b")]));
    assert_eq!(world.run.expansion(world.index("a")).unwrap().under_way, ITEMS);
    for number in 0..ITEMS {
        let id = format!("a[{number}]");
        let before = world.run.clone();
        world.does(world.acked(&id));
        let decision =
            world.does(world.reported(&id, crate::world::success(json!({ "id": number }))));
        // Two chunks of steps at most: that of the item, and that of its step with the last one.
        assert!(decision.run.steps.changed_since(&before.steps).count() <= 64);
        invariant::check_change(&before, &decision.run).unwrap();
    }
    let last = &world.records.last().unwrap().entries;
    assert!(matches!(last[1], Entry::StepGathered { .. }), "{last:?}");
    assert_eq!(world.run.outputs["ids"].as_array().unwrap().len(), usize::from(ITEMS));
    invariant::check(&world.run).unwrap();
    assert_eq!(replayed(&world), world.run);
}

// B-021: with a limit, the next item begins when one has ended, in order.
#[test]
fn of_ten_thousand_items_no_more_than_allowed_are_under_way() {
    let mut world = World::started(graph(vec![wide(Some(3))]));
    for number in 0..ITEMS {
        let items = *world.run.expansion(world.index("a")).unwrap();
        assert!(items.under_way <= 3);
        assert_eq!(items.next, ITEMS.min(number + 3));
        world.does(world.succeeded(&format!("a[{number}]")));
    }
    assert_eq!(world.run.status, RunStatus::Succeeded);
    let params = world.step("a[9999]").params.as_deref();
    assert_eq!(params, Some(&json!({ "n": 9999 })));
}

#[test]
fn what_a_step_without_items_is_made_of_is_shared_by_copies_of_its_run() {
    let world = World::started(graph(vec![step("a")]));
    let copy = world.run.clone();
    assert_eq!(copy.steps.changed_since(&world.run.steps).count(), 0);
    assert!(Arc::ptr_eq(&copy.header, &world.run.header));
}
