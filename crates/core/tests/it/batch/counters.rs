//! Counters move with the members: what the commits add up to is what counting would find.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;
use stepwell_core::batch::{MemberTally, PhaseTally, Tally};
use stepwell_core::command::{Adopted, Carried, Command, Operation};
use stepwell_core::definition::{CancelMode, FailureMode, StepSpec, Workflow};
use stepwell_core::entry::Entry;
use stepwell_core::id::{BatchId, MemberId, RunNumber};
use stepwell_core::invariant;
use stepwell_core::run::{BatchRole, Header, Membership, Run, RunStatus};
use stepwell_core::step::StepStatus;

use crate::replay::replayed;
use crate::world::{World, behind, cancel, chained, graph, header, object, operate, step};

/// The phases of a version, with how many steps each has.
const PHASES: [(&str, usize); 2] = [("prepare", 2), ("cutover", 1)];

fn gates(version: u32) -> Vec<String> {
    PHASES.iter().map(|(name, _)| format!("{name}@{version}")).collect()
}

/// The way of a member through these versions.
fn way(versions: std::ops::RangeInclusive<u32>) -> Workflow {
    let version = *versions.end();
    let steps = versions.flat_map(|version| {
        PHASES.iter().flat_map(move |(name, count)| {
            let gate = format!("{name}@{version}");
            (0..*count).map(move |n| behind(&gate, step(&format!("{gate}/{n}"))))
        })
    });
    let steps: Vec<StepSpec> = chained(steps.collect());
    let cancel = CancelMode::Immediate;
    Workflow { version, cancel, failure: FailureMode::CancelRest, ..graph(steps) }
}

fn member(workflow: Workflow, number: i64) -> World {
    let membership = Membership {
        batch: BatchId(1),
        member: Some(MemberId(number)),
        role: BatchRole::Member,
        number: RunNumber(number),
    };
    World::of_header(Header { membership: Some(membership), ..header(workflow) })
}

#[derive(Clone, Debug)]
enum Move {
    Open { version: u32, phase: usize },
    Succeed,
    Fail { for_good: bool },
    Refresh { count: u8 },
    Adopt { rerun: bool, skip: usize },
    Operate { step: usize, done: bool },
    Cancel,
    BeginAgain { open: usize },
}

fn moves() -> impl Strategy<Value = Move> {
    prop_oneof![
        6 => (1..5_u32, 0..2_usize).prop_map(|(version, phase)| Move::Open { version, phase }),
        8 => Just(Move::Succeed),
        2 => any::<bool>().prop_map(|for_good| Move::Fail { for_good }),
        1 => any::<u8>().prop_map(|count| Move::Refresh { count }),
        2 => (any::<bool>(), 0..3_usize).prop_map(|(rerun, skip)| Move::Adopt { rerun, skip }),
        1 => (any::<usize>(), any::<bool>()).prop_map(|(step, done)| Move::Operate { step, done }),
        1 => Just(Move::Cancel),
        2 => (0..3_usize).prop_map(|open| Move::BeginAgain { open }),
    ]
}

/// What a move means for the run of a member.
fn command(world: &World, first: u32, next: &Move) -> Option<Command> {
    let run = &world.run;
    let under_way = run.indexed().find(|(_, step)| step.is_in_flight());
    let under_way = under_way.map(|(index, _)| run.step_id(index).into_owned());
    Some(match next {
        Move::Open { version, phase } => {
            Command::OpenGate { gate: gates(*version)[*phase].clone() }
        }
        Move::Succeed => world.succeeded(&under_way?),
        Move::Fail { for_good: true } => world.failed_for_good(&under_way?),
        Move::Fail { for_good: false } => world.failed(&under_way?),
        Move::Refresh { count } => {
            Command::Refresh { input: Some(object(json!({ "count": count }))), special: None }
        }
        Move::Adopt { rerun, skip } => {
            let version = run.header.workflow.version;
            let mut superseded = gates(version);
            superseded.retain(|gate| *rerun || !run.gates_open.contains(gate));
            Command::Adopt {
                workflow: Adopted::of(Arc::new(way(first..=version + 1))),
                superseded,
                skipped: gates(version + 1).into_iter().take(*skip).collect(),
            }
        }
        Move::Operate { step, done } => {
            let id = &run.header.specs()[step % run.header.specs().len()].id;
            let result = json!({});
            let done = *done;
            operate(id, if done { Operation::MarkSucceeded { result } } else { Operation::Skip })
        }
        Move::Cancel => cancel(CancelMode::Immediate),
        Move::BeginAgain { .. } => return None,
    })
}

/// The runs of one member, newest last, and what their commits add up to.
struct Member {
    runs: Vec<World>,
    first: u32,
    sum: Tally,
}

impl Member {
    fn joins(number: i64) -> Self {
        let nothing =
            Tally { batch: BatchId(1), members: MemberTally::default(), phases: Vec::new() };
        let mut joined = Self { runs: Vec::new(), first: 1, sum: nothing };
        joined.begins(member(way(1..=1), number), Vec::new());
        joined
    }

    fn count(&mut self, before: Option<&Run>, after: &Run) {
        if let Some(moved) = Tally::moved(before, after) {
            self.sum.add(&moved);
        }
    }

    /// A run begins; it is counted in place of the one before.
    fn begins(&mut self, mut world: World, carried: Vec<Carried>) {
        world.does(Command::Start { carried });
        let before = self.runs.last().map(|old| old.run.clone());
        self.count(before.as_ref(), &world.run);
        self.runs.push(world);
    }

