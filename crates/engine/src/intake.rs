//! Station 7, result: ack, outcome, callback, due timer or request → something to decide, in a bounded queue.
//!
//! The queue is the engine's only door. When it is full the caller is told to come back later;
//! nothing grows with the backlog.

use std::sync::Arc;

use stepwell_core::command::{Carried, Command};
use stepwell_core::id::RunId;
use stepwell_core::run::{Header, Run};
use stepwell_core::time::Timestamp;
use stepwell_store::Key;
use tokio::sync::{mpsc, oneshot};

use crate::error::EngineError;
use crate::inputs::Inbound;

/// One thing to decide.
#[derive(Clone, Debug)]
pub enum Ask {
    /// create and start a run
    Start(Box<Start>),
    /// a command for a run
    Command {
        /// which
        run: RunId,
        /// what
        command: Command,
        /// only if the run is still at this version
        at_version: Option<u64>,
    },
    /// something that another instance has stored for a run of ours
    Input(Box<Inbound>),
    /// a run cannot be decided now: do not wake it before
    PutOff {
        /// which
        run: RunId,
        /// the moment
        until: Timestamp,
    },
}

impl Ask {
    /// A command for a run.
    #[must_use]
    pub fn command(run: RunId, command: Command) -> Self {
        Self::Command { run, command, at_version: None }
    }

    /// A worker says something of an attempt.
    pub(crate) fn is_report(&self) -> bool {
        matches!(self, Self::Command { command: Command::Ack { .. } | Command::Report { .. }, .. })
    }

    /// The run that must be loaded first.
    pub(crate) fn run(&self) -> Option<RunId> {
        match self {
            Self::Start(_) => None,
            Self::Command { run, .. } | Self::PutOff { run, .. } => Some(*run),
            Self::Input(inbound) => Some(inbound.input.run),
        }
    }
}

/// A run to be created and started.
#[derive(Clone, Debug)]
pub struct Start {
    /// the run
    pub header: Arc<Header>,
    /// what an earlier run has finished
    pub carried: Vec<Carried>,
    /// the key that must be new
    pub key: Option<Key>,
    /// open runs the tenant may have, this one included
    pub tenant_cap: Option<u32>,
}

/// What was committed.
#[derive(Clone, Debug)]
pub enum Reply {
    /// the run was created
    Started(Arc<Run>),
    /// the same request had already created this run
    Repeated(RunId),
    /// the command was followed, or had been before; the run as it is now
    Applied(Arc<Run>),
    /// the command is stored, and the run's owner will decide it; the run as it is until then
    Stored(Arc<Run>),
}

/// An answer, after the commit.
pub type Answered = Result<Reply, EngineError>;

/// Asks that are answered together.
pub(crate) struct Batch {
    pub(crate) asks: Vec<Ask>,
    pub(crate) reply: oneshot::Sender<Vec<Answered>>,
}

/// Asks of one part, where much is asked.
const PART: usize = 512;

/// The engine's door.
#[derive(Clone)]
pub(crate) struct Intake {
    sender: mpsc::Sender<Batch>,
}

impl Intake {
    pub(crate) fn new(sender: mpsc::Sender<Batch>) -> Self {
        Self { sender }
    }

    /// Asks, and waits for the commit. Tells the caller to come back when the queue is full.
    pub(crate) async fn ask(&self, asks: Vec<Ask>) -> Result<Vec<Answered>, EngineError> {
        let (reply, answer) = oneshot::channel();
        self.sender.try_send(Batch { asks, reply }).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => EngineError::Busy,
            mpsc::error::TrySendError::Closed(_) => EngineError::Stopped,
        })?;
        answer.await.map_err(|_| EngineError::Stopped)
    }

    /// Asks for much, in parts: the next one is decided while the one before is committed, and others
    /// get their turn in between.
    pub(crate) async fn ask_in_parts(&self, asks: Vec<Ask>) -> Result<Vec<Answered>, EngineError> {
        let mut answers = Vec::with_capacity(asks.len());
        let mut waiting = Vec::with_capacity(asks.len().div_ceil(PART));
        let mut asks = asks.into_iter();
        while asks.len() > 0 {
            let (reply, answer) = oneshot::channel();
            let part = Batch { asks: asks.by_ref().take(PART).collect(), reply };
            self.sender.send(part).await.map_err(|_| EngineError::Stopped)?;
            waiting.push(answer);
        }
        for answer in waiting {
            answers.extend(answer.await.map_err(|_| EngineError::Stopped)?);
        }
        Ok(answers)
    }

    /// Asks, waiting for room first: for the engine's own tasks, which have nobody to refuse.
    pub(crate) async fn ask_patiently(&self, asks: Vec<Ask>) -> Result<Vec<Answered>, EngineError> {
        let (reply, answer) = oneshot::channel();
        self.sender.send(Batch { asks, reply }).await.map_err(|_| EngineError::Stopped)?;
        answer.await.map_err(|_| EngineError::Stopped)
    }
}
