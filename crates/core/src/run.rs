//! One durable execution of a graph of steps.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::credit::CreditState;
use crate::definition::{CancelMode, Part, StepSpec, Workflow};
use crate::expansion::Expansion;
use crate::id::{BatchId, MemberId, RunId, RunNumber, StepIndex, Tenant};
use crate::lane::Lane;
use crate::step::{SkipReason, Step, StepError, StepStatus};
use crate::steps::Steps;
use crate::terms::Terms;
use crate::time::Timestamp;

/// Where a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// it exists; nothing was decided yet
    Created,
    /// it may go; no attempt was recorded yet, or, where one worker keeps an attempt, none has taken
    /// its message yet
    Ready,
    /// at least one attempt was recorded, or taken where one worker keeps it
    Running,
    /// an attempt of the whole run failed; the next one waits for its time
    RetryWait,
    /// nothing new starts; what is under way may end
    Cancelling,
    /// every step ended well
    Succeeded,
    /// a step failed for good
    Failed,
    /// it was stopped
    Cancelled,
}

impl RunStatus {
    /// Every status, in the order of a run's life.
    pub const ALL: [Self; 8] = [
        Self::Created,
        Self::Ready,
        Self::Running,
        Self::RetryWait,
        Self::Cancelling,
        Self::Succeeded,
        Self::Failed,
        Self::Cancelled,
    ];

    /// Nothing changes it any more.
    #[must_use]
    pub fn is_terminal(self) -> bool {
        match self {
            Self::Succeeded | Self::Failed | Self::Cancelled => true,
            Self::Created | Self::Ready | Self::Running | Self::RetryWait | Self::Cancelling => {
                false
            }
        }
    }

    /// The word stored and shown.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Ready => "ready",
            Self::Running => "running",
            Self::RetryWait => "retry_wait",
            Self::Cancelling => "cancelling",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// The status of a stored word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.word() == word)
    }
}

/// Which of the four ways of speaking a run was asked for in, and is shown in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// batches of members on a timeline
    Runbooks,
    /// DAG jobs
    Platform,
    /// jobs with attempts and credits
    Workspaces,
    /// the multi-tenant command API
    Commands,
}

impl Dialect {
    /// The word stored and shown.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Runbooks => "runbooks",
            Self::Platform => "platform",
            Self::Workspaces => "workspaces",
            Self::Commands => "commands",
        }
    }

    /// The dialect of a stored word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        [Self::Runbooks, Self::Platform, Self::Workspaces, Self::Commands]
            .into_iter()
            .find(|dialect| dialect.word() == word)
    }
}

/// What a run was asked to do. Nothing of it changes, but for a member of a batch: its source may
/// refresh what it was given, and a newer version of its runbook may make its workflow longer.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// its id
    pub id: RunId,
    /// whom it belongs to
    pub tenant: Tenant,
    /// how it was asked for
    pub dialect: Dialect,
    /// the version it follows; another one only if it begins with the same steps
    pub workflow: Arc<Workflow>,
    /// which sequence of it
    pub part: Part,
    /// the run and step it undoes
    pub parent: Option<Parent>,
    /// the ended run whose finished steps it took over
    pub resumes: Option<RunId>,
    /// what it was given, as last refreshed; its fields are template variables
    pub input: Map<String, Value>,
    /// template variables whose names begin with `_`, as last refreshed
    pub special: Map<String, Value>,
    /// what only its dialect understands, kept for its messages and views
    pub context: Map<String, Value>,
    /// the road its directives take, with the key that chose it (D-024)
    pub routing: Option<Routing>,
    /// 0 … 10, higher goes first
    pub priority: u8,
    /// ties it to what its requester knows
    pub correlation_id: Option<String>,
    /// W3C trace context
    pub traceparent: Option<String>,
    /// who asked for it
    pub actor: String,
    /// when
    pub created_at: Timestamp,
    /// the batch it belongs to, and what it does there
    pub membership: Option<Membership>,
    /// what it was granted beyond its workflow
    pub terms: Option<Arc<Terms>>,
}

/// The batch that a run belongs to, and what it does there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Membership {
    /// which batch
    pub batch: BatchId,
    /// for which member; `None`: for the batch as a whole
    pub member: Option<MemberId>,
    /// what it does
    pub role: BatchRole,
    /// its name on wires that have room for numbers only; a rollback has the number of the run it undoes
    pub number: RunNumber,
}

/// What a run does in its batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BatchRole {
    /// it prepares the batch, once
    Init,
    /// it takes a member through its phases
    Member,
    /// it undoes what was done for a member that left
    Removal,
}

impl BatchRole {
    /// The word stored and shown.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Init => "init",
            Self::Member => "member",
            Self::Removal => "removal",
        }
    }
}

/// The run and step that a compensation undoes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    /// the failed run
    pub run: RunId,
    /// its failed step
    pub step: StepIndex,
}

/// A lane and the key that chose it. Neither ever changes for a run (D-024).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Routing {
    /// 0 … 15
    pub lane: Lane,
    /// what was hashed; never an identity, because it is ambiguous
    pub key: String,
}

