//! A group of decisions, sorted by statement: all rows of a kind together.
//!
//! Runs are sorted by their id, so that two transactions that want the same rows never wait for each
//! other. What is numbered as it is inserted, messages and dead letters, keeps the order of the items.

use std::collections::BTreeSet;
use std::sync::Arc;

use stepwell_core::id::{RunId, StepIndex};
use stepwell_core::run::Run;
use stepwell_core::time::Timestamp;

use super::batch_moves::Moves;
use super::credit::RunMovement;
use super::run_write::{NamedStep, NewRun, Of};
use crate::model::{
    Advance, BatchWrite, Create, GivenUp, Group, Input, InputAnswer, Item, NewDeadLetter, NewEvent,
    NewMessage, StaleReport,
};
use crate::rows::{
    AdvanceRows, BatchWriteRows, CreateRows, CreditRows, GroupRows, ItemRows, RecordRow, StepRow,
};

/// A group as rows, with the runs themselves, which know the names of their steps.
pub(super) struct Named {
    pub(super) rows: GroupRows,
    /// those that the group writes, in the order of a walk through items and children
    runs: Vec<Arc<Run>>,
}

/// The rows of a group by kind.
#[derive(Default)]
pub(super) struct Sorted<'a> {
    pub(super) advances: Vec<&'a AdvanceRows>,
    pub(super) asked_for: Vec<NewRun<'a>>,
    pub(super) caused: Vec<NewRun<'a>>,
    /// runs that were asked for under an idempotency key
    pub(super) keyed: Vec<&'a CreateRows>,
    /// tenants whose open runs are to be counted first
    pub(super) capped: Vec<&'a str>,
    pub(super) steps: Vec<NamedStep<'a>>,
    pub(super) records: Vec<Of<'a, RecordRow>>,
    pub(super) messages: Vec<Of<'a, NewMessage>>,
    pub(super) letters: Vec<Of<'a, NewDeadLetter>>,
    /// what moves in accounts, in the order of the items
    pub(super) credits: Vec<RunMovement<'a>>,
    /// tenants whose accounts move
    pub(super) accounts: Vec<&'a str>,
    /// runs that begin only if their tenant's account covers what they set aside
    pub(super) reserving: Vec<RunId>,
    /// what others are told
    pub(super) events: Vec<Of<'a, NewEvent>>,
    /// runs that begin, among the open ones
    pub(super) begun: Vec<RunId>,
    /// runs that end
    pub(super) ended: Vec<RunId>,
    pub(super) reschedules: Vec<Reschedule>,
    pub(super) audits: Vec<&'a StaleReport>,
    pub(super) forwards: Vec<&'a Input>,
    pub(super) answers: &'a [InputAnswer],
    /// decisions on batches
    pub(super) batches: Vec<&'a BatchWriteRows>,
    /// what runs do in their batches
    pub(super) moves: Moves<'a>,
}

/// A run that was woken early.
pub(super) struct Reschedule {
    pub(super) run: RunId,
    pub(super) version: u64,
    pub(super) wake_at: Option<Timestamp>,
}

impl Named {
    pub(super) fn encode(group: Group) -> Self {
        let mut runs = Vec::with_capacity(group.items.len());
        for item in &group.items {
            match item {
                Item::Create(create) => name_create(create, &mut runs),
                Item::Advance(advance) => name_advance(advance, &mut runs),
                Item::Batch(write) => name_batch(write, &mut runs),
                Item::Reschedule { .. } | Item::Audit(_) | Item::Forward(_) => {}
            }
        }
        Self { rows: GroupRows::encode(group), runs }
    }
}

fn name_create(create: &Create, runs: &mut Vec<Arc<Run>>) {
    runs.push(Arc::clone(&create.run));
    create.children.iter().for_each(|child| name_create(child, runs));
}

fn name_advance(advance: &Advance, runs: &mut Vec<Arc<Run>>) {
    runs.push(Arc::clone(&advance.run));
    advance.children.iter().for_each(|child| name_create(child, runs));
}

/// In the order of [`BatchWriteRows::creates`].
fn name_batch(write: &BatchWrite, runs: &mut Vec<Arc<Run>>) {
    let joined = write.joined.iter().map(|member| &member.run);
    let creates = joined.chain(&write.retaken).chain(&write.runs);
    creates.for_each(|create| name_create(create, runs));
}

impl<'a> Sorted<'a> {
    /// Sorts the items of a group; with `only`, those that write one of these runs.
    pub(super) fn of(group: &'a Named, only: Option<&[RunId]>) -> Self {
        let mut sorted = Self::default();
        if only.is_none() {
            sorted.answers = &group.rows.answers;
        }
        let mut runs = group.runs.iter();
        let wanted = |run: &RunId| only.is_none_or(|only| only.contains(run));
        for item in &group.rows.items {
            match item {
                ItemRows::Create(create) if only.is_none() => {
                    sorted.create(NewRun::asked_for(create, None), &mut runs);
                }
                ItemRows::Batch(write) if only.is_none() => sorted.batch(write, &mut runs),
                ItemRows::Advance(advance) if wanted(&advance.run) => {
                    sorted.advance(advance, &mut runs);
                }
                ItemRows::Create(create) => pass(&mut runs, &create.children),
                ItemRows::Advance(advance) => pass(&mut runs, &advance.children),
                ItemRows::Batch(write) => {
                    write.creates().for_each(|create| pass(&mut runs, &create.children));
                }
                ItemRows::Reschedule { run, version, wake_at } if wanted(run) => {
                    let (run, version, wake_at) = (*run, *version, *wake_at);
                    sorted.reschedules.push(Reschedule { run, version, wake_at });
                }
                ItemRows::Audit(report) if only.is_none() => sorted.audits.push(report),
                ItemRows::Forward(input) if only.is_none() => sorted.forwards.push(input),
                ItemRows::Reschedule { .. } | ItemRows::Audit(_) | ItemRows::Forward(_) => {}
            }
        }
        sorted.advances.sort_unstable_by_key(|advance| advance.run);
        sorted.asked_for.sort_unstable_by_key(|run| run.rows.header.id);
        sorted.reschedules.sort_unstable_by_key(|reschedule| reschedule.run);
        sorted.capped.sort_unstable();
        sorted.capped.dedup();
        sorted.accounts.sort_unstable();
        sorted.accounts.dedup();
        sorted
    }

