//! A life is lived: each move becomes a command, and whoever watches sees every change.

use std::sync::Arc;

use serde_json::json;
use stepwell_core::command::{Carried, Command, Fence, Operation, StepRef};
use stepwell_core::credit::Credits;
use stepwell_core::decide::Decision;
use stepwell_core::entry::Entry;
use stepwell_core::evolve::evolve;
use stepwell_core::id::{LeaseId, StepIndex};
use stepwell_core::refusal::Refusal;
use stepwell_core::run::Run;
use stepwell_core::step::{Outcome, StepError};
use stepwell_core::time::Timestamp;
use uuid::Uuid;

use crate::lives::{Answer, FenceChoice, Life, Move, gate};
use crate::world::{World, failure, seconds, somebody};

/// One command and what came of it.
pub(crate) struct Change {
    pub(crate) before: Run,
    pub(crate) command: Command,
    pub(crate) answer: Result<Decision, Refusal>,
}

impl Change {
    /// Folds the entries one by one, and shows the run before and after each.
    pub(crate) fn each_entry(&self, mut watch: impl FnMut(&Run, &Entry, &Run)) {
        let Ok(decision) = &self.answer else { return };
        let mut run = self.before.clone();
        for entry in &decision.entries {
            let before = run.clone();
            evolve(&mut run, entry, decision.run.updated_at);
            watch(&before, entry, &run);
        }
    }
}

impl Life {
    /// Lives it to the last move; `watch` sees every change.
    pub(crate) fn live(&self, mut watch: impl FnMut(&Change)) -> World {
        let mut world = World::of_header(self.shape.header());
        let mut seen = Vec::new();
        for next in &self.moves {
            note_leases(&world.run, &mut seen);
            let command = command(&mut world, next, &seen);
            watch(&asked(&mut world, command));
        }
        world
    }
}

/// Asks the world, and keeps what it was before.
pub(crate) fn asked(world: &mut World, command: Command) -> Change {
    let before = world.run.clone();
    let answer = world.asks(&command);
    Change { before, command, answer }
}

/// An attempt that was under way at some time.
struct Seen {
    step: StepIndex,
    fence: Fence,
}

fn note_leases(run: &Run, seen: &mut Vec<Seen>) {
    for (step, state) in run.indexed() {
        if let Some(lease) = state.lease {
            seen.push(Seen { step, fence: Fence { attempt: lease.attempt, lease: lease.id } });
        }
    }
}

fn command(world: &mut World, next: &Move, seen: &[Seen]) -> Command {
    let by = somebody();
    let fenced = |step: u8, fence: FenceChoice| fenced(&world.run, step, fence, seen);
    let error = || StepError::new("lost", "the bus lost it");
    match next {
        Move::Start { carried, in_part } => {
            let carried = carried.map(|step| carried_step(&world.run, step, *in_part));
            Command::Start { carried: carried.into_iter().collect() }
        }
        Move::OpenGate(number) => Command::OpenGate { gate: gate(*number) },
        Move::Ack { step, fence } => {
            let Seen { step, fence } = fenced(*step, *fence);
            Command::Ack { step: StepRef::Index(step), fence }
        }
        Move::Report { step, fence, answer, spent } => {
            let Seen { step, fence } = fenced(*step, *fence);
            Command::Report {
                step: StepRef::Index(step),
                fence,
                outcome: outcome(*answer),
                spent: Credits::whole((*spent).into()),
            }
        }
        Move::Extend { step, fence } => {
            let Seen { step, fence } = fenced(*step, *fence);
            Command::Extend { step: StepRef::Index(step), fence }
        }
        Move::Published { step, fence } => {
            let Seen { step, fence } = fenced(*step, *fence);
            Command::Published { step, lease: fence.lease }
        }
        Move::PublishFailed { step, fence } => {
            let Seen { step, fence } = fenced(*step, *fence);
            Command::PublishFailed { step, lease: fence.lease, error: error() }
        }
        Move::Undelivered { step, fence } => {
            let Seen { step, fence } = fenced(*step, *fence);
            Command::Undelivered { step, lease: fence.lease, error: error() }
        }
        Move::Wake { .. } | Move::WakeWhenDue | Move::WakeInThePast { .. } => {
            world.now = woken_at(world, next);
            Command::Wake
        }
        Move::Cancel(mode) => Command::Cancel { mode: *mode, by },
        Move::Pause => Command::Pause { by },
        Move::Resume => Command::Resume { by },
        Move::Retry { step } => operate(&world.run, *step, Operation::Retry),
        Move::Skip { step } => operate(&world.run, *step, Operation::Skip),
        Move::MarkSucceeded { step } => {
            operate(&world.run, *step, Operation::MarkSucceeded { result: json!({ "id": 2 }) })
        }
    }
}

