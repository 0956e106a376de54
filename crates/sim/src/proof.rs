//! The simulator proves itself: every planted bug is found, soon, and by a rule that names it.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::bugs::Bug;
use crate::oracle::Violation;
use crate::oracle::rules::{
    ACCEPTED_EXISTS, APPLIED_IS_STORED, BATCH_RESTS, BOOKED_ONCE, BOOKS_BALANCE, COUNTERS_ADD_UP,
    COVERED_FIRST, DOORS_OPEN, END_TOLD_ONCE, EPOCH_FENCES, EVERY_RUN_ENDS, FIRES_ONCE,
    KEPT_BY_ITS_OWN, LADDER_HOLDS, LEASE_WHILE_UNDER_WAY, LEASES_NEVER_REUSED, LIVE_LEASE_COUNTS,
    LIVING_KEEP_THEIRS, LOG_FOLLOWED, NEVER_EARLY, NO_INPUT_LEFT, NOTHING_FORGOTTEN, ONE_MESSAGE,
    ONE_PASS, ONE_RUN_A_KEY, OWNER_ALONE_WRITES, PHASE_OVER, PUBLISHED_WAS_COMMITTED, REMOVAL_ONCE,
    REPLAY_REBUILDS, REST_BETWEEN_TRIES, RESULT_WAS_MADE, Rule, SETTLED_AT_END,
    STALE_CHANGES_NOTHING, TENANT_CAP_HOLDS, TENANTS_APART, TERMINAL_STAYS, TIME_OF_STEP_HOLDS,
    VERSION_STAYS, WHOLE_DECISIONS,
};
use crate::plan::Options;
use crate::world::run;

/// Worlds in which a bug must show.
pub const WORLDS_MAX: u64 = 200;

/// How a bug was found.
#[derive(Clone, Debug)]
pub struct Proof {
    /// which bug
    pub bug: Bug,
    /// the first world in which it showed, and the rule that it broke there
    pub found: Option<(Options, Violation)>,
}

impl Proof {
    /// It was found, and by a rule that names it.
    #[must_use]
    pub fn holds(&self) -> bool {
        let rule = self.found.as_ref().map(|(_, violation)| violation.rule);
        rule.is_some_and(|rule| rules(self.bug).contains(&rule))
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = self.bug.word();
        let Some((options, violation)) = &self.found else {
            return write!(f, "{word}: NOT FOUND in {WORLDS_MAX} worlds");
        };
        let surprise = if self.holds() { "" } else { ", which does NOT name it" };
        writeln!(f, "{word}: world {} broke {violation}{surprise}", options.seed)?;
        write!(f, "    see it: {}", options.command())
    }
}

/// Plants a bug, and lives through worlds from seed 1 on until it shows.
#[must_use]
pub fn prove(bug: Bug) -> Proof {
    let found = (1..=WORLDS_MAX).find_map(|seed| {
        let options = Options { bug: Some(bug), ..Options::of(seed) };
        let violation = run(&options).violation?;
        Some((options, violation))
    });
    Proof { bug, found }
}

/// Plants every bug, each in worlds of its own, on every core.
///
/// # Panics
/// When a thread panics outside of a world.
#[must_use]
pub fn prove_all() -> Vec<Proof> {
    let next = AtomicUsize::new(0);
    let prove_some = || {
        let mut proofs = Vec::new();
        while let Some(bug) = Bug::ALL.get(next.fetch_add(1, Ordering::Relaxed)) {
            proofs.push(prove(*bug));
        }
        proofs
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let mut proofs: Vec<Proof> = thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(prove_some)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no thread panics")).collect()
    });
    proofs.sort_by_key(|proof| proof.bug);
    proofs
}

/// The rules that a bug breaks first; several where it depends on the world.
fn rules(bug: Bug) -> &'static [Rule] {
    match bug {
        Bug::SkipLeaseCheck => &[RESULT_WAS_MADE, BOOKED_ONCE, KEPT_BY_ITS_OWN],
        Bug::PublishBeforeCommit => &[PUBLISHED_WAS_COMMITTED],
        Bug::ForgetTimers => &[EVERY_RUN_ENDS],
        Bug::CountStaleResult => &[LIVE_LEASE_COUNTS, STALE_CHANGES_NOTHING, RESULT_WAS_MADE],
        Bug::IgnoreEpoch => &[EPOCH_FENCES, OWNER_ALONE_WRITES, LIVING_KEEP_THEIRS],
        Bug::IgnoreOwner => &[OWNER_ALONE_WRITES],
        Bug::HastyTakeover => &[LIVING_KEEP_THEIRS],
        Bug::ForgetInputs => &[NO_INPUT_LEFT],
        Bug::HastyClock => &[NEVER_EARLY],
        Bug::RetryAtOnce => &[REST_BETWEEN_TRIES],
        Bug::DropOutbox => &[EVERY_RUN_ENDS, NOTHING_FORGOTTEN],
        Bug::LoseKey => &[ONE_RUN_A_KEY],
        Bug::CancelRevives | Bug::OverwriteEnd => &[STALE_CHANGES_NOTHING, TERMINAL_STAYS],
        Bug::CounterNotMoved | Bug::IgnoreCap => &[TENANT_CAP_HOLDS],
        Bug::HistoryMissing | Bug::LoseCompensation => &[WHOLE_DECISIONS],
        Bug::HalfGroup => &[WHOLE_DECISIONS, STALE_CHANGES_NOTHING],
        Bug::AnswerBeforeCommit => &[ACCEPTED_EXISTS, APPLIED_IS_STORED, PUBLISHED_WAS_COMMITTED],
        Bug::RepeatIds => &[LEASES_NEVER_REUSED],
        Bug::TenantFilterMissing => &[TENANTS_APART],
        Bug::StepNotWritten => &[LEASE_WHILE_UNDER_WAY, REPLAY_REBUILDS],
        Bug::MoveVersion => &[VERSION_STAYS],
        Bug::TallyNotMoved => &[COUNTERS_ADD_UP],
        Bug::SweepForgotten | Bug::SkipMember => &[BATCH_RESTS, DOORS_OPEN],
        Bug::RemoveTwice => &[REMOVAL_ONCE],
        Bug::PhaseEndsEarly => &[PHASE_OVER],
        Bug::ShareLease => &[ONE_PASS],
        Bug::ForgetRelease | Bug::ChargeTheFree | Bug::DropOldLines => &[BOOKS_BALANCE],
        Bug::SpendTwice => &[BOOKED_ONCE],
        Bug::RestoreAlways => &[SETTLED_AT_END],
        Bug::IgnoreBalance => &[COVERED_FIRST],
        Bug::ForgetEvent | Bug::TellTwice => &[END_TOLD_ONCE],
        Bug::SkipEvent => &[LOG_FOLLOWED],
        Bug::PublishNext => &[ONE_MESSAGE],
        Bug::KeepAnybody => &[KEPT_BY_ITS_OWN],
        Bug::KeepTooLong => &[TIME_OF_STEP_HOLDS],
        Bug::ForgetAskedRest => &[REST_BETWEEN_TRIES],
        Bug::UncountedAttempt | Bug::HastyLadder => &[LADDER_HOLDS],
        Bug::FireWithoutKey => &[FIRES_ONCE, ONE_RUN_A_KEY],
        Bug::IgnoreCatchUp | Bug::LoseFiring => &[FIRES_ONCE],
    }
}
