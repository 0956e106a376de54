//! Bugs on purpose: each is planted in a seam of the world, never in the program, and must be found.
//!
//! A simulator that finds nothing proves nothing unless it would have found something. Each bug here
//! is a mistake that somebody could make in a store, a bus, a door or a clock; [`crate::proof`] shows
//! that each is found, by which rule, within a bounded number of worlds.

mod jobs;

use std::sync::Arc;

use stepwell_core::batch::{Phase, PhaseStatus, SweepKind};
use stepwell_core::entry::{Entry, Record};
use stepwell_core::evolve::evolve;
use stepwell_core::id::{RunId, Tenant};
use stepwell_core::run::{Run, RunStatus};
use stepwell_core::step::StepStatus;
use stepwell_store::{Advance, BatchWrite, Create, Epoch, Group, Item};

pub(crate) use jobs::{forget_missed, next_steps};

macro_rules! bugs {
    ($($(#[doc = $doc:literal])* $name:ident = $word:literal,)*) => {
        /// A bug on purpose.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Bug {
            $($(#[doc = $doc])* $name,)*
        }

        impl Bug {
            /// Every bug.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The word of the command line.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$name => $word,)*
                }
            }
        }
    };
}

bugs! {
    /// the door takes a stale report for one of the attempt in force
    SkipLeaseCheck = "skip-lease-check",
    /// directives are published before their commit
    PublishBeforeCommit = "publish-before-commit",
    /// after a restart nobody looks for what is due
    ForgetTimers = "forget-timers",
    /// a stale result is recorded, and counted all the same
    CountStaleResult = "count-stale-result",
    /// the store lets two owners write
    IgnoreEpoch = "ignore-epoch",
    /// whoever writes a run is taken for its owner
    IgnoreOwner = "ignore-owner",
    /// runs are taken from owners that live
    HastyTakeover = "hasty-takeover",
    /// nobody looks at what others have stored for its runs
    ForgetInputs = "forget-inputs",
    /// an instance believes that it is two hours later than it is
    HastyClock = "hasty-clock",
    /// a failed attempt is followed by the next one without a rest
    RetryAtOnce = "retry-at-once",
    /// what was committed before a crash is not published after it
    DropOutbox = "drop-outbox",
    /// an idempotency key is not stored with its run
    LoseKey = "lose-key",
    /// a run that was canceled is written as running again
    CancelRevives = "cancel-revives",
    /// a run that had succeeded is written as failed
    OverwriteEnd = "overwrite-end",
    /// a tenant's count of open runs is not lowered when one ends
    CounterNotMoved = "counter-not-moved",
    /// a tenant's cap is not asked for
    IgnoreCap = "ignore-cap",
    /// the state is stored without its history
    HistoryMissing = "history-missing",
    /// only the first part of a group is stored, and all of it is answered as done
    HalfGroup = "half-group",
    /// a commit that failed is answered as done
    AnswerBeforeCommit = "answer-before-commit",
    /// ids repeat
    RepeatIds = "repeat-ids",
    /// a list does not ask whose runs it shows
    TenantFilterMissing = "tenant-filter-missing",
    /// the run that undoes a step is not stored with the decision that started it
    LoseCompensation = "lose-compensation",
    /// a changed step is not stored with its run
    StepNotWritten = "step-not-written",
    /// a run of an old version is stored as one of the newest
    MoveVersion = "move-version",
    /// the counters of a batch are not moved with the run that moves them
    TallyNotMoved = "tally-not-moved",
    /// what must be done to every member is taken for done before it has begun
    SweepForgotten = "sweep-forgotten",
    /// the first member of a page is passed over
    SkipMember = "skip-member",
    /// nobody remembers that what follows a member's leaving was begun
    RemoveTwice = "remove-twice",
    /// a phase is stored as completed while members are in it
    PhaseEndsEarly = "phase-ends-early",
    /// several instances are told that they alone pass over a runbook
    ShareLease = "share-lease",
    /// what a job that is canceled had set aside does not come back
    ForgetRelease = "forget-release",
    /// what a worker has spent is booked twice
    SpendTwice = "spend-twice",
    /// what a job has spent comes back though nothing of the kind was agreed
    RestoreAlways = "restore-always",
    /// credits of a job that is not charged are taken from the account
    ChargeTheFree = "charge-the-free",
    /// nobody asks whether an account covers a job
    IgnoreBalance = "ignore-balance",
    /// old lines of a ledger are deleted, and nothing is carried
    DropOldLines = "drop-old-lines",
    /// the end of a job is not told with the decision that ends it
    ForgetEvent = "forget-event",
    /// the end of a job is told twice
    TellTwice = "tell-twice",
    /// whoever follows the log of events is led past one
    SkipEvent = "skip-event",
    /// what a worker goes on with is published too
    PublishNext = "publish-next",
    /// a sign of life counts for whoever has the job, whoever gives it
    KeepAnybody = "keep-anybody",
    /// signs of life keep a step for as long as they come
    KeepTooLong = "keep-too-long",
    /// an attempt that ended by silence does not count
    UncountedAttempt = "uncounted-attempt",
    /// a job that failed is tried again without a rest
    HastyLadder = "hasty-ladder",
    /// a job whose worker asked for a rest is tried again when its policy says
    ForgetAskedRest = "forget-asked-rest",
    /// the key of a firing is not stored with the run that it makes
    FireWithoutKey = "fire-without-key",
    /// firings that were missed are forgotten
    IgnoreCatchUp = "ignore-catch-up",
    /// how far a trigger has come is stored without its firings
    LoseFiring = "lose-firing",
}

/// What a bug may know of the store in which it is planted.
pub(crate) trait Stored {
    /// The epoch of the last take-over.
    fn newest_epoch(&self) -> u64;
    /// A run as it is stored.
    fn run(&self, id: RunId) -> Option<Run>;
    /// Runs of a tenant that were ever opened, ended ones included.
    fn ever_opened(&self, tenant: &Tenant) -> usize;
}

impl Bug {
    /// The bug of a word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|bug| bug.word() == word)
    }

    /// What the store really writes of a group, where `stored` is what it has.
    pub(crate) fn spoil(self, group: &mut Group, stored: &impl Stored) {
        if self == Self::IgnoreEpoch {
            group.epoch = Epoch(stored.newest_epoch());
        }
        for item in &mut group.items {
            match item {
                Item::Create(create) => {
                    self.spoil_create(create, stored);
                    self.spoil_new_job(create);
                }
                Item::Advance(advance) => {
                    let run = stored.run(advance.run.id());
                    self.spoil_advance(advance, run.as_ref());
                    self.spoil_job(advance, run.as_ref());
                }
                Item::Audit(report) => {
                    if let Some(run) = stored.run(report.run)
                        && let Some(advance) = self.rewrite(&run, report)
                    {
                        *item = Item::Advance(Box::new(advance));
                    }
                }
                Item::Batch(write) => self.spoil_batch(write),
                Item::Reschedule { .. } | Item::Forward(_) => {}
            }
        }
    }

    fn spoil_batch(self, write: &mut BatchWrite) {
        let batch = Arc::make_mut(&mut write.batch);
        match self {
            Self::SweepForgotten => {
                batch.sweeps.retain(|sweep| !matches!(sweep.kind, SweepKind::Open { .. }));
            }
            Self::PhaseEndsEarly => {
                let is_begun = |phase: &&mut Phase| {
                    phase.status == PhaseStatus::Dispatched && phase.tally.open > 0
                };
                for phase in batch.phases.iter_mut().filter(is_begun) {
                    phase.status = PhaseStatus::Completed;
                }
            }
            _ => {}
        }
    }

    fn spoil_create(self, create: &mut Create, stored: &impl Stored) {
        match self {
            Self::LoseKey => create.key = None,
            Self::IgnoreCap => create.tenant_cap = None,
            Self::RemoveTwice if create.run.header.membership.is_some() => create.key = None,
            Self::CounterNotMoved => {
                let opened = stored.ever_opened(&create.run.header.tenant);
                if create.tenant_cap.is_some_and(|cap| opened >= cap as usize) {
                    create.tenant_cap = Some(0);
                }
            }
            _ => {}
        }
    }

    fn spoil_advance(self, advance: &mut Advance, stored: Option<&Run>) {
        match self {
            Self::IgnoreEpoch => {
                if let Some(stored) = stored {
                    advance.from_version = stored.version;
                }
            }
            Self::HistoryMissing => advance.records.clear(),
            Self::TallyNotMoved => advance.tally = None,
            Self::RetryAtOnce => retry_at_once(advance),
            Self::LoseCompensation => advance.children.clear(),
            Self::StepNotWritten => {
                if let (Some(stored), Some(step)) = (stored, advance.changed.first()) {
                    let run = Arc::make_mut(&mut advance.run);
                    run.steps[step.position()] = stored.steps[step.position()].clone();
                }
            }
            Self::MoveVersion => {
                let run = Arc::make_mut(&mut advance.run);
                let header = Arc::make_mut(&mut run.header);
                Arc::make_mut(&mut header.workflow).version += 1;
            }
            _ => {}
        }
    }

    /// What becomes of a run when a stale report comes in.
    fn rewrite(self, run: &Run, report: &stepwell_store::StaleReport) -> Option<Advance> {
        let mut changed = run.clone();
        changed.version += 1;
        let mut records = Vec::new();
        match self {
            Self::CancelRevives if run.status == RunStatus::Cancelled => {
                changed.status = RunStatus::Running;
            }
            Self::OverwriteEnd if run.status == RunStatus::Succeeded => {
                changed.status = RunStatus::Failed;
            }
            Self::CountStaleResult if !run.status.is_terminal() => {
                let step = run.step_named(&report.step)?;
                if run.steps[step.position()].status.is_terminal() {
                    return None;
                }
                let result = Arc::new(serde_json::Value::Null);
                let entry = Entry::StepSucceeded { step, result, unset: Vec::new() };
                evolve(&mut changed, &entry, run.updated_at);
                let (version, at) = (changed.version, run.updated_at);
                records.push(Record { version, at, entries: vec![entry] });
            }
            _ => return None,
        }
        Some(Advance {
            credits: Vec::new(),
            events: Vec::new(),
            run: Arc::new(changed),
            from_version: run.version,
            changed: Vec::new(),
            records,
            children: Vec::new(),
            outbox: Vec::new(),
            dead_letter: None,
            expires_at: None,
            tally: None,
            header_changed: false,
        })
    }
}

/// Moves the next attempt of whatever failed to the moment of the failure, in history and state alike.
fn retry_at_once(advance: &mut Advance) {
    let run = Arc::make_mut(&mut advance.run);
    for record in &mut advance.records {
        for entry in &mut record.entries {
            if let Entry::AttemptFailed { step, retry_at, .. } = entry {
                *retry_at = record.at;
                let step = &mut run.steps[step.position()];
                if step.status == StepStatus::RetryWait {
                    step.wake_at = Some(record.at);
                }
            }
        }
    }
}