/// One durable execution of a graph of steps: the whole state that decisions are made from.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// what it was asked to do; the same allocation for as long as nothing of it changes
    pub header: Arc<Header>,
    /// decisions so far
    pub version: u64,
    /// where it stands
    pub status: RunStatus,
    /// the number of the newest attempt of the whole run, counted from 1; of a run that is being stopped
    /// or has ended, how many have begun
    pub attempt: u32,
    /// nothing new is dispatched
    pub paused: bool,
    /// how it is being stopped
    pub cancel: Option<CancelMode>,
    /// the gates that are open
    pub gates_open: BTreeSet<String>,
    /// one for each step of its part, in the same order, and behind them the items of those that
    /// were expanded
    pub steps: Steps,
    /// the steps that were expanded, in the order in which it happened
    pub expansions: Vec<Expansion>,
    /// variables that results have set
    pub outputs: Arc<Map<String, Value>>,
    /// when the next attempt of the whole run begins
    pub retry_at: Option<Timestamp>,
    /// what it has set aside and spent
    pub credits: Option<CreditState>,
    /// why it failed
    pub error: Option<Arc<StepError>>,
    /// when it last changed
    pub updated_at: Timestamp,
    /// the first recorded attempt; where one worker keeps an attempt, when the first was taken
    pub started_at: Option<Timestamp>,
    /// when it ended
    pub ended_at: Option<Timestamp>,
}

impl Run {
    /// A run before its first decision.
    #[must_use]
    pub fn new(header: Arc<Header>) -> Self {
        let steps = Steps::waiting(header.specs().len());
        let created_at = header.created_at;
        Self {
            header,
            version: 0,
            status: RunStatus::Created,
            attempt: 1,
            paused: false,
            cancel: None,
            gates_open: BTreeSet::new(),
            steps,
            expansions: Vec::new(),
            outputs: Arc::default(),
            retry_at: None,
            credits: None,
            error: None,
            updated_at: created_at,
            started_at: None,
            ended_at: None,
        }
    }

    /// Attempts of the whole run that have begun; where one worker keeps an attempt, that a worker has
    /// taken (C-009, X-117).
    #[must_use]
    pub fn attempts_begun(&self) -> u32 {
        match self.status {
            RunStatus::Created | RunStatus::Ready => self.attempt.saturating_sub(1),
            RunStatus::Running
            | RunStatus::RetryWait
            | RunStatus::Cancelling
            | RunStatus::Succeeded
            | RunStatus::Failed
            | RunStatus::Cancelled => self.attempt,
        }
    }

    /// What a compensation may refer to: the input, and over it what the steps have set so far.
    #[must_use]
    pub fn input_and_outputs(&self) -> Map<String, Value> {
        let mut input = self.header.input.clone();
        input.extend(self.outputs.iter().map(|(name, value)| (name.clone(), value.clone())));
        input
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> RunId {
        self.header.id
    }

    /// Leaves out what no decision asks for any more: what ended steps were given and what they
    /// returned. A run whose steps have items keeps them, because their step gathers their results.
    pub fn leave_out_ended(&mut self) {
        if self.expansions.is_empty() {
            self.steps.leave_out_ended();
        }
    }

    /// It is one of the many of a batch, which are kept in memory without what nobody asks for.
    #[must_use]
    pub fn is_one_of_many(&self) -> bool {
        self.header.membership.is_some()
    }

    /// When something must happen even if nobody calls: the earliest of its steps' moments and its own.
    #[must_use]
    pub fn wake_at(&self) -> Option<Timestamp> {
        self.steps.wake_at().into_iter().chain(self.retry_at).min()
    }

    /// The steps that must let `step` pass before it may start.
    ///
    /// A person, an earlier run or a newer version may have settled a step before its turn. Such a
    /// step holds nobody back, but what stands before it still does: skipping the second of three steps does
    /// not let the third overtake the first.
    #[must_use]
    pub fn standing_before(&self, step: StepIndex) -> Cow<'_, [StepIndex]> {
        let settled_early = |step: &StepIndex| {
            let step = &self.steps[step.position()];
            let by_somebody =
                matches!(step.skip, Some(SkipReason::Operator | SkipReason::Superseded));
            (step.status == StepStatus::Succeeded || by_somebody) && step.attempt == 0
        };
        let direct = &self.spec(step).after;
        if !direct.iter().any(settled_early) {
            return Cow::Borrowed(direct);
        }
        let mut found = BTreeSet::new();
        let mut to_visit = direct.clone();
        while let Some(before) = to_visit.pop() {
            if found.insert(before) && settled_early(&before) {
                to_visit.extend(&self.spec(before).after);
            }
        }
        Cow::Owned(found.into_iter().collect())
    }

    /// Indices of its steps with the steps, items included.
    pub fn indexed(&self) -> impl Iterator<Item = (StepIndex, &Step)> {
        self.steps.iter().enumerate().map(|(position, step)| (StepIndex::at(position), step))
    }

    /// The step that people would call the current one: the first under way, else the first that
    /// has not ended, else the last that has. Never an item: its step speaks for it.
    #[must_use]
    pub fn current_step(&self) -> Option<StepIndex> {
        let rank = |step: &Step| match step.status {
            StepStatus::Dispatched
            | StepStatus::Acked
            | StepStatus::Polling
            | StepStatus::Expanded => 0,
            StepStatus::Ready | StepStatus::RetryWait => 1,
            StepStatus::Waiting => 2,
            StepStatus::Failed | StepStatus::TimedOut => 3,
            StepStatus::Succeeded => 4,
            StepStatus::Cancelled | StepStatus::Skipped => 5,
        };
        self.own_steps()
            .min_by_key(|(index, step)| {
                let rank = rank(step);
                // Among steps that succeeded the last one is the current one, else the first.
                (rank, if rank == 4 { u16::MAX - index.0 } else { index.0 })
            })
            .map(|(index, _)| index)
    }
}

impl Header {
    /// The definitions of its own steps. What a step or an item of a run follows, the run knows: see
    /// [`Run::spec`].
    #[must_use]
    pub fn specs(&self) -> &[StepSpec] {
        self.workflow.specs(&self.part)
    }
}