    /// Whether it takes more than the server to say what can be done.
    pub(super) fn is_judged_here(&self) -> bool {
        let Self { capped, batches, reserving, .. } = self;
        !capped.is_empty() || !batches.is_empty() || !reserving.is_empty()
    }

    fn advance(&mut self, advance: &'a AdvanceRows, runs: &mut std::slice::Iter<'a, Arc<Run>>) {
        let run = advance.run;
        self.advances.push(advance);
        self.name(&advance.steps, runs.next());
        self.records.extend(advance.records.iter().map(|row| Of { run, row }));
        self.cost(advance.credits.as_deref());
        self.events.extend(advance.events.iter().map(|row| Of { run, row }));
        self.follow(run, &advance.outbox, advance.dead_letter.as_deref());
        self.moves.add_advance(run, advance.header.as_deref(), advance.tally.as_ref());
        if advance.state.status.is_terminal() {
            self.ended.push(run);
        }
        for child in &advance.children {
            self.create(NewRun::caused_by(run, child), runs);
        }
    }

    fn batch(&mut self, write: &'a BatchWriteRows, runs: &mut std::slice::Iter<'a, Arc<Run>>) {
        self.batches.push(write);
        for create in write.creates() {
            self.create(NewRun::asked_for(create, Some(write.batch.id)), runs);
        }
    }

    /// A run that was asked for, or that another decision causes, with all that it causes in turn.
    fn create(&mut self, new: NewRun<'a>, runs: &mut std::slice::Iter<'a, Arc<Run>>) {
        let NewRun { rows: create, cause, .. } = new;
        let run = create.header.id;
        assert!(cause.is_none() || create.key.is_none(), "only what was asked for has a key");
        if cause.is_none() {
            self.asked_for.push(new);
            self.reserving.extend((new.reserves().is_some()).then_some(run));
            self.keyed.extend(create.key.is_some().then_some(create));
            self.capped.extend(create.is_capped().then(|| create.header.tenant.as_str()));
        } else {
            self.caused.push(new);
        }
        self.name(&create.steps, runs.next());
        self.records.push(Of { run, row: &create.record });
        self.cost(create.credits.as_deref());
        self.events.extend(create.events.iter().map(|row| Of { run, row }));
        self.follow(run, &create.outbox, create.dead_letter.as_deref());
        self.moves.add_create(create);
        if !create.state.status.is_terminal() {
            self.begun.push(run);
        }
        for child in &create.children {
            self.create(NewRun::caused_by(cause.unwrap_or(run), child), runs);
        }
    }

    fn cost(&mut self, credits: Option<&'a CreditRows>) {
        let Some(credits) = credits else { return };
        self.accounts.push(credits.tenant.as_str());
        self.credits.extend(RunMovement::all_of(credits));
    }

    fn follow(&mut self, run: RunId, outbox: &'a [NewMessage], given_up: Option<&'a GivenUp>) {
        self.messages.extend(outbox.iter().map(|row| Of { run, row }));
        let Some(GivenUp { letter, told }) = given_up else { return };
        self.letters.push(Of { run, row: letter });
        self.events.extend(told.events.iter().map(|row| Of { run, row }));
        self.messages.extend(told.messages.iter().map(|row| Of { run, row }));
    }

    fn name(&mut self, steps: &'a [StepRow], run: Option<&'a Arc<Run>>) {
        let run = run.expect("every run that is written was noted in the same walk");
        // Several decisions on a run may name a step several times, always as it is in the end.
        let mut seen = BTreeSet::new();
        for row in steps.iter().filter(|row| seen.insert(row.position)) {
            let node = run.step_id(StepIndex(row.position));
            self.steps.push(NamedStep { run: run.id(), node, row });
        }
    }
}

impl CreateRows {
    /// It takes a place among the open runs of its tenant, of which there are only so many.
    pub(super) fn is_capped(&self) -> bool {
        self.tenant_cap.is_some() && self.takes_room()
    }

    /// It takes a place among the open runs of its tenant.
    pub(super) fn takes_room(&self) -> bool {
        self.was_asked_for() && !self.state.status.is_terminal()
    }
}

/// Passes over a run and what it causes.
fn pass(runs: &mut std::slice::Iter<'_, Arc<Run>>, children: &[CreateRows]) {
    let _last = runs.nth(count(children));
}

/// How many runs a decision causes, and those in turn.
fn count(children: &[CreateRows]) -> usize {
    children.iter().map(|child| 1 + count(&child.children)).sum()
}
