//! A group of decisions that will be committed together.
//!
//! Commands are decided as they arrive, while the group before is being committed. So a decision may
//! rest on a state that is not committed yet. That is safe because the store checks every version,
//! and because nobody is answered before the group is committed; if the group before fails, this one
//! is dissolved and its commands are decided again.

use std::collections::HashMap;
use std::sync::Arc;

use stepwell_core::command::{Command, StepRef};
use stepwell_core::id::RunId;
use stepwell_core::refusal::Refusal;
use stepwell_core::run::Run;
use stepwell_core::time::Timestamp;
use stepwell_store::{Epoch, Group, Input, InputAnswer, Item, StaleReport};
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::error::EngineError;
use crate::inputs::{Forwarded, Inbound, Word};
use crate::intake::Ask;
use crate::shared::Shared;
pub(crate) use crate::write::{NewRun, Write, begin_run};
use crate::write::{begin, decide_soundly};

/// Where an answer goes: which batch, which place in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub(crate) batch: u64,
    pub(crate) place: usize,
}

/// An ask on its way: decided as often as needed until it is committed or refused.
#[derive(Debug)]
pub(crate) struct Ticket {
    pub(crate) slot: Slot,
    pub(crate) ask: Ask,
    /// commits that found the run changed
    pub(crate) tries: u32,
}

/// What is to be answered once the group is committed.
#[derive(Debug)]
pub(crate) enum Plan {
    /// the write with this number decides
    Write(usize),
    /// the run's owner decides, once the input with this number is stored
    Forward(usize),
    /// nothing had to change; the run as it is
    Unchanged(Arc<Run>),
    /// no
    Refused(Refusal),
    /// it cannot be decided
    Failed(EngineError),
}

/// Decisions that will be committed together.
#[derive(Debug, Default)]
pub(crate) struct Staged {
    pub(crate) writes: Vec<Write>,
    pub(crate) tickets: Vec<(Ticket, Plan)>,
    by_run: HashMap<RunId, usize>,
    reschedules: Vec<Item>,
    audits: Vec<StaleReport>,
    /// what is stored for runs of other instances, and where their owners' words will come
    pub(crate) forwards: Vec<Forward>,
    /// where the forwards begin among the items of the group
    pub(crate) forwards_from: usize,
    answers: Vec<InputAnswer>,
}

/// Something for a run of another instance.
#[derive(Debug)]
pub(crate) struct Forward {
    input: Option<Input>,
    pub(crate) id: Uuid,
    pub(crate) run: RunId,
    pub(crate) word: Option<oneshot::Receiver<String>>,
}

impl Staged {
    pub(crate) fn is_empty(&self) -> bool {
        self.tickets.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.tickets.len()
    }

    /// The run as this group will leave it.
    pub(crate) fn run(&self, id: RunId) -> Option<Arc<Run>> {
        self.by_run.get(&id).map(|write| Arc::clone(&self.writes[*write].run))
    }

    /// Decides the creation of a run.
    pub(crate) fn start(&mut self, ticket: Ticket, now: Timestamp, shared: &Shared) {
        let Ask::Start(start) = &ticket.ask else {
            unreachable!("commands are decided from a run");
        };
        let plan = match begin(start, now, shared) {
            Ok(write) => {
                self.by_run.insert(write.run.id(), self.writes.len());
                self.writes.push(write);
                Plan::Write(self.writes.len() - 1)
            }
            Err(failure) => failure,
        };
        self.tickets.push((ticket, plan));
    }

    /// Decides a command from the run as it is before it.
    pub(crate) fn command(
        &mut self,
        ticket: Ticket,
        before: &Arc<Run>,
        now: Timestamp,
        shared: &Shared,
    ) {
        let plan = match &ticket.ask {
            Ask::Command { at_version: Some(seen), .. } if *seen != before.version => {
                Plan::Failed(EngineError::Changed { seen: *seen, version: before.version })
            }
            Ask::Command { command, .. } => self.decide(before, command, now, shared),
            Ask::Input(inbound) => self.decide_input(before, inbound, now, shared),
            Ask::PutOff { until, .. } => {
                self.reschedule(before, Some(*until));
                Plan::Unchanged(Arc::clone(before))
            }
            Ask::Start(_) => unreachable!("a run that is to be started does not exist yet"),
        };
        self.tickets.push((ticket, plan));
    }

