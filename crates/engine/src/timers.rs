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
const SLEEP_MAX: Interval = Interval::from_secs(60);

/// How long a run that cannot be decided is left alone.
const PUT_OFF: Interval = Interval::from_secs(30);

/// Wakes runs until the engine stops.
pub(crate) async fn timers(shared: Arc<Shared>, intake: Intake) {
    let mut stopping = shared.stopping.subscribe();
    let mut alarm = shared.alarm.subscribe();
    loop {
        let next = wake_due(&shared, &intake).await;
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
async fn wake_due(shared: &Shared, intake: &Intake) -> Timestamp {
    loop {
        let now = shared.now();
        let due = match shared.store.due(now, PAGE).await {
            Ok(due) => due,
            Err(error) => {
                tracing::warn!(%error, "timers_not_read");
                return now.after(Interval::from_secs(1));
            }
        };
        if due.runs.is_empty() {
            return due.next.unwrap_or_else(|| now.after(SLEEP_MAX));
        }
        let asks = due.runs.iter().map(|run| Ask::command(*run, Command::Wake)).collect();
        match intake.ask_patiently(asks).await {
            Ok(answers) => put_off_failed(intake, &due.runs, &answers, now).await,
            Err(_) => return now.after(SLEEP_MAX),
        }
        if shared.is_fenced() || *shared.stopping.borrow() {
            return now.after(SLEEP_MAX);
        }
    }
}

/// A run that cannot be decided now must not be woken again at once, over and over.
async fn put_off_failed(intake: &Intake, runs: &[RunId], answers: &[Answered], now: Timestamp) {
    let until = now.after(PUT_OFF);
    let failed: Vec<Ask> = runs
        .iter()
        .zip(answers)
        .filter(|(_, answer)| {
            matches!(
                answer,
                Err(EngineError::Broken(_)
                    | EngineError::BadWorkflow { .. }
                    | EngineError::Unavailable(_))
            )
        })
        .map(|(run, _)| Ask::PutOff { run: *run, until })
        .collect();
    if !failed.is_empty() {
        tracing::warn!(runs = failed.len(), "wake_put_off");
        let _ = intake.ask_patiently(failed).await;
    }
}