/// A step that an earlier run had finished, or every other item of one that it had not.
fn carried_step(run: &Run, number: u8, in_part: bool) -> Carried {
    let step = any_step(run, number);
    if !in_part {
        return Carried::Step { step, result: json!({ "id": 1 }) };
    }
    let items = Arc::new(json!([{ "n": 0 }, { "n": 1 }, { "n": 2 }]));
    let done = |even: bool| even.then(|| Arc::new(json!({ "id": 1 })));
    Carried::Items { step, items, results: [true, false, true].map(done).to_vec() }
}

fn woken_at(world: &World, next: &Move) -> Timestamp {
    match next {
        Move::Wake { after_secs } => world.now.after(seconds(u64::from(*after_secs))),
        Move::WakeInThePast { secs } => {
            Timestamp::from_millis(world.now.as_millis() - 1000 * i64::from(*secs))
        }
        _ => world.run.wake_at().map_or(world.now, |due| due.max(world.now)),
    }
}

fn operate(run: &Run, step: u8, operation: Operation) -> Command {
    Command::Operate { step: StepRef::Index(any_step(run, step)), operation, by: somebody() }
}

/// Any step, and now and then one that does not exist.
fn any_step(run: &Run, number: u8) -> StepIndex {
    StepIndex::at(usize::from(number) % (run.steps.len() + usize::from(number == u8::MAX)))
}

/// A step, under way if there is such a one, with the fence that a message about it would name.
fn fenced(run: &Run, number: u8, choice: FenceChoice, seen: &[Seen]) -> Seen {
    let under_way: Vec<StepIndex> =
        run.indexed().filter(|(_, step)| step.is_in_flight()).map(|(index, _)| index).collect();
    let step = match under_way.len() {
        0 => StepIndex::at(usize::from(number) % run.steps.len()),
        count => under_way[usize::from(number) % count],
    };
    let state = &run.steps[step.position()];
    let nobody = LeaseId(Uuid::nil());
    let lease = state.lease.map_or(nobody, |lease| lease.id);
    let current = Fence { attempt: state.attempt, lease };
    match choice {
        FenceChoice::Current => Seen { step, fence: current },
        FenceChoice::Seen(number) => match seen.len() {
            0 => Seen { step, fence: current },
            count => {
                let old = &seen[usize::from(number) % count];
                Seen { step: old.step, fence: old.fence }
            }
        },
        FenceChoice::WrongAttempt => {
            Seen { step, fence: Fence { attempt: current.attempt + 1, ..current } }
        }
        FenceChoice::WrongLease => Seen { step, fence: Fence { lease: nobody, ..current } },
    }
}

fn outcome(answer: Answer) -> Outcome {
    match answer {
        Answer::Done => Outcome::Succeeded { result: json!({ "id": 7 }) },
        Answer::DoneWithoutOutput => Outcome::Succeeded { result: json!(true) },
        Answer::NotFinished => Outcome::Incomplete,
        Answer::Broken => failure(true),
        Answer::BrokenForGood => failure(false),
        Answer::BrokenAndBusy => Outcome::Failed {
            error: StepError::new("busy", "come back later"),
            retryable: true,
            retry_after: Some(seconds(25)),
        },
    }
}