    fn lives(&mut self, next: &Move) {
        let first = self.first;
        let world = self.runs.last_mut().expect("it has joined");
        if let Move::BeginAgain { open } = next {
            if world.run.status == RunStatus::Succeeded {
                let version = world.run.header.workflow.version + 1;
                let carried = gates(version).into_iter().take(*open);
                let carried = carried.map(|gate| Carried::Open { gate }).collect();
                let again = member(way(version..=version), 1);
                self.first = version;
                self.begins(again, carried);
            }
            return;
        }
        let Some(command) = command(world, first, next) else { return };
        let before = world.run.clone();
        let Ok(decision) = world.asks(&command) else { return };
        must_be_in_order(&before, &decision.entries, &decision.run);
        invariant::check_change(&before, &decision.run).expect("a sound change");
        invariant::check(&decision.run).expect("a sound run");
        assert_eq!(replayed(world), world.run);
        let after = decision.run;
        self.count(Some(&before), &after);
    }
}

/// no step of a later phase starts before every earlier step has ended, and none without its
/// gate.
fn must_be_in_order(before: &Run, entries: &[Entry], after: &Run) {
    for entry in entries {
        let Entry::StepDispatched { step, .. } = entry else { continue };
        let gate = after.spec(*step).gate.as_ref().expect("every step has a gate");
        assert!(after.gates_open.contains(gate), "{gate} is closed");
        let mut earlier = (0..step.position()).map(|position| &after.steps[position]);
        assert!(earlier.all(|step| step.status.is_terminal()), "{before:?}");
    }
}

/// Where the members stand, counted from their runs alone. A phase that a newer run does not have
/// keeps what it came to in the one before.
fn counted(members: &[Member]) -> (MemberTally, BTreeMap<String, PhaseTally>) {
    let (mut whole, mut phases) = (MemberTally::default(), BTreeMap::new());
    for member in members {
        let mut own = BTreeMap::new();
        for world in &member.runs {
            own.extend(gates_of(&world.run));
        }
        for (gate, tally) in own {
            let sum: &mut PhaseTally = phases.entry(gate).or_default();
            *sum = sum.plus(tally);
        }
        let newest = &member.runs.last().expect("it has joined").run;
        match newest.status {
            RunStatus::Succeeded => whole.succeeded += 1,
            RunStatus::Failed => whole.failed += 1,
            RunStatus::Cancelled => whole.cancelled += 1,
            _ => whole.open += 1,
        }
    }
    (whole, phases)
}

fn gates_of(run: &Run) -> BTreeMap<String, PhaseTally> {
    let mut steps: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (position, spec) in run.header.specs().iter().enumerate() {
        steps.entry(spec.gate.clone().expect("every step has a gate")).or_default().push(position);
    }
    let tally = |positions: Vec<usize>| {
        let all = || positions.iter().map(|position| &run.steps[*position]);
        let any = |wanted: &[StepStatus]| all().any(|step| wanted.contains(&step.status));
        let passed_over =
            all().any(|step| step.skip == Some(stepwell_core::step::SkipReason::Superseded));
        let ended = all().filter(|step| step.status.is_terminal()).count();
        let mut tally = PhaseTally {
            steps_ended: i64::try_from(ended).expect("few steps"),
            ..PhaseTally::default()
        };
        if ended < positions.len() {
            tally.open = 1;
        } else if any(&[StepStatus::Failed, StepStatus::TimedOut]) {
            tally.failed = 1;
        } else if any(&[StepStatus::Cancelled]) {
            tally.cancelled = 1;
        } else if passed_over {
            tally.skipped = 1;
        } else {
            tally.succeeded = 1;
        }
        tally
    };
    steps.into_iter().map(|(gate, positions)| (gate, tally(positions))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    // nobody counts the members again.
    #[test]
    fn what_the_commits_of_members_add_up_to_is_where_they_stand(
        lives in vec(vec(moves(), 0..40), 1..4),
    ) {
        let mut members: Vec<Member> = (1..).zip(&lives).map(|(n, _)| Member::joins(n)).collect();
        for (member, moves) in members.iter_mut().zip(&lives) {
            moves.iter().for_each(|next| member.lives(next));
        }
        let mut sum = members[0].sum.clone();
        members[1..].iter().for_each(|member| sum.add(&member.sum));
        let (whole, phases) = counted(&members);
        prop_assert_eq!(sum.members, whole);
        let mut summed: BTreeMap<String, PhaseTally> = sum.phases.into_iter().collect();
        summed.retain(|_, tally| *tally != PhaseTally::default());
        prop_assert_eq!(summed, phases);
    }
}

// what undoes a step, prepares a batch or follows a removal is no member's way.
#[test]
fn only_the_way_of_a_member_is_counted() {
    let world = member(way(1..=1), 1);
    assert!(Tally::moved(None, &world.run).is_some());
    for role in [BatchRole::Init, BatchRole::Removal] {
        let membership = world.run.header.membership.map(|own| Membership { role, ..own });
        let other = World::of_header(Header { membership, ..header(way(1..=1)) });
        assert_eq!(Tally::moved(None, &other.run), None, "{role:?}");
    }
    let part = stepwell_core::definition::Part::Compensation("undo".to_owned());
    let undo = Header { part, ..(*world.run.header).clone() };
    assert_eq!(Tally::moved(None, &World::of_header(undo).run), None);
    assert_eq!(Tally::moved(None, &World::of_header(header(way(1..=1))).run), None);
    assert_eq!(Tally::moved(Some(&world.run), &world.run), None, "nothing has moved");
}
