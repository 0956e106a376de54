//! Station 3, decide: what a command means for a run, and what must follow. One match, no logic.
//!
//! `decide` is a pure function of the run, the command and the moment. It neither reads a clock nor
//! draws a random number: [`At`] brings both. The answer is data: entries to store, effects to carry
//! out after the commit, and the state that the entries fold to, so that nobody folds them twice.

mod ack;
mod adopt;
mod advance;
mod attempt;
mod begin;
mod cancel;
mod credit;
mod draft;
mod items;
mod keep;
mod operate;
mod pause;
mod refresh;
mod report;
mod start;
mod wake;

use uuid::Uuid;

use crate::command::Command;
use crate::effect::Effect;
use crate::entry::Entry;
use crate::refusal::Refusal;
use crate::run::Run;
use crate::time::Timestamp;

use draft::Draft;

/// The moment of a decision: what time it is, and where fresh ids come from.
pub struct At<'a> {
    /// the time
    pub now: Timestamp,
    /// draws an id that was never drawn before and that nobody can guess
    pub fresh: &'a mut dyn FnMut() -> Uuid,
}

/// What was decided. Without entries nothing happened, and nothing need be stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// facts for the history
    pub entries: Vec<Entry>,
    /// what must follow the commit
    pub effects: Vec<Effect>,
    /// the run after the entries; its version is one higher if there are any
    pub run: Run,
}

/// Decides what `command` means for `run`.
///
/// # Errors
/// A [`Refusal`] says why the command is not followed; the run stays as it is.
pub fn decide(run: &Run, command: &Command, at: &mut At<'_>) -> Result<Decision, Refusal> {
    let mut draft = Draft::new(run, at);
    match command {
        Command::Start { carried } => start::start(&mut draft, carried)?,
        Command::OpenGate { gate } => start::open_gate(&mut draft, gate)?,
        Command::Refresh { input, special } => {
            refresh::refresh(&mut draft, input.as_ref(), special.as_ref())?;
        }
        Command::Adopt { workflow, superseded, skipped } => {
            adopt::adopt(&mut draft, workflow, superseded, skipped)?;
        }
        Command::Ack { step, fence } => ack::ack(&mut draft, step, *fence)?,
        Command::Report { step, fence, outcome, spent } => {
            report::report(&mut draft, step, *fence, outcome, *spent)?;
        }
        Command::Extend { step, fence } => keep::extend(&mut draft, step, *fence)?,
        Command::Published { step, lease } => ack::published(&mut draft, *step, *lease)?,
        Command::PublishFailed { step, lease, error } => {
            ack::publish_failed(&mut draft, *step, *lease, error)?;
        }
        Command::Undelivered { step, lease, error } => {
            report::undelivered(&mut draft, *step, *lease, error)?;
        }
        Command::Wake => wake::wake(&mut draft),
        Command::Cancel { mode, by } => cancel::cancel(&mut draft, *mode, by)?,
        Command::Pause { by } => pause::pause(&mut draft, by)?,
        Command::Resume { by } => pause::resume(&mut draft, by)?,
        Command::Operate { step, operation, by } => {
            operate::operate(&mut draft, step, operation, by)?;
        }
    }
    Ok(draft.finish())
}
