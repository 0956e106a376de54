//! The workers of a rehearsal: they take jobs from the real engine, and only pretend to do them.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use stepwell_connectors::bus::LaneSet;
use stepwell_connectors::clock::{Clock, VirtualClock};
use stepwell_core::command::{Command, Fence, StepRef};
use stepwell_core::credit::Credits;
use stepwell_core::definition::StepSpec;
use stepwell_core::step::{Outcome, StepError};
use stepwell_dialects::runbooks::Runbook;
use stepwell_engine::{Ask, Engine, Take, Taken};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::ledger::{Book, Job};
use super::nest::put;
use super::place::Place;
use super::script::{Question, Script, Verdict, all_steps};

/// Jobs taken at once.
const TAKEN_MAX: usize = 256;

/// Longer than any job takes; workers of a rehearsal never forget one.
const FOREVER: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// The rest of a worker that was told no.
const REST_MS: u64 = 1_000;

/// The workers of all pools.
#[derive(Clone)]
pub(super) struct Workers {
    pub(super) engine: Engine,
    pub(super) clock: Arc<VirtualClock>,
    pub(super) script: Arc<Script>,
    pub(super) runbook: Arc<Runbook>,
    pub(super) book: Arc<Book>,
}

impl Workers {
    /// Starts the workers of every pool; they end with the runtime.
    pub(super) fn start(self) {
        let mut pools: Vec<String> =
            all_steps(&self.runbook).map(|(_, step)| step.worker_id.clone()).collect();
        pools.sort_unstable();
        pools.dedup();
        for pool in pools {
            tokio::spawn(self.clone().serve(pool));
        }
    }

    async fn serve(self, pool: String) {
        let hands = self.script.workers(&pool).map_or(Semaphore::MAX_PERMITS, |it| it as usize);
        let hands = Arc::new(Semaphore::new(hands));
        loop {
            let mut free = free_hands(&hands).await;
            let ask = Take {
                pool: &pool,
                lanes: LaneSet::ALL,
                max: free.len(),
                wait: FOREVER,
                visibility: FOREVER,
            };
            let Ok(taken) = self.engine.take(ask).await else {
                self.clock.sleep_ms(REST_MS).await;
                continue;
            };
            for (taken, hand) in taken.into_iter().zip(free.drain(..)) {
                let workers = self.clone();
                tokio::spawn(async move {
                    workers.work(&taken).await;
                    drop(hand);
                });
            }
        }
    }

    /// Does one job: waits, answers, and writes it down.
    async fn work(&self, taken: &Taken) {
        let (run, directive) = (&taken.run, taken.directive);
        let Some(place) = Place::of(&self.runbook, run, directive.step) else { return };
        let key = run.header.context.get("member_key").and_then(Value::as_str).unwrap_or_default();
        let spec = &run.header.specs()[directive.step.position()];
        let question = Question {
            place,
            member: key,
            attempt: directive.attempt,
            poll: directive.poll,
            is_poll_step: spec.poll.is_some(),
        };
        let begun_ms = self.clock.now_ms();
        let (verdict, length_ms) = self.script.answer(&self.runbook, question);
        self.clock.sleep_ms(length_ms).await;
        let job = Job {
            place,
            member: run.header.membership.and_then(|it| it.member),
            attempt: directive.attempt,
            poll: directive.poll,
            begun_ms,
            ended_ms: self.clock.now_ms(),
            verdict,
        };
        self.book.write(job, key);
        let command = Command::Report {
            step: StepRef::Index(directive.step),
            fence: Fence { attempt: directive.attempt, lease: directive.lease },
            outcome: outcome(verdict, spec),
            spent: Credits::ZERO,
        };
        // A step that was given up meanwhile needs no answer.
        let _ = self.engine.ask_one(Ask::command(run.id(), command)).await;
    }
}

/// At least one, and all that are free, up to a limit.
async fn free_hands(hands: &Arc<Semaphore>) -> Vec<OwnedSemaphorePermit> {
    let first = Arc::clone(hands).acquire_owned().await.expect("the semaphore is never closed");
    let mut free = vec![first];
    while free.len() < TAKEN_MAX
        && let Ok(hand) = Arc::clone(hands).try_acquire_owned()
    {
        free.push(hand);
    }
    free
}

fn outcome(verdict: Verdict, spec: &StepSpec) -> Outcome {
    match verdict {
        Verdict::Done => Outcome::Succeeded { result: made_up(spec) },
        Verdict::NotYet => Outcome::Incomplete,
        Verdict::Failed => Outcome::Failed {
            error: StepError::new("rehearsed_failure", "the stated failure rate struck"),
            retryable: true,
            retry_after: None,
        },
    }
}

/// A result that has everything later steps are going to use.
fn made_up(spec: &StepSpec) -> Value {
    let mut result = Map::new();
    for path in spec.outputs.values() {
        put(&mut result, path, format!("rehearsed {path}").into());
    }
    Value::Object(result)
}
