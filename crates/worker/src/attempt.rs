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
        /// what it has cost
        credits_spent: f64,
    },
    /// Accepted, but not finished: the step is asked again after its polling interval.
    Incomplete {
        /// what it has cost so far
        credits_spent: f64,
    },
    /// Not done.
    Failed {
        /// why
        failure: Failure,
        /// another attempt may help
        retryable: bool,
        /// rest at least so long before another attempt
        retry_after: Option<Duration>,
        /// what it has cost all the same
        credits_spent: f64,
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
        Self::Succeeded { result, credits_spent: 0.0 }
    }

    /// Accepted, but not finished.
    #[must_use]
    pub fn incomplete() -> Self {
        Self::Incomplete { credits_spent: 0.0 }
    }

    /// Not done, but another attempt may help.
    pub fn retryable(code: &str, message: impl Into<String>) -> Self {
        Self::not_done(code, message.into(), true)
    }

    /// Not done, and another attempt would not help.
    pub fn failed(code: &str, message: impl Into<String>) -> Self {
        Self::not_done(code, message.into(), false)
    }

    /// The same, with what it has cost the workspace: booked whatever came of the attempt, and rounded
    /// to a millionth. What is given back was not tried, and costs nothing.
    ///
    /// # Panics
    /// When the amount is below zero or no number: the server would refuse the whole report.
    #[must_use]
    pub fn credits_spent(mut self, credits: f64) -> Self {
        assert!(credits.is_finite() && credits >= 0.0, "credits are spent, not earned: {credits}");
        match &mut self {
            Self::Succeeded { credits_spent, .. }
            | Self::Incomplete { credits_spent }
            | Self::Failed { credits_spent, .. } => {
                *credits_spent = (credits * 1e6).round() / 1e6;
            }
            Self::GivenBack { .. } => {}
        }
        self
    }

    fn not_done(code: &str, message: String, retryable: bool) -> Self {
        let failure = Failure { code: code.to_owned(), message };
        Self::Failed { failure, retryable, retry_after: None, credits_spent: 0.0 }
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
    let mut report = Report::new(attempt, Status::Succeeded);
    match outcome {
        Outcome::Succeeded { result, credits_spent } => {
            report = Report { result: Some(result), credits_spent, ..report };
        }
        Outcome::Incomplete { credits_spent } => {
            report = Report { status: Status::Incomplete, credits_spent, ..report };
        }
        Outcome::Failed { failure, retryable, retry_after, credits_spent } => {
            let status = if retryable { Status::FailedRetryable } else { Status::FailedFinal };
            let rest = retry_after.filter(|_| retryable);
            let retry_after = rest.map(|rest| rest.as_millis().div_ceil(1000) as u64);
            report = Report { status, error: Some(failure), retry_after, credits_spent, ..report };
        }
        Outcome::GivenBack { delay } => return Ended::GivenBack(delay),
    }
    Ended::Reported(report)
}

struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
