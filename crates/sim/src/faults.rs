//! Everything that can go wrong in a world, by name, and how often it did.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::chance::Chance;

macro_rules! kinds {
    ($($(#[doc = $doc:literal])* $name:ident = $word:literal,)*) => {
        /// One way in which something goes wrong.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Kind {
            $($(#[doc = $doc])* $name,)*
        }

        impl Kind {
            /// Every kind.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The word of the command line and of the report.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$name => $word,)*
                }
            }
        }
    };
}

kinds! {
    /// a commit does not happen, and the caller is told so
    CommitLost = "commit-lost",
    /// a commit happens, and the caller is told that it did not
    CommitUnknown = "commit-unknown",
    /// a commit takes seconds
    CommitSlow = "commit-slow",
    /// a group cannot be stored as a whole
    CommitBroken = "commit-broken",
    /// an instance dies just before a commit
    CrashBeforeCommit = "crash-before-commit",
    /// an instance dies just after a commit, before anything follows from it
    CrashAfterCommit = "crash-after-commit",
    /// a read fails
    ReadFailed = "read-failed",
    /// the store cannot be taken over yet
    OpenFailed = "open-failed",
    /// the store is away for up to a minute
    StoreAway = "store-away",
    /// a word from one instance to another is lost
    SignalLost = "signal-lost",
    /// a sign of life does not arrive
    HeartbeatLost = "heartbeat-lost",
    /// the bus is away for up to a minute
    BusAway = "bus-away",
    /// the bus accepts a message and forgets it
    PublishLost = "publish-lost",
    /// the bus is away when a message is published
    PublishRefused = "publish-refused",
    /// a message is published twice
    PublishDoubled = "publish-doubled",
    /// a message arrives long after it was published
    PublishDelayed = "publish-delayed",
    /// the messages of a batch arrive in another order
    PublishReordered = "publish-reordered",
    /// a message arrives as garbage
    Poison = "poison",
    /// the bus is away when a worker asks
    ReceiveFailed = "receive-failed",
    /// messages were taken for a worker that never saw them
    DeliveryLost = "delivery-lost",
    /// a worker is handed the same message twice
    DeliveryDoubled = "delivery-doubled",
    /// a lock ends long before it should
    EarlyExpiry = "early-expiry",
    /// a settlement never arrives
    SettleLost = "settle-lost",
    /// a withdrawal never arrives
    WithdrawLost = "withdraw-lost",
    /// dead letters cannot be read
    ExhaustedFailed = "exhausted-failed",
    /// a worker takes minutes
    WorkerSlow = "worker-slow",
    /// a worker takes a directive and is never heard of again
    WorkerSilent = "worker-silent",
    /// a worker does the work and dies before it reports
    WorkerCrash = "worker-crash",
    /// a worker reports twice
    AnswerTwice = "answer-twice",
    /// a worker reports long after its attempt is over
    AnswerLate = "answer-late",
    /// a worker names another attempt
    WrongAttempt = "wrong-attempt",
    /// a worker names another lease
    WrongLease = "wrong-lease",
    /// a worker answers for a directive that nobody gave it
    NeverDelivered = "never-delivered",
    /// a worker answers "not finished yet"
    Unfinished = "unfinished",
    /// a worker's result lacks what later steps need
    OutputMissing = "output-missing",
    /// an attempt fails, and another may help
    FailRetryable = "fail-retryable",
    /// an attempt fails for good
    FailFinal = "fail-final",
    /// a worker gives a directive back
    Nack = "nack",
    /// a worker asks for more time
    Extend = "extend",
    /// an answer of the engine never reaches the caller
    AnswerLost = "answer-lost",
    /// a client repeats a request under the same key
    KeyRepeated = "key-repeated",
    /// a client sends another request under the same key
    KeyReused = "key-reused",
    /// an instance is killed, and another is started on the same store
    InstanceCrash = "instance-crash",
    /// an instance stands still while another takes over, then goes on
    InstancePause = "instance-pause",
    /// an instance's clock is wrong by minutes
    ClockSkew = "clock-skew",
    /// somebody cancels a run
    OperatorCancel = "operator-cancel",
    /// somebody retries a step
    OperatorRetry = "operator-retry",
    /// somebody skips a step
    OperatorSkip = "operator-skip",
    /// somebody marks a step as done
    OperatorMark = "operator-mark",
    /// somebody pauses a run, and resumes it later
    OperatorPause = "operator-pause",
    /// somebody opens a gate, or one that does not exist
    OperatorGate = "operator-gate",
    /// somebody takes an ended run up again
    OperatorResume = "operator-resume",
    /// a new version of a workflow is published while its runs are under way
    NewVersion = "new-version",
    /// the source of a runbook does not answer
    SourceFailed = "source-failed",
    /// the source of a runbook answers with no rows
    SourceEmpty = "source-empty",
    /// the source of a runbook takes minutes
    SourceSlow = "source-slow",
    /// rows join, leave, change or move to another moment
    RowsChange = "rows-change",
    /// a new version of a runbook is published while its batches are under way
    NewRunbook = "new-runbook",
    /// somebody moves a manual batch on, too early or in time
    BatchAdvance = "batch-advance",
    /// somebody pauses a batch, and resumes it later
    BatchPause = "batch-pause",
    /// somebody moves T-0
    BatchMove = "batch-move",
    /// somebody stops a batch
    BatchCancel = "batch-cancel",
    /// somebody retries, skips, marks, undoes, stops or removes members by filter
    BatchOrder = "batch-order",
    /// somebody adds members to a batch by hand, or takes one out
    MembersByHand = "members-by-hand",
    /// a worker's sign of life does not arrive
    SignLost = "sign-lost",
    /// a worker's sign of life arrives when it is no longer at that step
    SignLate = "sign-late",
    /// a worker never learns what it could go on with
    NextLost = "next-lost",
    /// somebody changes when and how a trigger fires
    TriggerChanged = "trigger-changed",
    /// somebody switches a trigger off or on
    TriggerSwitched = "trigger-switched",
    /// whoever fires a trigger asks again for the same firing
    HookRepeated = "hook-repeated",
}

impl Kind {
    /// The kind of a word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.word() == word)
    }

    /// How often it strikes where it is switched on, at most, in a thousand opportunities.
    pub(crate) fn rate_max(self) -> u32 {
        match self {
            Self::CrashBeforeCommit | Self::CrashAfterCommit => 30,
            Self::StoreAway | Self::BusAway => 20,
            Self::CommitBroken | Self::OperatorResume | Self::Poison => 60,
            Self::CommitLost | Self::CommitUnknown | Self::CommitSlow | Self::ReadFailed => 120,
            Self::ExhaustedFailed | Self::NewVersion | Self::OperatorCancel => 150,
            Self::InstanceCrash | Self::InstancePause | Self::ClockSkew | Self::OpenFailed => 500,
            Self::Extend | Self::OperatorGate | Self::OperatorPause | Self::Unfinished => 400,
            Self::RowsChange | Self::BatchAdvance | Self::HookRepeated => 700,
            Self::BatchCancel => 30,
            Self::NewRunbook => 100,
            Self::WorkerSilent | Self::WorkerCrash | Self::FailFinal => 120,
            _ => 250,
        }
    }
}

