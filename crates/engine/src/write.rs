//! Everything that one decision writes for its run, and the decision itself.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use stepwell_core::batch::Tally;
use stepwell_core::command::Command;
use stepwell_core::credit::Movement;
use stepwell_core::decide::{At, Decision, decide};
use stepwell_core::effect::{Directive, Effect};
use stepwell_core::entry::{Entry, Record};
use stepwell_core::id::StepIndex;
use stepwell_core::invariant;
use stepwell_core::run::{Header, Run, RunStatus};
use stepwell_core::step::StepError;
use stepwell_core::time::Timestamp;
use stepwell_dialects::notice;
use stepwell_store::{Advance, Create, GivenUp, Item, Key, NewDeadLetter, NewEvent, NewMessage};

use crate::error::EngineError;
use crate::group::Plan;
use crate::intake::Start;
use crate::shared::Shared;
use crate::tell::Whose;

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
    dead_letter: Option<Box<GivenUp>>,
    expires_at: Option<Timestamp>,
    /// what it moves in the account of its tenant
    credits: Vec<Movement>,
    /// what others are told
    events: Vec<NewEvent>,
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

impl Write {
    pub(crate) fn of(run: Arc<Run>, new: Option<NewRun>) -> Self {
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
            credits: Vec::new(),
            events: Vec::new(),
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

    pub(crate) fn item(&mut self) -> Item {
        match self.new.take() {
            Some(new) => Item::Create(Box::new(self.create(new))),
            None => Item::Advance(Box::new(Advance {
                credits: std::mem::take(&mut self.credits),
                events: std::mem::take(&mut self.events),
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
            credits: std::mem::take(&mut self.credits),
            events: std::mem::take(&mut self.events),
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

/// Decides the first of a run that was asked for.
pub(crate) fn begin(start: &Start, now: Timestamp, shared: &Shared) -> Result<Write, Plan> {
    let new = NewRun { key: start.key, tenant_cap: start.tenant_cap };
    let command = Command::Start { carried: start.carried.clone() };
    begin_run(Arc::clone(&start.header), new, &command, now, shared)
}

/// Decides the first of a run that does not exist yet.
pub(crate) fn begin_run(
    header: Arc<Header>,
    new: NewRun,
    command: &Command,
    now: Timestamp,
    shared: &Shared,
) -> Result<Write, Plan> {
    let run = Arc::new(Run::new(header));
    let decision = decide_soundly(&run, command, now, shared)?;
    let mut write = Write::of(run, Some(new));
    write.extend(decision, now, shared);
    Ok(write)
}

/// Decides, and lets no decision pass that breaks a rule: the run is left as it is, and a person is told.
pub(crate) fn decide_soundly(
    before: &Run,
    command: &Command,
    now: Timestamp,
    shared: &Shared,
) -> Result<Decision, Plan> {
    let mut fresh = || shared.settings.ids.id(now);
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

impl Write {
    /// Adds a decision to what is written for its run.
    pub(crate) fn extend(&mut self, decision: Decision, now: Timestamp, shared: &Shared) {
        let run = Arc::new(decision.run);
        self.changed.extend(decision.entries.iter().filter_map(Entry::step));
        for effect in &decision.effects {
            match effect {
                Effect::StartRun(header) => {
                    let command = Command::Start { carried: Vec::new() };
                    match begin_run(Arc::clone(header), NewRun::free(), &command, now, shared) {
                        Ok(child) => self.children.push(child),
                        Err(plan) => tracing::error!(run = %header.id, ?plan, "child_not_started"),
                    }
                }
                Effect::Ended { status } => self.end(&run, *status, now, shared),
                Effect::Publish(_) | Effect::Withdraw(_) => {}
            }
        }
        self.move_credits(&run, &decision.entries);
        self.tell(&run, &decision.entries, shared);
        self.records.push(Record {
            version: run.version,
            at: run.updated_at,
            entries: decision.entries,
        });
        self.effects.extend(decision.effects);
        self.run = run;
    }

    /// What is only counted, and taken from no account, stays with the run.
    fn move_credits(&mut self, run: &Run, entries: &[Entry]) {
        if !run.credit_terms().is_some_and(|terms| terms.charged) {
            return;
        }
        self.credits.extend(entries.iter().filter_map(|entry| match entry {
            Entry::CreditsMoved { movement } => Some(*movement),
            _ => None,
        }));
    }

    /// Others are told with the commit that makes it true, so exactly once.
    fn tell(&mut self, run: &Run, entries: &[Entry], shared: &Shared) {
        let told = shared.told_of(&self.run, entries, run);
        self.events.extend(told.events);
        self.outbox.extend(told.messages);
        let of_letter = self.dead_letter.iter().any(|it| !it.told.messages.is_empty());
        self.has_messages |= of_letter || !self.outbox.is_empty();
    }

    fn end(&mut self, run: &Run, status: RunStatus, now: Timestamp, shared: &Shared) {
        self.expires_at = shared.keeps(&run.header, status).map(|keep| now.after(keep));
        self.outbox.extend(notice::notices(run).into_iter().map(|notice| NewMessage {
            kind: "webhook".to_owned(),
            destination: notice.url,
            body: notice.body.to_string(),
            due_at: now,
        }));
        if status == RunStatus::Failed {
            let failed = run.steps.iter().position(|step| step.error.is_some());
            let error = run.error.as_deref().cloned();
            let letter = NewDeadLetter {
                // Only the history knows it: see `crate::letters`.
                first_error: None,
                reason: "run_failed".to_owned(),
                step: failed.map(|position| run.step_id(StepIndex::at(position)).into_owned()),
                error: error.unwrap_or_else(|| StepError::new("failed", "the run failed")),
                at: now,
            };
            self.dead_letter = Some(shared.give_up(&Whose::run(run), letter));
        }
    }
}
