//! A group of decisions that will be committed together.
//!
//! Commands are decided as they arrive, while the group before is being committed. So a decision may
//! rest on a state that is not committed yet. That is safe because the store checks every version,
//! and because nobody is answered before the group is committed; if the group before fails, this one
//! is dissolved and its commands are decided again.

use std::collections::{BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use stepwell_core::batch::Tally;
use stepwell_core::command::{Command, StepRef};
use stepwell_core::decide::{At, Decision, decide};
use stepwell_core::effect::{Directive, Effect};
use stepwell_core::entry::{Entry, Record};
use stepwell_core::id::{RunId, StepIndex};
use stepwell_core::invariant;
use stepwell_core::refusal::Refusal;
use stepwell_core::run::{Header, Run, RunStatus};
use stepwell_core::time::Timestamp;
use stepwell_dialects::notice;
use stepwell_store::{
    Advance, Create, Epoch, Group, Input, InputAnswer, Item, Key, NewDeadLetter, NewMessage,
    StaleReport,
};
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::error::EngineError;
use crate::inputs::{Forwarded, Inbound, Word};
use crate::intake::{Ask, Start};
use crate::settings::Settings;

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

/// Everything the group writes for one run.
#[derive(Debug)]
pub(crate) struct Write {
    pub(crate) run: Arc<Run>,
    pub(crate) from_version: u64,
    pub(crate) records: Vec<Record>,
    pub(crate) effects: Vec<Effect>,
    pub(crate) children: Vec<Write>,
    /// messages to the outside were stored with it
    pub(crate) has_messages: bool,
    new: Option<NewRun>,
    changed: BTreeSet<StepIndex>,
    outbox: Vec<NewMessage>,
    dead_letter: Option<NewDeadLetter>,
    expires_at: Option<Timestamp>,
    /// the run as the counters of its batch know it; `None`: they do not
    counted: Option<Arc<Run>>,
}

/// What must hold for a run to be created.
#[derive(Debug)]
pub(crate) struct NewRun {
    key: Option<Key>,
    tenant_cap: Option<u32>,
}

impl NewRun {
    /// Nothing: neither a key nor a cap.
    pub(crate) fn free() -> Self {
        Self { key: None, tenant_cap: None }
    }
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
    pub(crate) fn start(&mut self, ticket: Ticket, now: Timestamp, settings: &Settings) {
        let Ask::Start(start) = &ticket.ask else {
            unreachable!("commands are decided from a run");
        };
        let plan = match begin(start, now, settings) {
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
        settings: &Settings,
    ) {
        let plan = match &ticket.ask {
            Ask::Command { at_version: Some(seen), .. } if *seen != before.version => {
                Plan::Failed(EngineError::Changed { seen: *seen, version: before.version })
            }
            Ask::Command { command, .. } => self.decide(before, command, now, settings),
            Ask::Input(inbound) => self.decide_input(before, inbound, now, settings),
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
        settings: &Settings,
    ) -> Plan {
        let input = &inbound.input;
        let (plan, word) = match &inbound.asks_for {
            Ok(Forwarded { at_version: Some(seen), .. }) if *seen != before.version => {
                let (seen, version) = (*seen, before.version);
                let changed = EngineError::Changed { seen, version };
                (Plan::Failed(changed), Word::Changed { seen, version })
            }
            Ok(Forwarded { command, .. }) => {
                let plan = self.decide(before, command, now, settings);
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
        settings: &Settings,
    ) -> Plan {
        match decide_soundly(before, command, now, settings) {
            Ok(decision) if decision.entries.is_empty() => {
                if *command == Command::Wake {
                    // It was woken too early: the stored moment was only a lower bound.
                    self.reschedule(before, before.wake_at());
                }
                Plan::Unchanged(Arc::clone(before))
            }
            Ok(decision) => {
                let write = self.write_for(before);
                extend(&mut self.writes[write], decision, now, settings);
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

impl Write {
    fn of(run: Arc<Run>, new: Option<NewRun>) -> Self {
        Self {
            from_version: run.version,
            counted: new.is_none().then(|| Arc::clone(&run)),
            run,
            records: Vec::new(),
            effects: Vec::new(),
            children: Vec::new(),
            has_messages: false,
            new,
            changed: BTreeSet::new(),
            outbox: Vec::new(),
            dead_letter: None,
            expires_at: None,
        }
    }

    /// Directives that go to, and come back from, the bus: those of its children too.
    pub(crate) fn directives(&self) -> impl Iterator<Item = (&Arc<Run>, bool, Directive)> {
        let own = self.effects.iter().filter_map(|effect| match effect {
            Effect::Publish(directive) => Some((&self.run, true, *directive)),
            Effect::Withdraw(directive) => Some((&self.run, false, *directive)),
            Effect::StartRun(_) | Effect::Ended { .. } => None,
        });
        let children = self.children.iter().flat_map(|child| {
            child.effects.iter().filter_map(move |effect| match effect {
                Effect::Publish(directive) => Some((&child.run, true, *directive)),
                Effect::Withdraw(directive) => Some((&child.run, false, *directive)),
                Effect::StartRun(_) | Effect::Ended { .. } => None,
            })
        });
        own.chain(children)
    }

    fn item(&mut self) -> Item {
        match self.new.take() {
            Some(new) => Item::Create(Box::new(self.create(new))),
            None => Item::Advance(Box::new(Advance {
                credits: Vec::new(),
                events: Vec::new(),
                run: Arc::clone(&self.run),
                from_version: self.from_version,
                changed: std::mem::take(&mut self.changed).into_iter().collect(),
                records: self.records.clone(),
                children: self.children.iter_mut().map(Write::child).collect(),
                outbox: std::mem::take(&mut self.outbox),
                dead_letter: self.dead_letter.take(),
                expires_at: self.expires_at,
                tally: self.tally(),
                header_changed: self.header_changed(),
            })),
        }
    }

    /// The creation of a run that is committed with something else than a group.
    pub(crate) fn create_alone(&mut self) -> Create {
        let new = self.new.take().unwrap_or_else(NewRun::free);
        self.create(new)
    }

    /// The run takes another one up again, which the counters of its batch know.
    pub(crate) fn was_counted_as(&mut self, run: Option<Arc<Run>>) {
        self.counted = run;
    }

    fn child(&mut self) -> Create {
        self.create(NewRun::free())
    }

    fn create(&mut self, new: NewRun) -> Create {
        let record = merge(&self.records);
        Create {
            credits: Vec::new(),
            events: Vec::new(),
            run: Arc::clone(&self.run),
            record,
            key: new.key,
            tenant_cap: new.tenant_cap,
            children: self.children.iter_mut().map(Write::child).collect(),
            outbox: std::mem::take(&mut self.outbox),
            dead_letter: self.dead_letter.take(),
            expires_at: self.expires_at,
            tally: self.tally(),
        }
    }

    /// What it moves in the counters of its batch.
    fn tally(&self) -> Option<Tally> {
        Tally::moved(self.counted.as_deref(), &self.run)
    }

    fn header_changed(&self) -> bool {
        let same = |before: &Arc<Run>| Arc::ptr_eq(&before.header, &self.run.header);
        !self.counted.as_ref().is_none_or(same)
    }
}

/// A new run has one decision; nobody knows its id before it is committed.
fn merge(records: &[Record]) -> Record {
    let last = records.last().expect("a new run was decided at least once");
    Record { version: last.version, at: last.at, entries: last.entries.clone() }
}

fn begin(start: &Start, now: Timestamp, settings: &Settings) -> Result<Write, Plan> {
    let new = NewRun { key: start.key, tenant_cap: start.tenant_cap };
    let command = Command::Start { carried: start.carried.clone() };
    begin_run(Arc::clone(&start.header), new, &command, now, settings)
}

pub(crate) fn begin_run(
    header: Arc<Header>,
    new: NewRun,
    command: &Command,
    now: Timestamp,
    settings: &Settings,
) -> Result<Write, Plan> {
    let run = Arc::new(Run::new(header));
    let decision = decide_soundly(&run, command, now, settings)?;
    let mut write = Write::of(run, Some(new));
    extend(&mut write, decision, now, settings);
    Ok(write)
}

/// Decides, and lets no decision pass that breaks a rule: the run is left as it is, and a person is told.
fn decide_soundly(
    before: &Run,
    command: &Command,
    now: Timestamp,
    settings: &Settings,
) -> Result<Decision, Plan> {
    let mut fresh = || settings.ids.id(now);
    let mut at = At { now, fresh: &mut fresh };
    // A fault in one run's decision must not take the others down with it.
    let decided = catch_unwind(AssertUnwindSafe(|| decide(before, command, &mut at)));
    let decision = match decided {
        Ok(Ok(decision)) => decision,
        Ok(Err(refusal)) => return Err(Plan::Refused(refusal)),
        Err(_) => return Err(broken(before, "the decision panicked")),
    };
    match invariant::check_change(before, &decision.run) {
        Ok(()) => Ok(decision),
        Err(breach) => Err(broken(before, &breach.to_string())),
    }
}

fn broken(run: &Run, what: &str) -> Plan {
    tracing::error!(run = %run.id(), breach = what, "decision_refused");
    Plan::Failed(EngineError::Broken(format!("run {} was left as it is: {what}", run.id())))
}

/// Adds a decision to what the group writes for its run.
fn extend(write: &mut Write, decision: Decision, now: Timestamp, settings: &Settings) {
    let run = Arc::new(decision.run);
    write.changed.extend(decision.entries.iter().filter_map(Entry::step));
    for effect in &decision.effects {
        match effect {
            Effect::StartRun(header) => {
                let command = Command::Start { carried: Vec::new() };
                match begin_run(Arc::clone(header), NewRun::free(), &command, now, settings) {
                    Ok(child) => write.children.push(child),
                    Err(plan) => tracing::error!(run = %header.id, ?plan, "child_not_started"),
                }
            }
            Effect::Ended { status } => end(write, &run, *status, now, settings),
            Effect::Publish(_) | Effect::Withdraw(_) => {}
        }
    }
    write.records.push(Record {
        version: run.version,
        at: run.updated_at,
        entries: decision.entries,
    });
    write.effects.extend(decision.effects);
    write.run = run;
}

fn end(write: &mut Write, run: &Run, status: RunStatus, now: Timestamp, settings: &Settings) {
    write.expires_at = settings.retention.of(run.header.dialect).map(|keep| now.after(keep));
    write.outbox.extend(notice::notices(run).into_iter().map(|notice| NewMessage {
        kind: "webhook".to_owned(),
        destination: notice.url,
        body: notice.body.to_string(),
        due_at: now,
    }));
    write.has_messages = !write.outbox.is_empty();
    if status == RunStatus::Failed {
        let failed = run.steps.iter().position(|step| step.error.is_some());
        write.dead_letter =
            Some(NewDeadLetter {
                first_error: None,
                reason: "run_failed".to_owned(),
                step: failed.map(|position| run.step_id(StepIndex::at(position)).into_owned()),
                error: run.error.as_deref().cloned().unwrap_or_else(|| {
                    stepwell_core::step::StepError::new("failed", "the run failed")
                }),
                at: now,
            });
    }
}
