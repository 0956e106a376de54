//! What a set of worlds has reached: arrows of the two machines, and rare places.

use std::collections::BTreeSet;

use stepwell_core::batch::{Batch, BatchRecord, BatchStatus, PhaseStatus, evolve_batch};
use stepwell_core::entry::Entry;
use stepwell_core::run::{Run, RunStatus};
use stepwell_core::step::StepStatus;
use stepwell_core::table::{Arrow, BATCH_ARROWS, PHASE_ARROWS, RUN_ARROWS, STEP_ARROWS};

/// The arrows that were taken.
#[derive(Clone, Debug, Default)]
pub struct Arrows {
    steps: BTreeSet<Arrow<StepStatus>>,
    runs: BTreeSet<Arrow<RunStatus>>,
    phases: BTreeSet<Arrow<PhaseStatus>>,
    batches: BTreeSet<Arrow<BatchStatus>>,
}

impl Arrows {
    /// Notes what an entry changed.
    pub(crate) fn note(&mut self, before: (RunStatus, &[StepStatus]), entry: &Entry, after: &Run) {
        let (status, steps) = before;
        let entry = entry.word();
        if status != after.status {
            self.runs.insert(Arrow { from: status, entry, to: after.status });
        }
        for (from, step) in steps.iter().zip(&after.steps) {
            if *from != step.status {
                self.steps.insert(Arrow { from: *from, entry, to: step.status });
            }
        }
    }

    /// Folds what a batch decided, and notes what that changed.
    pub(crate) fn note_batch(&mut self, batch: &mut Batch, record: &BatchRecord) {
        for entry in &record.entries {
            let before = batch.clone();
            evolve_batch(batch, entry, record.at);
            let entry = entry.word();
            if before.status != batch.status {
                self.batches.insert(Arrow { from: before.status, entry, to: batch.status });
            }
            for (from, to) in before.phases.iter().zip(&batch.phases) {
                if from.status != to.status {
                    self.phases.insert(Arrow { from: from.status, entry, to: to.status });
                }
            }
        }
    }

    /// Adds what another world has reached.
    pub fn merge(&mut self, other: &Self) {
        self.steps.extend(&other.steps);
        self.runs.extend(&other.runs);
        self.phases.extend(&other.phases);
        self.batches.extend(&other.batches);
    }

    /// How many arrows of the table of steps were taken, and how many there are.
    #[must_use]
    pub fn steps_covered(&self) -> (usize, usize) {
        covered(STEP_ARROWS, &self.steps)
    }

    /// How many arrows of the table of runs were taken, and how many there are.
    #[must_use]
    pub fn runs_covered(&self) -> (usize, usize) {
        covered(RUN_ARROWS, &self.runs)
    }

    /// How many arrows of the table of phases were taken, and how many there are.
    #[must_use]
    pub fn phases_covered(&self) -> (usize, usize) {
        covered(PHASE_ARROWS, &self.phases)
    }

    /// How many arrows of the table of batches were taken, and how many there are.
    #[must_use]
    pub fn batches_covered(&self) -> (usize, usize) {
        covered(BATCH_ARROWS, &self.batches)
    }

    /// The arrows that were never taken, and those that were taken though nobody drew them.
    #[must_use]
    pub fn differences(&self) -> Vec<String> {
        let mut lines = missing("step", STEP_ARROWS, &self.steps);
        lines.extend(missing("run", RUN_ARROWS, &self.runs));
        lines
    }

    /// The same for phases and batches, which lives of `core::decide` alone do not have.
    #[must_use]
    pub fn batch_differences(&self) -> Vec<String> {
        let mut lines = missing("phase", PHASE_ARROWS, &self.phases);
        lines.extend(missing("batch", BATCH_ARROWS, &self.batches));
        lines
    }
}

fn covered<S: Ord>(table: &[Arrow<S>], taken: &BTreeSet<Arrow<S>>) -> (usize, usize) {
    (table.iter().filter(|arrow| taken.contains(arrow)).count(), table.len())
}

fn missing<S: Copy + Ord + std::fmt::Debug>(
    kind: &str,
    table: &[Arrow<S>],
    taken: &BTreeSet<Arrow<S>>,
) -> Vec<String> {
    let show = |what: &str, arrow: &Arrow<S>| {
        format!("{what}: {kind} {:?} --{}--> {:?}", arrow.from, arrow.entry, arrow.to)
    };
    let never = table.iter().filter(|arrow| !taken.contains(arrow));
    let undrawn = taken.iter().filter(|arrow| !table.contains(arrow));
    never
        .map(|arrow| show("never taken", arrow))
        .chain(undrawn.map(|arrow| show("not drawn", arrow)))
        .collect()
}

macro_rules! probes {
    ($($name:ident = $words:literal,)*) => {
        /// A rare place that a set of worlds must reach, or it was too tame to prove anything.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Probe {
            $(#[doc = $words] $name,)*
        }

        impl Probe {
            /// Every probe.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// What was seen.
            #[must_use]
            pub fn words(self) -> &'static str {
                match self {
                    $(Self::$name => $words,)*
                }
            }
        }
    };
}

probes! {
    StaleAfterEnd = "a report for a step that had ended",
    StaleLease = "a report under a lease that had passed on",
    FencedCommit = "a commit of an instance that had lost the store",
    TakenOver = "runs that were taken over from somebody silent, or nobody",
    HandedOver = "runs that went to where workers waited",
    Forwarded = "something for a run of another instance",
    UnknownThenFound = "a request whose commit was unknown, found by its key",
    UnknownThenAbsent = "a request whose commit was unknown, made anew",
    KeyOfAnother = "another request under a used key",
    TenantFull = "a tenant with no room",
    SecondDirective = "a directive delivered more than once",
    AnswerToAnother = "a directive of one instance, answered to another",
    DeadLettered = "a directive that the bus gave up",
    RetriesExhausted = "a step that used all its attempts",
    Undone = "a compensation that ended",
    StaleWrite = "a write from a version that had passed",
    GroupTakenApart = "a group that could not be stored as a whole",
    CarriedOn = "an ended run taken up again",
    OldVersion = "a run of a version that is no longer the newest",
    CancelledUnderWay = "a run canceled while a worker was at it",
    PollGivenUp = "polling that took too long",
    LateJoiner = "members that joined a batch under way",
    MemberLeft = "something done for a member that left",
    MemberTakenUp = "a member taken up again, or led on by a newer version",
    StartMoved = "a batch whose T-0 was moved",
    VersionFollowed = "a batch that followed a newer version",
    WentOn = "a worker that went on with the step that came with the answer",
    NextFound = "a worker that was told nothing, and found what to go on with",
    AttemptLost = "a worker that learned from a sign of life that its attempt was over",
    LeaseRanOut = "an attempt of a job that ended because its worker was silent",
    OutOfTime = "an attempt of a job that ended because a step took longer than it may",
    NobodyTookIt = "a message of a job that nobody took in time",
    CreditsShort = "a job that its account did not cover",
    Overspent = "a job that cost more than was set aside",
    Restored = "a job that gave back what it had spent",
    Folded = "lines of a ledger that became one",
    Fired = "a job that a trigger made",
    PassedOver = "firings that were passed over, and noted",
}
