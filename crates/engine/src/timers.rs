//! Wakes runs when their moment has come.
//!
//! A signal (a commit that asks to be woken earlier) and a period lead to the same idempotent
//! function. Waking is only a question: the run decides whether its moment has really come.

use std::sync::Arc;

use stepwell_core::command::Command;
use stepwell_core::duration::Interval;
use stepwell_core::id::RunId;
use stepwell_core::time::Timestamp;

use crate::error::EngineError;
use crate::intake::{Answered, Ask, Intake};
use crate::shared::{Shared, stopped};

/// Runs woken at once.
const PAGE: usize = 256;

/// The longest sleep: a wake-up that was lost costs no more than this.
pub(crate) const SLEEP_MAX: Interval = Interval::from_secs(60);

/// How long a run that cannot be decided is left alone.
const PUT_OFF: Interval = Interval::from_secs(30);

/// How long a store that takes no writes, or cannot be read, is left alone.
const STORE_REST: Interval = Interval::from_secs(1);

/// The store is full or away: nobody's moment can come just now.
struct StoreAway;

/// Wakes runs until the engine stops.
pub(crate) async fn timers(shared: Arc<Shared>, intake: Intake) {
    let mut stopping = shared.stopping.subscribe();
    let mut alarm = shared.alarm.subscribe();
    loop {
        let Ok(next) = wake_due(&shared, &intake).await else {
            // Alarms are not heard here: every commit that fails raises one, and to follow it at once
            // would fail the next. Whatever they ask for is looked up after the rest.
            let rested_at = shared.now().after(STORE_REST).as_millis();
            tokio::select! {
                biased;
                () = stopped(&mut stopping) => return,
                () = shared.clock.sleep_until_ms(rested_at) => continue,
            }
        };
        let sleep_until = next.min(shared.now().after(SLEEP_MAX));
        loop {
            let asked = *alarm.borrow_and_update();
            let until = asked.map_or(sleep_until, |asked| asked.min(sleep_until));
            tokio::select! {
                biased;
                () = stopped(&mut stopping) => return,
                () = shared.clock.sleep_until_ms(until.as_millis()) => break,
                _ = alarm.changed() => {}
            }
        }
        // What was asked for is looked up now; later commits ask again.
        shared.alarm.send_replace(None);
    }
}

/// Wakes every run that is due, and says when to look again.
async fn wake_due(shared: &Shared, intake: &Intake) -> Result<Timestamp, StoreAway> {
    loop {
        let now = shared.now();
        let due = shared.store.due(shared.epoch(), now, PAGE).await.map_err(|error| {
            tracing::warn!(%error, "timers_not_read");
            StoreAway
        })?;
        if due.runs.is_empty() {
            return Ok(due.next.unwrap_or_else(|| now.after(SLEEP_MAX)));
        }
        let asks = due.runs.iter().map(|run| Ask::command(*run, Command::Wake)).collect();
        let Ok(answers) = intake.ask_patiently(asks).await else {
            return Ok(now.after(SLEEP_MAX));
        };
        if answers.iter().any(is_store_away) {
            return Err(StoreAway);
        }
        put_off_failed(intake, &due.runs, &answers, now).await?;
        if shared.is_fenced() || *shared.stopping.borrow() {
            return Ok(now.after(SLEEP_MAX));
        }
    }
}

/// A run that cannot be decided now must not be woken again at once, over and over.
async fn put_off_failed(
    intake: &Intake,
    runs: &[RunId],
    answers: &[Answered],
    now: Timestamp,
) -> Result<(), StoreAway> {
    let until = now.after(PUT_OFF);
    let failed: Vec<Ask> = runs
        .iter()
        .zip(answers)
        .filter(|(_, answer)| {
            matches!(answer, Err(EngineError::Broken(_) | EngineError::BadWorkflow { .. }))
        })
        .map(|(run, _)| Ask::PutOff { run: *run, until })
        .collect();
    if failed.is_empty() {
        return Ok(());
    }
    tracing::warn!(runs = failed.len(), "wake_put_off");
    match intake.ask_patiently(failed).await {
        Ok(answers) if answers.iter().any(is_store_away) => Err(StoreAway),
        Ok(_) | Err(_) => Ok(()),
    }
}

fn is_store_away(answer: &Answered) -> bool {
    matches!(answer, Err(EngineError::Unavailable(_)))
}
