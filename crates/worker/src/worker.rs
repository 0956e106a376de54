//! The loop of a worker: lease as many directives as there is room for, run each, report.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;

use crate::attempt::{Ended, Handler, attempt};
use crate::backoff::Backoff;
use crate::client::{Client, ClientError, Lease};
use crate::heartbeat::{Heartbeat, Watched};
use crate::report::Reporter;
use crate::wire::{Answer, Attempt, Directive, Failure, Leased, Report, Status};

const LEASE_MAX: usize = 256;
const LEASE_WAIT: Duration = Duration::from_secs(20);

/// A worker of one pool.
#[derive(Clone, Debug)]
pub struct Worker {
    client: Client,
    pool: String,
    lanes: Vec<u8>,
    concurrency: usize,
    visibility: Duration,
    drain: Duration,
    acknowledge: bool,
}

/// What a worker has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// reports that counted
    pub applied: u64,
    /// acks and reports that came too late
    pub refused: u64,
    /// directives that were given back
    pub given_back: u64,
    /// directives whose delivery was lost on the way
    pub lost: u64,
}

/// What every attempt of a run shares.
struct Shared<H> {
    handler: Arc<H>,
    client: Client,
    reporter: Reporter,
    heartbeat: Heartbeat,
    halt: watch::Receiver<bool>,
}

impl Worker {
    /// A worker of `pool` that runs one directive at a time.
    #[must_use]
    pub fn new(client: Client, pool: &str) -> Self {
        Self {
            client,
            pool: pool.to_owned(),
            lanes: Vec::new(),
            concurrency: 1,
            visibility: Duration::from_secs(60),
            drain: Duration::from_secs(10),
            acknowledge: true,
        }
    }

    /// Runs up to this many directives at once.
    #[must_use]
    pub fn concurrency(mut self, concurrency: usize) -> Self {
        self.concurrency = concurrency.max(1);
        self
    }

    /// Takes directives of these lanes only; none means all sixteen.
    #[must_use]
    pub fn lanes(mut self, lanes: &[u8]) -> Self {
        self.lanes = lanes.to_vec();
        self
    }

    /// How long a silent worker keeps a directive from others, 1 second at least.
    #[must_use]
    pub fn visibility(mut self, visibility: Duration) -> Self {
        self.visibility = visibility.max(Duration::from_secs(1));
        self
    }

    /// How long work may go on after a shutdown; what is not finished then is given back.
    #[must_use]
    pub fn drain(mut self, drain: Duration) -> Self {
        self.drain = drain;
        self
    }

    /// Whether directives are acknowledged before work begins. It costs a call for each lease, shows
    /// people that the work was taken, and drops what is no longer in force before it is begun.
    #[must_use]
    pub fn acknowledge(mut self, acknowledge: bool) -> Self {
        self.acknowledge = acknowledge;
        self
    }

    /// Works until `shutdown` resolves, then drains.
    ///
    /// # Errors
    /// When the server says no to the lease itself: a wrong token, a wrong role, a bad pool. A
    /// server that is away is waited for.
    pub async fn run<H: Handler>(
        self,
        handler: H,
        shutdown: impl Future<Output = ()> + Send,
    ) -> Result<Tally, ClientError> {
        let (halt, halted) = watch::channel(false);
        let (reporter, sending) = Reporter::new(self.client.clone());
        let sending = tokio::spawn(sending);
        let heartbeat = Heartbeat::new(self.client.clone(), self.visibility);
        let beating = tokio::spawn({
            let heartbeat = heartbeat.clone();
            async move { heartbeat.beat().await }
        });
        let shared = Arc::new(Shared {
            handler: Arc::new(handler),
            client: self.client.clone(),
            reporter,
            heartbeat,
            halt: halted,
        });
        let mut attempts = JoinSet::new();
        let mut tally = Tally::default();
        let ended = self.work(&shared, shutdown, &mut attempts, &mut tally).await;
        drop(shared);
        if tokio::time::timeout(self.drain, join(&mut attempts, &mut tally)).await.is_err() {
            halt.send_replace(true);
            // Work ends at once now; what is left to wait for is giving back, and late answers.
            let _ = tokio::time::timeout(GIVE_BACK_MAX, join(&mut attempts, &mut tally)).await;
        }
        attempts.shutdown().await;
        beating.abort();
        sending.abort();
        ended.map(|()| tally)
    }

    async fn work<H: Handler>(
        &self,
        shared: &Arc<Shared<H>>,
        shutdown: impl Future<Output = ()> + Send,
        attempts: &mut JoinSet<Tally>,
        tally: &mut Tally,
    ) -> Result<(), ClientError> {
        let slots = Arc::new(Semaphore::new(self.concurrency));
        let mut shutdown = pin!(shutdown);
        let mut backoff = Backoff::default();
        loop {
            let turn = async {
                let room = free_slots(&slots).await;
                let leased = self.lease(room.num_permits()).await;
                (room, leased)
            };
            let (mut room, leased) = tokio::select! {
                // A worker that was told to stop takes nothing more, also if more is at hand.
                biased;
                () = &mut shutdown => return Ok(()),
                turn = turn => turn,
            };
            let leased = match leased {
                Ok(leased) => leased,
                Err(ClientError::Unavailable { message, retry_after }) => {
                    tracing::warn!(message, pool = self.pool, "lease_failed");
                    tokio::select! {
                        () = tokio::time::sleep(backoff.next(retry_after)) => continue,
                        () = &mut shutdown => return Ok(()),
                    }
                }
                Err(error) => return Err(error),
            };
            backoff.reset();
            for one in self.taken(leased, tally).await {
                let slot = room.split(1).expect("no more is leased than there is room for");
                attempts.spawn(one_attempt(Arc::clone(shared), one, slot));
            }
            while let Some(done) = attempts.try_join_next() {
                tally.add(done.unwrap_or_default());
            }
        }
    }

