//! Random lives of batches: whatever is asked, in whatever order, some things always hold.

use proptest::collection::vec;
use proptest::prelude::*;
use stepwell_core::batch::{
    Batch, BatchCommand, BatchEntry, BatchMode, Overdue, PhaseStatus, PhaseTally, evolve_batch,
};
use stepwell_core::duration::Interval;
use stepwell_core::id::{MemberId, PhaseId};
use stepwell_core::run::RunStatus;
use stepwell_core::time::Timestamp;

use super::world::{
    DAY, World, adopt, advance, before_t0, begin_init, cancel, join, move_to, pause, resume, t0,
    timeline_of,
};
use crate::world::somebody;

#[derive(Clone, Debug)]
pub(super) enum Move {
    Pass { minutes: u32 },
    Count { phase: usize, open: i64, succeeded: i64 },
    CountMembers { open: i64 },
    Check { init: Option<usize> },
    Advance,
    BeginInit,
    BeginPhase { phase: usize },
    Join,
    Shift { days: i32 },
    Adopt { offsets: Vec<i32>, has_init: bool, rerun: bool, rerun_init: bool },
    Pause,
    Resume,
    Cancel,
    Detect,
    Swept { through: Option<i64> },
}

fn moves() -> impl Strategy<Value = Move> {
    let offsets = vec(-DAY..10 * DAY, 1..4);
    prop_oneof![
        3 => (0..3 * 1440_u32).prop_map(|minutes| Move::Pass { minutes }),
        3 => (0..9_usize, 0..3_i64, 0..3_i64)
            .prop_map(|(phase, open, succeeded)| Move::Count { phase, open, succeeded }),
        1 => (0..3_i64).prop_map(|open| Move::CountMembers { open }),
        5 => proptest::option::of(0..RunStatus::ALL.len()).prop_map(|init| Move::Check { init }),
        2 => Just(Move::Advance),
        1 => Just(Move::BeginInit),
        2 => (0..9_usize).prop_map(|phase| Move::BeginPhase { phase }),
        1 => Just(Move::Join),
        1 => (-12..12_i32).prop_map(|days| Move::Shift { days }),
        1 => (offsets, any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
            |(offsets, has_init, rerun, rerun_init)| Move::Adopt {
                offsets, has_init, rerun, rerun_init
            }
        ),
        1 => Just(Move::Pause),
        2 => Just(Move::Resume),
        1 => Just(Move::Detect),
        4 => proptest::option::weighted(0.3, 0..9_i64)
            .prop_map(|through| Move::Swept { through }),
    ]
}

/// Now and then somebody stops it; not so often that no life is long.
pub(super) fn lives() -> impl Strategy<Value = (bool, bool, Vec<Move>)> {
    let moves = vec(moves(), 1..60);
    (any::<bool>(), any::<bool>(), moves, proptest::option::weighted(0.3, 0..60_usize)).prop_map(
        |(manual, has_init, mut moves, stop)| {
            if let Some(at) = stop {
                moves.insert(at.min(moves.len()), Move::Cancel);
            }
            (manual, has_init, moves)
        },
    )
}

fn offsets_named(offsets: &[i32]) -> Vec<(&'static str, i32)> {
    let mut sorted = offsets.to_vec();
    sorted.sort_unstable_by(|one, other| other.cmp(one));
    ["one", "two", "three"].into_iter().zip(sorted).collect()
}

/// A batch of three phases before its first decision.
pub(super) fn born(manual: bool, has_init: bool) -> World {
    let mode = if manual { BatchMode::Manual } else { BatchMode::Scheduled };
    World::of(mode, &timeline_of(1, has_init, &offsets_named(&[5 * DAY, DAY, 0])))
}

/// What a move asks for; `None` if it only lets the world go on.
pub(super) fn command(world: &mut World, next: &Move) -> Option<BatchCommand> {
    let place = |number: usize| number % world.batch.phases.len();
    Some(match next {
        Move::Pass { minutes } => {
            world.now = world.now.after(Interval::from_secs(u64::from(*minutes) * 60));
            return None;
        }
        Move::Count { phase, open, succeeded } => {
            let (open, succeeded) = (*open, *succeeded);
            let place = place(*phase);
            world.batch.phases[place].tally =
                PhaseTally { open, succeeded, ..PhaseTally::default() };
            return None;
        }
        Move::CountMembers { open } => {
            world.batch.tally.open = *open;
            return None;
        }
        Move::Check { init } => BatchCommand::Check { init: init.map(|at| RunStatus::ALL[at]) },
        Move::Advance => advance(),
        Move::BeginInit => begin_init(),
        Move::BeginPhase { phase } => {
            BatchCommand::BeginPhase { phase: world.batch.phases[place(*phase)].id, by: somebody() }
        }
        Move::Join => join(1),
        Move::Shift { days } => move_to(before_t0(days * DAY)),
        Move::Adopt { offsets, has_init, rerun, rerun_init } => {
            let version = world.batch.runbook_version + 1;
            let overdue = if *rerun { Overdue::Rerun } else { Overdue::Ignore };
            let newer = timeline_of(version, *has_init, &offsets_named(offsets));
            adopt(newer, overdue, *rerun_init)
        }
        Move::Pause => pause(),
        Move::Resume => resume(),
        Move::Cancel => cancel(),
        Move::Detect => BatchCommand::Detect,
        Move::Swept { through } => BatchCommand::Swept { through: through.map(MemberId) },
    })
}

