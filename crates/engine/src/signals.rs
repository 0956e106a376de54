//! Words from other instances, each passed on to the task that looks.
//!
//! A word only says where to look. It may be lost, or come twice; whoever is told also looks by itself
//! from time to time.

use std::sync::Arc;

use stepwell_core::duration::Interval;
use stepwell_store::{Epoch, Signal};

use crate::shared::{Shared, stopped};

/// The rest before listening again.
const REST_MS: i64 = 1_000;

/// Listens until the engine stops; anew whenever the instance is somebody new.
pub(crate) async fn signals(shared: Arc<Shared>) {
    if !shared.store.is_shared() {
        return;
    }
    let mut stopping = shared.stopping.subscribe();
    let mut epochs = shared.standing.epochs();
    loop {
        let epoch = *epochs.borrow_and_update();
        tokio::select! {
            biased;
            () = stopped(&mut stopping) => return,
            _ = epochs.changed() => {}
            () = listen(&shared, epoch) => {
                let again_at_ms = shared.clock.now_ms().saturating_add(REST_MS);
                tokio::select! {
                    biased;
                    () = stopped(&mut stopping) => return,
                    () = shared.clock.sleep_until_ms(again_at_ms) => {}
                }
            }
        }
    }
}

/// Passes words on until the ear goes deaf.
async fn listen(shared: &Shared, epoch: Epoch) {
    let mut ear = match shared.store.listen(epoch).await {
        Ok(ear) => ear,
        Err(error) => {
            tracing::warn!(%error, "not_listening");
            return;
        }
    };
    // Whatever was said before we listened.
    look_at_everything(shared).await;
    while let Some(signal) = ear.recv().await {
        heard(shared, signal).await;
    }
}

async fn heard(shared: &Shared, signal: Signal) {
    match signal {
        Signal::Inputs => shared.inputs.notify_one(),
        Signal::Answered { input, body } => shared.waiters.answer(input, body),
        Signal::Given => {
            shared.hunger.was_fed();
            shared.received_runs().await;
        }
        Signal::Free => shared.standing.free.notify_one(),
        Signal::Submitted { .. } => shared.submissions.notify_one(),
        Signal::Hungry { epoch, pool, for_ms } => {
            let until = shared.now().after(Interval::from_millis(for_ms));
            shared.hunger.note(pool, epoch, until);
        }
        Signal::Published => {
            shared.catalog.forget_protocols();
            shared.subscriptions.changed.notify_one();
            shared.look_at_agreements().await;
        }
        Signal::LookAgain => look_at_everything(shared).await,
    }
}

async fn look_at_everything(shared: &Shared) {
    shared.catalog.forget_protocols();
    shared.subscriptions.changed.notify_one();
    shared.standing.free.notify_one();
    shared.submissions.notify_one();
    shared.triggers.changed();
    shared.outbox.notify_one();
    shared.look_at_agreements().await;
    shared.received_runs().await;
}
