//! Asks the sources of all runbooks, time and again.
//!
//! A pass over one runbook is a task of its own: a source that hangs, a query that fails or a
//! document that cannot be read never delays another runbook, and a pass that takes longer
//! than the interval never overlaps itself. Due phases, polls and retries do not wait for the tick:
//! they have timers of their own.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use stepwell_core::duration::Interval;
use stepwell_core::time::Timestamp;

use super::pass;
use crate::intake::Intake;
use crate::shared::{Shared, stopped};

/// The rest after the list of runbooks could not be read.
const REST: Interval = Interval::from_secs(5);

/// Runbooks that are being passed over at this moment.
type Running = Arc<Mutex<BTreeSet<String>>>;

/// Ticks until the engine stops.
pub(crate) async fn scheduler(shared: Arc<Shared>, intake: Intake) {
    if !shared.settings.scheduler.enabled {
        return;
    }
    let mut stopping = shared.stopping.subscribe();
    let running = Running::default();
    loop {
        let next = match tick(&shared, &intake, &running).await {
            Ok(()) => next_mark(shared.now(), shared.settings.scheduler.tick),
            Err(error) => {
                tracing::warn!(%error, "runbooks_not_read");
                shared.now().after(REST)
            }
        };
        tokio::select! {
            biased;
            () = stopped(&mut stopping) => return,
            () = shared.batches.tick.notified() => {}
            () = shared.clock.sleep_until_ms(next.as_millis()) => {}
        }
    }
}

/// The next whole multiple of the interval: five minutes tick at :00, :05, :10 ….
fn next_mark(now: Timestamp, interval: Interval) -> Timestamp {
    let interval = i64::try_from(interval.as_millis()).unwrap_or(i64::MAX).max(1);
    Timestamp::from_millis((now.as_millis() / interval + 1).saturating_mul(interval))
}

async fn tick(
    shared: &Arc<Shared>,
    intake: &Intake,
    running: &Running,
) -> Result<(), stepwell_store::StoreError> {
    for document in shared.store.runbooks(None).await? {
        let name = document.name.clone();
        if !lock(running).insert(name.clone()) {
            tracing::warn!(runbook = name, "pass_still_running: this tick leaves it alone");
            continue;
        }
        let (shared, intake) = (Arc::clone(shared), intake.clone());
        let guard = Guard { running: Arc::clone(running), name };
        tokio::spawn(async move {
            let mut stopping = shared.stopping.subscribe();
            tokio::select! {
                biased;
                () = stopped(&mut stopping) => {}
                () = pass::pass(&shared, &intake, &document) => {}
            }
            drop(guard);
        });
    }
    Ok(())
}

fn lock(running: &Running) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
    running.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Strikes a runbook off when its pass has ended, however it ended.
struct Guard {
    running: Running,
    name: String,
}

impl Drop for Guard {
    fn drop(&mut self) {
        lock(&self.running).remove(&self.name);
    }
}
