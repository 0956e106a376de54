//! The workers of the demo: made up, but they lease, work and report over HTTP like any others.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use indicatif::ProgressBar;
use serde_json::json;
use stepwell_worker::{Attempt, Client, ClientError, Directive, Outcome, Report, Status, Worker};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

use super::script::{Fate, Script};

const CONCURRENCY: usize = 32;
/// Every work takes a little; how much depends on the invoice, so that a seed gives the same times.
const WORK_MS: u64 = 40;

/// What the workers of all pools share.
pub(super) struct Stage {
    pub(super) script: Script,
    /// a job to cancel is being checked
    pub(super) cancellable: watch::Sender<Option<String>>,
    /// the job has been cancelled, the check may end
    pub(super) cancelled: Notify,
    /// what the server said to the late report
    pub(super) late_answer: Mutex<Option<String>>,
    late_attempt: Mutex<Option<Attempt>>,
    client: Client,
}

impl Stage {
    pub(super) fn new(script: Script, client: Client) -> Arc<Self> {
        Arc::new(Self {
            script,
            cancellable: watch::Sender::new(None),
            cancelled: Notify::new(),
            late_answer: Mutex::default(),
            late_attempt: Mutex::default(),
            client,
        })
    }

    /// Starts the workers of every pool; they end when `stop` is told.
    pub(super) fn start(
        self: &Arc<Self>,
        bars: &[(&'static str, ProgressBar)],
        stop: &watch::Receiver<bool>,
    ) -> JoinSet<Result<(), ClientError>> {
        let mut workers = JoinSet::new();
        for (step, bar) in bars {
            let step = *step;
            let (stage, bar, mut stop) = (Arc::clone(self), bar.clone(), stop.clone());
            let worker = Worker::new(self.client.clone(), &format!("demo-{step}"))
                .concurrency(CONCURRENCY)
                .visibility(Duration::from_secs(10))
                .drain(Duration::ZERO);
            let handler = move |directive| {
                let (stage, bar) = (Arc::clone(&stage), bar.clone());
                async move { stage.work(step, directive, &bar).await }
            };
            workers.spawn(async move {
                let stopped = async {
                    let _ = stop.wait_for(|stop| *stop).await;
                };
                worker.run(handler, stopped).await.map(drop)
            });
        }
        workers
    }

    async fn work(&self, step: &str, directive: Directive, bar: &ProgressBar) -> Outcome {
        let number = directive.payload["number"].as_u64().unwrap_or(0);
        let length = WORK_MS + (number * 37) % 80;
        tokio::time::sleep(Duration::from_millis(length)).await;
        let fate = self.script.of(usize::try_from(number).unwrap_or(usize::MAX));
        let outcome = match step {
            "scan" => scan(fate, directive.attempt.attempt_no),
            "check" => self.check(fate, directive.attempt).await,
            _ => Outcome::succeeded(json!({ "filed": true })),
        };
        if matches!(outcome, Outcome::Succeeded { .. }) {
            bar.inc(1);
        }
        outcome
    }

    async fn check(&self, fate: Fate, attempt: Attempt) -> Outcome {
        match (fate, attempt.attempt_no) {
            (Fate::Rejected, _) => {
                Outcome::failed("no_match", "the total does not match the order")
            }
            (Fate::Forgotten, 1) => std::future::pending().await,
            (Fate::Late, 1) => {
                *lock(&self.late_attempt) = Some(attempt);
                std::future::pending().await
            }
            (Fate::Late, _) => {
                self.report_late().await;
                checked()
            }
            (Fate::Cancelled, _) => {
                self.cancellable.send_replace(Some(attempt.job_id));
                self.cancelled.notified().await;
                checked()
            }
            _ => checked(),
        }
    }

    /// Reports on the attempt that was given up, while its successor is under way.
    async fn report_late(&self) {
        let Some(attempt) = lock(&self.late_attempt).take() else { return };
        let result = Some(json!({ "matches": true }));
        let report = Report { result, ..Report::new(attempt, Status::Succeeded) };
        let said = match self.client.results(&[report]).await {
            Ok(answers) => match answers.first() {
                Some(answer) if !answer.applied => answer.reason.clone().unwrap_or_default(),
                Some(_) | None => "it was accepted".to_owned(),
            },
            Err(error) => error.to_string(),
        };
        *lock(&self.late_answer) = Some(said);
    }
}

fn scan(fate: Fate, attempt_no: u32) -> Outcome {
    match (fate, attempt_no) {
        (Fate::Unreadable, _) => Outcome::retryable("unreadable", "the scan is unreadable"),
        (Fate::ScannedTwice, 1) => Outcome::retryable("jam", "the paper got stuck"),
        _ => Outcome::succeeded(json!({ "pages": 2 })),
    }
}

fn checked() -> Outcome {
    Outcome::succeeded(json!({ "matches": true }))
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