/// What must hold between two states, whatever was asked.
fn must_follow(before: &Batch, command: &BatchCommand, after: &Batch) {
    if before.status.is_terminal() {
        assert_eq!(after.status, before.status, "a batch that has ended never changes");
    }
    for (old, new) in before.phases.iter().zip(&after.phases) {
        if old.status.is_terminal() {
            assert_eq!(new.status, old.status, "a phase that has ended never changes");
        }
        let is_moved = old.due_at != new.due_at;
        if let BatchCommand::Move { start, .. } = command {
            let waits = old.status == PhaseStatus::Pending;
            let due = stepwell_core::batch::state::due_at(*start, old.offset_minutes);
            assert_eq!(new.due_at, if waits { Some(due) } else { old.due_at });
        } else {
            assert!(!is_moved, "only a moved T-0 moves a phase");
        }
    }
    if let BatchCommand::Check { .. } = command {
        let is_missed = |due: Timestamp| due <= after.updated_at;
        let missed = after.wake_at().is_some_and(is_missed) && after.sweeps.is_empty();
        assert!(!missed, "nothing that is due is left after a check");
    }
}

/// Which phases began with these entries, and whether they were allowed to.
fn must_be_due(before: &Batch, after: &Batch, entries: &[BatchEntry], begun: &mut Vec<PhaseId>) {
    for entry in entries {
        let BatchEntry::PhaseDispatched { phase, by } = entry else { continue };
        assert!(!begun.contains(phase), "phase {phase} began twice");
        begun.push(*phase);
        let found = before.phases.iter().find(|known| known.id == *phase).expect("it was known");
        assert!(!before.paused && !before.status.is_terminal());
        if by.is_none() {
            let due = found.due_at.expect("without a moment nobody but a person begins it");
            assert!(due <= after.updated_at, "phase {phase} began before its time");
        }
    }
}

/// The batch as its history alone tells it; where members stand is not part of it.
fn folded(first: &Batch, world: &World) -> Batch {
    let mut batch = first.clone();
    for (at, entries) in &world.history {
        let text = serde_json::to_string(entries).expect("plain data");
        let entries: Vec<BatchEntry> = serde_json::from_str(&text).expect("the same data");
        entries.iter().for_each(|entry| evolve_batch(&mut batch, entry, *at));
        batch.version += 1;
    }
    batch.tally = world.batch.tally;
    for (phase, counted) in batch.phases.iter_mut().zip(&world.batch.phases) {
        phase.tally = counted.tally;
    }
    batch
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    // whatever is asked, in whatever order.
    #[test]
    fn a_batch_keeps_its_rules_whatever_is_asked((manual, has_init, moves) in lives()) {
        let mut world = born(manual, has_init);
        let first = world.batch.clone();
        let mut begun = Vec::new();
        world.does(BatchCommand::Detect);
        world.members(2);
        for next in &moves {
            let Some(command) = command(&mut world, next) else { continue };
            let before = world.batch.clone();
            match world.asks(&command) {
                Ok(decision) => {
                    must_follow(&before, &command, &world.batch);
                    must_be_due(&before, &world.batch, &decision.entries, &mut begun);
                    let written = !decision.entries.is_empty();
                    prop_assert_eq!(world.batch.version, before.version + u64::from(written));
                    prop_assert!(written || decision.batch == before, "what changes is written");
                    let kept = decision.record().map_or(0, |record| record.entries.len());
                    let told = decision.entries.iter().filter(|entry| entry.is_of_interest());
                    prop_assert_eq!(kept, told.count());
                }
                Err(_) => prop_assert_eq!(&world.batch, &before, "a refusal changes nothing"),
            }
        }
        prop_assert_eq!(folded(&first, &world), world.batch);
    }

    // on its own, every phase begins at its moment, in the order of the timeline.
    #[test]
    fn a_batch_that_is_left_alone_begins_every_phase_on_time(
        offsets in vec(-DAY..9 * DAY, 1..4),
    ) {
        let phases = offsets_named(&offsets);
        let mut world = World::detected(&timeline_of(1, false, &phases));
        let mut began = Vec::new();
        while let Some(moment) = world.batch.wake_at() {
            world.now = moment;
            let decision = world.does(BatchCommand::Check { init: None });
            for entry in &decision.entries {
                if let BatchEntry::PhaseDispatched { phase, .. } = entry {
                    began.push((*phase, moment));
                }
            }
            world.sweeps();
        }
        let expected: Vec<(PhaseId, Timestamp)> = world.batch.phases.iter()
            .map(|phase| (phase.id, stepwell_core::batch::state::due_at(t0(), phase.offset_minutes)))
            .collect();
        prop_assert_eq!(began, expected);
    }
}
