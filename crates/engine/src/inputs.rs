//! Inputs for runs that another instance owns: stored by whoever received them, decided by the owner.
//!
//! Whoever forwards an input waits a while for the owner's answer, so that a worker learns of a stale
//! lease no matter where it calls. If none comes (the owner was just killed) the input is safe in the
//! store, and the next owner decides it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use stepwell_core::command::Command;
use stepwell_core::duration::Interval;
use stepwell_core::id::RunId;
use stepwell_core::refusal::Refusal;
use stepwell_store::Input;
use tokio::sync::oneshot;
use uuid::Uuid;

use crate::error::EngineError;
use crate::intake::{Answered, Ask, Intake, Reply};
use crate::shared::{Shared, stopped};

/// Inputs decided at once.
const PAGE: usize = 256;

/// How long the owner's answer is waited for.
const ANSWER_WAIT: Interval = Interval::from_secs(5);

/// How often to look without a word, in case one was lost.
const PERIOD_MS: i64 = 30_000;

/// The rest after inputs could not be read or decided.
const REST_MS: i64 = 1_000;

/// What is asked of a run, as it waits in the store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Forwarded {
    pub(crate) command: Command,
    pub(crate) at_version: Option<u64>,
}

/// Something that another instance has stored for a run of ours, read.
#[derive(Clone, Debug)]
pub struct Inbound {
    /// as it is stored
    pub(crate) input: Input,
    /// what it asks for, or why that cannot be read
    pub(crate) asks_for: Result<Forwarded, String>,
}

impl Forwarded {
    pub(crate) fn to_text(&self) -> String {
        serde_json::to_string(self).expect("our own types have string keys and finite numbers")
    }
}

/// What the owner says to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Word {
    /// it was followed, or had been before
    Followed,
    /// the run says no
    Refused(Refusal),
    /// the run has changed since the caller saw it
    Changed { seen: u64, version: u64 },
    /// it could not be decided; a person must look
    Failed(String),
}

impl Word {
    pub(crate) fn to_text(&self) -> String {
        serde_json::to_string(self).expect("our own types have string keys and finite numbers")
    }
}

/// Callers that wait for the word of another instance.
#[derive(Default)]
pub(crate) struct Waiters {
    waiting: Mutex<HashMap<Uuid, oneshot::Sender<String>>>,
}

impl Waiters {
    /// Waits for the answer to an input, from before it is stored.
    pub(crate) fn expect(&self, input: Uuid) -> oneshot::Receiver<String> {
        let (sender, receiver) = oneshot::channel();
        self.lock().insert(input, sender);
        receiver
    }

    /// Hands an answer to whoever waits for it; nobody may.
    pub(crate) fn answer(&self, input: Uuid, body: String) {
        if let Some(waiter) = self.lock().remove(&input) {
            let _ = waiter.send(body);
        }
    }

    fn give_up(&self, input: Uuid) {
        self.lock().remove(&input);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Uuid, oneshot::Sender<String>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits for the word of a run's owner, and makes it the answer to whoever asked here.
pub(crate) async fn answer_of_owner(
    shared: &Shared,
    run: RunId,
    input: Uuid,
    word: oneshot::Receiver<String>,
) -> Answered {
    let mut stopping = shared.stopping.subscribe();
    let until_ms = shared.now().after(ANSWER_WAIT).as_millis();
    let said = tokio::select! {
        biased;
        word = word => word.ok(),
        () = stopped(&mut stopping) => None,
        () = shared.clock.sleep_until_ms(until_ms) => None,
    };
    shared.waiters.give_up(input);
    let word = said.and_then(|body| serde_json::from_str(&body).ok());
    match word {
        Some(Word::Refused(refusal)) => return Err(EngineError::Refused(refusal)),
        Some(Word::Changed { seen, version }) => {
            return Err(EngineError::Changed { seen, version });
        }
        Some(Word::Failed(reason)) => return Err(EngineError::Broken(reason)),
        Some(Word::Followed) | None => {}
    }
    let found = shared.runs(vec![run]).await?.remove(&run).ok_or(EngineError::NotFound(run))?;
    Ok(if word.is_some() { Reply::Applied(found) } else { Reply::Stored(found) })
}

/// Decides what others have stored for our runs, until the engine stops.
pub(crate) async fn inputs(shared: Arc<Shared>, intake: Intake) {
    if !shared.store.is_shared() || !shared.settings.ownership.decides {
        return;
    }
    let mut stopping = shared.stopping.subscribe();
    loop {
        let nap_ms = if decide_all(&shared, &intake).await { PERIOD_MS } else { REST_MS };
        let wake_at_ms = shared.clock.now_ms().saturating_add(nap_ms);
        tokio::select! {
            biased;
            () = stopped(&mut stopping) => return,
            () = shared.inputs.notified() => {}
            () = shared.clock.sleep_until_ms(wake_at_ms) => {}
        }
    }
}

/// Decides what waits for our runs, before something is asked of them that must come after it.
///
/// What was stored for another owner waits until its successor comes to it. A sweep asks again in the
/// meantime, and whatever it asks next would be undone when its first word is read at last.
pub(crate) async fn settle(shared: &Shared, intake: &Intake) -> Result<(), EngineError> {
    if !shared.store.is_shared() || decide_all(shared, intake).await {
        return Ok(());
    }
    let message = "what others have stored for our runs is not decided yet";
    Err(EngineError::Unavailable(message.to_owned()))
}

/// Decides everything that waits; `false` if something is left that could not be decided now.
async fn decide_all(shared: &Shared, intake: &Intake) -> bool {
    let _alone = shared.deciding_inputs.lock().await;
    loop {
        let page = match shared.store.inputs(shared.epoch(), PAGE).await {
            Ok(page) => page,
            Err(error) => {
                tracing::warn!(%error, "inputs_not_read");
                return false;
            }
        };
        if page.is_empty() {
            return true;
        }
        let mut asks = Vec::with_capacity(page.len());
        for input in page {
            match read(shared, &input).await {
                Ok(asks_for) => asks.push(Ask::Input(Box::new(Inbound { input, asks_for }))),
                Err(error) => {
                    tracing::warn!(%error, "input_not_read");
                    return false;
                }
            }
        }
        let Ok(answers) = intake.ask_patiently(asks).await else { return true };
        shared.stats.decided(answers.len());
        // What was not struck off would be read again at once, and again.
        if answers.iter().any(|answer| answer.as_ref().is_err_and(EngineError::is_passing)) {
            return false;
        }
    }
}

/// What an input asks for, if it can still be read: a newer release may have written it.
async fn read(shared: &Shared, input: &Input) -> Result<Result<Forwarded, String>, EngineError> {
    let read: Result<Forwarded, _> = serde_json::from_str(&input.body);
    let Forwarded { command, at_version } = match read {
        Ok(forwarded) => forwarded,
        Err(error) => return Ok(Err(format!("input {} cannot be read: {error}", input.id))),
    };
    // A workflow is written down by its name.
    let command = shared.catalog.resolve(command).await?;
    Ok(Ok(Forwarded { command, at_version }))
}