/// Decides when a fault strikes, and counts.
#[derive(Debug)]
pub struct Faults {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    quiet: bool,
    left: u64,
    streams: BTreeMap<Kind, Stream>,
    counts: BTreeMap<Kind, u64>,
}

#[derive(Debug)]
struct Stream {
    rate: u32,
    chance: Chance,
}

impl Faults {
    /// Faults at these rates (in a thousand opportunities), no more than `max` in all.
    #[must_use]
    pub fn new(seed: u64, rates: &BTreeMap<Kind, u32>, max: u64) -> Self {
        let stream = |(kind, rate): (&Kind, &u32)| {
            (*kind, Stream { rate: *rate, chance: Chance::of(seed, kind.word()) })
        };
        let streams = rates.iter().map(stream).collect();
        let state = State { quiet: false, left: max, streams, counts: BTreeMap::new() };
        Self { state: Mutex::new(state) }
    }

    /// Whether this fault strikes now.
    pub fn strikes(&self, kind: Kind) -> bool {
        let mut state = self.state();
        let quiet = state.quiet || state.left == 0;
        let Some(stream) = state.streams.get_mut(&kind) else { return false };
        if !stream.chance.permille(stream.rate) || quiet {
            return false;
        }
        state.left -= 1;
        *state.counts.entry(kind).or_default() += 1;
        true
    }

    /// From here on nothing goes wrong.
    pub fn end(&self) {
        self.state().quiet = true;
    }

    /// Nothing goes wrong any more.
    pub fn have_ended(&self) -> bool {
        self.state().quiet
    }

    /// How often each struck.
    pub fn counts(&self) -> BTreeMap<Kind, u64> {
        self.state().counts.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
