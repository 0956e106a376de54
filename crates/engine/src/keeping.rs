//! Signs of life of workers that keep an attempt.

use stepwell_core::command::{Command, Fence, StepRef};
use stepwell_core::id::RunId;
use stepwell_core::refusal::Refusal;
use stepwell_core::run::Run;
use stepwell_core::time::Timestamp;

use crate::Engine;
use crate::error::EngineError;
use crate::intake::{Answered, Ask, Reply};

/// A worker says that it is still at it.
#[derive(Clone, Debug)]
pub struct SignOfLife {
    /// of which run
    pub run: RunId,
    /// at which step
    pub step: StepRef,
    /// under which attempt and lease
    pub fence: Fence,
}

/// What a worker is told in return.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// it may go on, and must give another sign before this moment; `None` where no lease is kept by
    /// signs of life
    Until(Option<Timestamp>),
    /// the attempt is no longer its own: it stops, and reports nothing
    Lost(Refusal),
    /// there is no such run any more
    Gone,
}

impl Engine {
    /// Extends the leases of attempts whose workers give signs of life. The answers keep the
    /// order; an error is of one attempt only.
    ///
    /// # Errors
    /// When nothing was taken in: the engine is busy or stopping.
    pub async fn extend_attempts(
        &self,
        signs: Vec<SignOfLife>,
    ) -> Result<Vec<Result<Kept, EngineError>>, EngineError> {
        let asks = signs.iter().map(|sign| {
            let (step, fence) = (sign.step.clone(), sign.fence);
            Ask::command(sign.run, Command::Extend { step, fence })
        });
        let answers = self.ask(asks.collect()).await?;
        Ok(answers.into_iter().zip(&signs).map(|(answer, sign)| kept(answer, sign)).collect())
    }
}

fn kept(answer: Answered, sign: &SignOfLife) -> Result<Kept, EngineError> {
    match answer {
        Ok(Reply::Applied(run) | Reply::Stored(run) | Reply::Started(run)) => {
            Ok(Kept::Until(holds_until(&run, sign)))
        }
        Ok(Reply::Repeated(_)) => Err(EngineError::Broken("a sign is never repeated".to_owned())),
        Err(EngineError::Refused(refusal)) => Ok(Kept::Lost(refusal)),
        Err(EngineError::NotFound(_)) => Ok(Kept::Gone),
        Err(error) => Err(error),
    }
}

/// The run may have gone on since: only the lease of the sign counts.
fn holds_until(run: &Run, sign: &SignOfLife) -> Option<Timestamp> {
    run.keeping()?;
    let mut leases = run.steps.iter().filter_map(|step| step.lease);
    leases.find(|lease| lease.id == sign.fence.lease).map(|lease| lease.expires_at)
}