    async fn lease(&self, max: usize) -> Result<Vec<Leased>, ClientError> {
        let ask = Lease { max, wait: LEASE_WAIT, visibility: self.visibility, lanes: &self.lanes };
        let mut leased = self.client.lease(&self.pool, ask).await?;
        leased.truncate(max);
        Ok(leased)
    }

    /// What is left after the acks: an attempt that is no longer in force is not begun.
    async fn taken(&self, leased: Vec<Leased>, tally: &mut Tally) -> Vec<Leased> {
        // What one worker keeps from step to step must be taken, or it stays with the queue.
        let (told, rest): (Vec<_>, Vec<_>) =
            leased.into_iter().partition(|one| self.acknowledge || one.directive.is_kept());
        if told.is_empty() {
            return rest;
        }
        let attempts: Vec<_> = told.iter().map(|one| one.directive.attempt.clone()).collect();
        let answers = match self.client.acks(&attempts).await {
            Ok(answers) => answers,
            Err(error) => {
                // An ack is a courtesy; the report will say more.
                tracing::warn!(%error, "acks_not_delivered");
                return told.into_iter().chain(rest).collect();
            }
        };
        let judged = told.into_iter().zip(answers);
        let in_force = judged.filter_map(|(one, answer)| {
            if !answer.applied {
                tally.refused += 1;
                tracing::info!(attempt = ?one.directive.attempt, reason = ?answer.reason, "ack_refused");
            }
            answer.applied.then_some(one)
        });
        in_force.chain(rest).collect()
    }
}

/// Giving back is one call, and the server keeps the directive only until its visibility ends.
const GIVE_BACK_MAX: Duration = Duration::from_secs(2);

impl Tally {
    fn add(&mut self, other: Self) {
        self.applied += other.applied;
        self.refused += other.refused;
        self.given_back += other.given_back;
        self.lost += other.lost;
    }
}

/// Waits for one free slot, and takes all that are free then.
async fn free_slots(slots: &Arc<Semaphore>) -> OwnedSemaphorePermit {
    let first = Arc::clone(slots).acquire_owned().await;
    let mut room = first.expect("the semaphore is never closed");
    let more = slots.available_permits().min(LEASE_MAX - 1);
    if let Ok(more) = Arc::clone(slots).try_acquire_many_owned(more as u32) {
        room.merge(more);
    }
    room
}

async fn join(attempts: &mut JoinSet<Tally>, tally: &mut Tally) {
    while let Some(done) = attempts.join_next().await {
        tally.add(done.unwrap_or_default());
    }
}

/// Does a directive, and what follows from it as long as the answers say so.
async fn one_attempt<H: Handler>(
    shared: Arc<Shared<H>>,
    leased: Leased,
    _slot: OwnedSemaphorePermit,
) -> Tally {
    let mut tally = Tally::default();
    let mut watched = shared.heartbeat.watch(&leased);
    let (delivery, mut directive) = (leased.delivery, leased.directive);
    while let Some(next) = step(&shared, directive, &delivery, &mut watched, &mut tally).await {
        watched = shared.heartbeat.watch_attempt(&next.attempt);
        directive = next;
    }
    tally
}

/// Does one directive and reports on it; answers what this worker goes on with.
async fn step<H: Handler>(
    shared: &Shared<H>,
    directive: Directive,
    delivery: &str,
    watched: &mut Watched,
    tally: &mut Tally,
) -> Option<Directive> {
    let (is_kept, name) = (directive.is_kept(), directive.attempt.clone());
    let handler = Arc::clone(&shared.handler);
    let ended = attempt(handler, directive, watched, shared.halt.clone()).await;
    let report = match ended {
        Ended::Reported(report) => report,
        // It has left the queue, so it cannot go back there: the attempt ends here, and the next one is
        // somebody else's.
        Ended::GivenBack(delay) if is_kept => given_up(name, delay),
        Ended::GivenBack(delay) => {
            tally.given_back += 1;
            if let Err(error) = shared.client.nack(&[delivery.to_owned()], delay).await {
                // It comes back by itself when its visibility ends.
                tracing::warn!(%error, "delivery_not_given_back");
            }
            return None;
        }
        Ended::Lost => {
            tally.lost += 1;
            return None;
        }
    };
    match shared.reporter.report(report).await {
        Some(Answer { applied: true, next, .. }) => {
            tally.applied += 1;
            next.map(|next| next.directive)
        }
        // The answer to the same report was lost on the way, if it says what to go on with.
        Some(Answer { applied: false, reason, problem, next }) => {
            tally.refused += 1;
            tracing::info!(?reason, ?problem, "report_refused");
            next.map(|next| next.directive)
        }
        None => {
            tracing::error!("report_never_answered");
            None
        }
    }
}

fn given_up(attempt: Attempt, delay: Duration) -> Report {
    let message = "the worker stopped or passed it on before the step was done";
    Report {
        error: Some(Failure { code: "given_back".to_owned(), message: message.to_owned() }),
        retry_after: (!delay.is_zero()).then_some(delay.as_secs()),
        ..Report::new(attempt, Status::FailedRetryable)
    }
}
