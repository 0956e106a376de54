//! The rules that hold in every world, in words.

use std::fmt;

/// One rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rule {
    /// its number
    pub id: &'static str,
    /// what it says
    pub words: &'static str,
}

/// A rule that was broken, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// which
    pub rule: Rule,
    /// what was seen instead
    pub detail: String,
}

impl Rule {
    /// The rule was broken, like this.
    pub(crate) fn broken(self, detail: impl Into<String>) -> Violation {
        Violation { rule: self, detail: detail.into() }
    }

    /// Broken unless `holds`.
    pub(crate) fn check(
        self,
        holds: bool,
        detail: impl FnOnce() -> String,
    ) -> Result<(), Violation> {
        if holds { Ok(()) } else { Err(self.broken(detail())) }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; but {}", self.rule.id, self.rule.words, self.detail)
    }
}

macro_rules! rules {
    ($($name:ident = $id:literal, $words:literal;)*) => {
        $(#[doc = $words] pub const $name: Rule = Rule { id: $id, words: $words };)*

        /// Every rule.
        pub const ALL: &[Rule] = &[$($name,)*];
    };
}

rules! {
    ACCEPTED_EXISTS = "I01", "whatever was answered as accepted is in the store, with its tenant";
    APPLIED_IS_STORED = "I01b", "whatever was answered as applied is in the store";
    ONE_RUN_A_KEY = "I02", "one key of a tenant names one run, and never two requests";
    WHOLE_DECISIONS = "I03", "a decision is stored whole: state, history, children and dead letter";
    PUBLISHED_WAS_COMMITTED = "I06", "nothing is on the bus that was not committed before";
    ONE_LEASE_A_MESSAGE = "I07", "every copy of a message carries the same lease";
    EPOCHS_GROW = "I08", "every take-over raises the epoch by one";
    EPOCH_FENCES = "I09", "only the newest epoch writes a store that is not shared";
    OWNER_ALONE_WRITES = "I10", "only its owner writes a run, or whoever first writes a run of nobody";
    LIVING_KEEP_THEIRS = "I11", "nobody who gives signs of life in time loses a run";
    ONE_LIVE_LEASE = "I13", "a step has at most one live lease";
    ATTEMPTS_GAPLESS = "I14", "attempts of a step are counted 1, 2, 3 without gap or repetition";
    LEASES_NEVER_REUSED = "I14b", "no lease is ever given twice";
    TRIES_BOUNDED = "I15", "no step is tried more often than its policy says";
    LEASE_WHILE_UNDER_WAY = "I16", "a lease exists exactly while an attempt is under way";
    LIVE_LEASE_COUNTS = "I17", "only the attempt under way is answered, and only once";
    STALE_CHANGES_NOTHING = "I18", "a stale report is recorded once and changes nothing";
    RESULT_WAS_MADE = "I19", "every applied result was made by a worker for that very lease";
    TIMED_OUT_WAS_LIVE = "I20", "only a live attempt times out, and it ends only once";
    TERMINAL_STAYS = "I21", "what has ended never changes";
    ORDER_OF_STEPS = "I22", "a step starts only when its gate is open and all before it let it pass";
    ITEMS_MAKE_THE_STEP = "I23", "a step with a list is done by its items, within its limits, and ends as they do";
    OUTCOME_AS_MODELED = "I24", "a run ends exactly when its steps have, and as they say";
    OPEN_RUNS_COUNTED = "I25", "the number of open runs is the count of open runs";
    CANCEL_STARTS_NOTHING = "I26", "after a cancel no attempt begins";
    PAUSE_STARTS_NOTHING = "I26b", "while a run is paused no attempt begins";
    TENANT_CAP_HOLDS = "I30", "a tenant has no more open runs than it may, and is refused only then";
    NEVER_EARLY = "I32", "nothing happens before its moment";
    MOMENTS_IN_RANGE = "I34", "moments are between 2000 and 2200, and no history runs backwards";
    UNDO_ONCE = "I35", "only a step that failed is undone, once, and only if it says how";
    REPLAY_REBUILDS = "I38", "the fold of the history is the stored state";
    VERSION_STAYS = "I39", "a run follows one version of its workflow to its end";
    TENANTS_APART = "I40", "a list of one tenant's runs shows no other tenant's";
    NO_MARKER_LEFT = "I41", "what a worker is given has no placeholder left in it";
    SAME_SEED_SAME_WORLD = "I43", "the same seed gives the same events";
    REST_BETWEEN_TRIES = "I44", "between two tries lies at least the rest that the policy, or the worker, asks for";
    DUE_ROW = "I45", "whatever waits for a moment is found by that moment";
    KERNEL_SOUND = "I46", "the kernel's own invariants hold after every decision";
    PHASE_FIRST = "B01", "a step of a member begins only when its phase has begun";
    PHASE_IN_TIME = "B02", "a phase begins no earlier than its moment, unless a person says so";
    DONE_ONCE = "B03", "no step succeeds twice for a member";
    PHASE_OVER = "B04", "a phase is over only when no member is in it";
    BATCH_STAYS_ENDED = "B05", "a batch or a phase that has ended never changes its status";
    COUNTERS_ADD_UP = "B06", "the counters of a batch are the count of its members' runs";
    LEFT_THE_SOURCE = "B07", "the scheduler removes only whom an answer with rows lacked";
    REMOVAL_ONCE = "B08", "what is done for a member that left is done once";
    ONE_PASS = "B09", "one instance at a time passes over a runbook";
    BATCH_RESTS = "B10", "when faults end, every batch ends, or waits for a person whom it names";
    DOORS_OPEN = "B11", "when faults end, what has begun for a batch has begun for every member";
    BOOKS_BALANCE = "W01", "an account is the sum of its ledger, and of what its jobs hold and have spent";
    NOT_DONE_AGAIN = "W02", "a step of a job that was done is not given out again";
    LADDER_HOLDS = "W03", "every attempt of a job counts, there are no more than granted, and each rests first";
    END_TOLD_ONCE = "W04", "the end of a job is told exactly once, and not before";
    ONE_MESSAGE = "W05", "whoever reports a step goes on with the next of its pool, and no message tells others of it";
    SETTLED_AT_END = "W06", "a job that has ended holds nothing back, and gives back what was agreed, no more";
    FIRES_ONCE = "W07", "a firing makes one run, and every due firing has one or says why not";
    LOG_FOLLOWED = "W08", "places of events only grow, and who goes on from where they stopped sees each once";
    COVERED_FIRST = "W09", "no job is let in whose account does not cover it, and none refused that it covers";
    BOOKED_ONCE = "W10", "what a worker spends on an attempt is booked once, and nothing else is";
    KEPT_BY_ITS_OWN = "W11", "a lease is extended only by a word of whoever has it";
    TIME_OF_STEP_HOLDS = "W12", "nobody keeps a step of a job longer than it may take, whatever signs of life come";
    EVERY_RUN_ENDS = "L1", "when faults end, every run that is not held ends in bounded time";
    NOTHING_FORGOTTEN = "L2", "when faults end, nothing waits for its timeout to be sent again";
    NO_STORM = "L8", "when faults end, the work that is left takes a bounded number of commits";
    BUS_EMPTIES = "L9", "when all runs have ended or are held, the bus is empty";
    NO_SPIN = "L10", "no instance asks its store and its bus without a rest";
    WORLD_ENDS = "L11", "every world comes to its end";
    NO_INPUT_LEFT = "L12", "when faults end, whatever was stored for an owner is decided";
    NO_PANIC = "P1", "nothing panics";
}
