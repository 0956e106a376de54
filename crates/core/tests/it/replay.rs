//! A history folds to the state it was decided as.

use stepwell_core::entry::Record;
use stepwell_core::evolve::replay;
use stepwell_core::run::Run;

use crate::lives;
use crate::world::World;

/// The run as its history alone tells it.
pub(crate) fn replayed(world: &World) -> Run {
    let mut run = Run::new(world.run.header.clone());
    for record in &world.records {
        replay(&mut run, record);
    }
    run
}

// D-045: whoever has the header and the history has the run; nothing is lost with a process.
#[test]
fn a_replayed_history_is_the_state() {
    lives::each(|life| {
        let world = life.live(|_| {});
        assert_eq!(replayed(&world), world.run);
    });
}

// D-045: also when it was written down and read again in between.
#[test]
fn a_history_that_was_stored_as_text_is_the_same_history() {
    lives::each(|life| {
        let mut world = life.live(|_| {});
        let text = serde_json::to_string(&world.records).unwrap();
        world.records = serde_json::from_str::<Vec<Record>>(&text).unwrap();
        assert_eq!(replayed(&world), world.run);
    });
}

// D-045: the same inputs are decided in the same way, however often.
#[test]
fn a_life_that_is_lived_twice_leaves_the_same_history() {
    lives::each(|life| {
        assert_eq!(life.live(|_| {}).records, life.live(|_| {}).records);
    });
}