    /// Decides what another instance has stored for the run, and answers it with the group.
    fn decide_input(
        &mut self,
        before: &Arc<Run>,
        inbound: &Inbound,
        now: Timestamp,
        shared: &Shared,
    ) -> Plan {
        let input = &inbound.input;
        let (plan, word) = match &inbound.asks_for {
            Ok(Forwarded { at_version: Some(seen), .. }) if *seen != before.version => {
                let (seen, version) = (*seen, before.version);
                let changed = EngineError::Changed { seen, version };
                (Plan::Failed(changed), Word::Changed { seen, version })
            }
            Ok(Forwarded { command, .. }) => {
                let plan = self.decide(before, command, now, shared);
                let word = match &plan {
                    Plan::Refused(refusal) => Word::Refused(refusal.clone()),
                    Plan::Failed(error) => Word::Failed(error.to_string()),
                    Plan::Write(_) | Plan::Unchanged(_) | Plan::Forward(_) => Word::Followed,
                };
                (plan, word)
            }
            Err(reason) => {
                (Plan::Failed(EngineError::Broken(reason.clone())), Word::Failed(reason.clone()))
            }
        };
        self.answers.push(InputAnswer {
            input: input.id,
            run: input.run,
            written: self.by_run.contains_key(&input.run),
            to: input.from,
            body: word.to_text(),
        });
        plan
    }

    /// Stores something for a run that another instance owns.
    pub(crate) fn forward(
        &mut self,
        ticket: Ticket,
        input: Input,
        word: oneshot::Receiver<String>,
    ) {
        let (id, run) = (input.id, input.run);
        self.forwards.push(Forward { input: Some(input), id, run, word: Some(word) });
        self.tickets.push((ticket, Plan::Forward(self.forwards.len() - 1)));
    }

    /// Notes that an ask cannot be decided.
    pub(crate) fn fail(&mut self, ticket: Ticket, error: EngineError) {
        self.tickets.push((ticket, Plan::Failed(error)));
    }

    fn decide(
        &mut self,
        before: &Arc<Run>,
        command: &Command,
        now: Timestamp,
        shared: &Shared,
    ) -> Plan {
        match decide_soundly(before, command, now, shared) {
            Ok(decision) if decision.entries.is_empty() => {
                if *command == Command::Wake {
                    // It was woken too early: the stored moment was only a lower bound.
                    self.reschedule(before, before.wake_at());
                }
                Plan::Unchanged(Arc::clone(before))
            }
            Ok(decision) => {
                let write = self.write_for(before);
                self.writes[write].extend(decision, now, shared);
                Plan::Write(write)
            }
            Err(Plan::Refused(refusal)) => {
                self.audit(before, command, &refusal, now);
                Plan::Refused(refusal)
            }
            Err(failure) => failure,
        }
    }

    fn write_for(&mut self, before: &Arc<Run>) -> usize {
        *self.by_run.entry(before.id()).or_insert_with(|| {
            self.writes.push(Write::of(Arc::clone(before), None));
            self.writes.len() - 1
        })
    }

    fn reschedule(&mut self, run: &Arc<Run>, wake_at: Option<Timestamp>) {
        // A run that this group writes anyway gets its moment with the write.
        if !self.by_run.contains_key(&run.id()) {
            let (run, version) = (run.id(), run.version);
            self.reschedules.push(Item::Reschedule { run, version, wake_at });
        }
    }

    /// A report that came too late is recorded and changes nothing.
    fn audit(&mut self, run: &Run, command: &Command, refusal: &Refusal, now: Timestamp) {
        let (kind, step, fence) = match command {
            Command::Ack { step, fence } => ("ack", step, fence),
            Command::Report { step, fence, .. } => ("result", step, fence),
            _ => return,
        };
        if !refusal.is_stale() {
            return;
        }
        let step = match step {
            StepRef::Id(id) => id.clone(),
            StepRef::Index(index) => run.step_id(*index).into_owned(),
        };
        self.audits.push(StaleReport {
            run: run.id(),
            step,
            kind: kind.to_owned(),
            attempt: fence.attempt,
            lease: fence.lease,
            reason: refusal.code().to_owned(),
            at: now,
        });
    }

    /// What the store is given. The first items are the writes, in their order.
    pub(crate) fn items(&mut self, epoch: Epoch) -> Group {
        let writes = self.writes.iter_mut().map(Write::item);
        let rest = self.reschedules.drain(..);
        let audits = self.audits.drain(..).map(Item::Audit);
        let mut items: Vec<Item> = writes.chain(rest).chain(audits).collect();
        self.forwards_from = items.len();
        let forwards = self.forwards.iter_mut().filter_map(|forward| forward.input.take());
        items.extend(forwards.map(Item::Forward));
        Group { answers: std::mem::take(&mut self.answers), ..Group::of(epoch, items) }
    }

    /// Gives the asks back, to be decided again.
    pub(crate) fn dissolve(self) -> impl Iterator<Item = Ticket> {
        self.tickets.into_iter().map(|(ticket, _)| ticket)
    }
}
