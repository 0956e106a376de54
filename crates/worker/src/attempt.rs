//! Station 6, work: directive → function → outcome.
//!
//! The function runs in a task of its own. When the attempt is no longer this worker's, or the
//! worker must stop, that task is dropped at its next await: what it holds (a child process, a
//! connection) goes with it.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinError};

use crate::heartbeat::Watched;
use crate::wire::{Attempt, Directive, Failure, Report, Status};

/// A function that does the work of a directive.
///
/// It may be called twice for the same [`Attempt`]: a directive is delivered at least once.
pub trait Handler: Send + Sync + 'static {
    /// Does the work, and says what came of it.
    fn handle(&self, directive: Directive) -> impl Future<Output = Outcome> + Send;
}

impl<F, Work> Handler for F
where
    F: Fn(Directive) -> Work + Send + Sync + 'static,
    Work: Future<Output = Outcome> + Send,
{
    fn handle(&self, directive: Directive) -> impl Future<Output = Outcome> + Send {
        self(directive)
    }
}

/// What came of the work.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Done.
    Succeeded {
        /// what it produced
        result: Value,
    },
    /// Accepted, but not finished: the step is asked again after its polling interval.
    Incomplete,
    /// Not done.
    Failed {
        /// why
        failure: Failure,
        /// another attempt may help
        retryable: bool,
        /// rest at least so long before another attempt
        retry_after: Option<Duration>,
    },
    /// Not tried: another worker shall have it. The attempt is not counted.
    GivenBack {
        /// not before
        delay: Duration,
    },
}

impl Outcome {
    /// Done, with what it produced.
    #[must_use]
    pub fn succeeded(result: Value) -> Self {
        Self::Succeeded { result }
    }

    /// Not done, but another attempt may help.
    pub fn retryable(code: &str, message: impl Into<String>) -> Self {
        let failure = Failure { code: code.to_owned(), message: message.into() };
        Self::Failed { failure, retryable: true, retry_after: None }
    }

    /// Not done, and another attempt would not help.
    pub fn failed(code: &str, message: impl Into<String>) -> Self {
        let failure = Failure { code: code.to_owned(), message: message.into() };
        Self::Failed { failure, retryable: false, retry_after: None }
    }
}

/// How an attempt ended for this worker.
#[derive(Debug, PartialEq)]
pub(crate) enum Ended {
    /// There is something to report.
    Reported(Report),
    /// Another worker shall have it.
    GivenBack(Duration),
    /// It is no longer this worker's.
    Lost,
}

/// Runs the function until it ends, the delivery is lost, or the worker must stop.
pub(crate) async fn attempt<H: Handler>(
    handler: Arc<H>,
    directive: Directive,
    watched: &mut Watched,
    mut halt: watch::Receiver<bool>,
) -> Ended {
    let attempt = directive.attempt.clone();
    let work = tokio::spawn(async move { handler.handle(directive).await });
    let _stop = AbortOnDrop(work.abort_handle());
    tokio::select! {
        biased;
        outcome = work => ended(attempt, outcome),
        () = watched.lost() => Ended::Lost,
        _ = halt.wait_for(|halted| *halted) => Ended::GivenBack(Duration::ZERO),
    }
}

fn ended(attempt: Attempt, outcome: Result<Outcome, JoinError>) -> Ended {
    let outcome = outcome.unwrap_or_else(|_| {
        Outcome::retryable("worker_panicked", "the worker's function panicked; see its log")
    });
    let report = |status, result, error, retry_after: Option<Duration>| {
        let retry_after = retry_after.map(|rest| rest.as_millis().div_ceil(1000) as u64);
        Ended::Reported(Report { attempt, status, result, error, retry_after })
    };
    match outcome {
        Outcome::Succeeded { result } => report(Status::Succeeded, Some(result), None, None),
        Outcome::Incomplete => report(Status::Incomplete, None, None, None),
        Outcome::Failed { failure, retryable: true, retry_after } => {
            report(Status::FailedRetryable, None, Some(failure), retry_after)
        }
        Outcome::Failed { failure, retryable: false, retry_after: _ } => {
            report(Status::FailedFinal, None, Some(failure), None)
        }
        Outcome::GivenBack { delay } => Ended::GivenBack(delay),
    }
}

struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
