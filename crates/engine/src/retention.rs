//! Deletes ended runs whose time has come: a few at a time, so that writers never wait for it.

use std::sync::Arc;

use crate::shared::{Shared, stopped};

/// Runs deleted in one transaction.
const PAGE: usize = 100;

/// How often to look, when there was nothing to do.
const PERIOD_MS: i64 = 60_000;

/// A breath between two pages, so that retention never takes more than a share of the writer.
const BREATH_MS: i64 = 20;

/// Sweeps until the engine stops.
pub(crate) async fn retention(shared: Arc<Shared>) {
    let mut stopping = shared.stopping.subscribe();
    loop {
        let nap = match shared.store.sweep(shared.now(), PAGE).await {
            Ok(PAGE..) => BREATH_MS,
            Ok(_) => PERIOD_MS,
            Err(error) => {
                tracing::warn!(%error, "sweep_failed");
                PERIOD_MS
            }
        };
        tokio::select! {
            biased;
            () = stopped(&mut stopping) => return,
            () = shared.clock.sleep_until_ms(shared.clock.now_ms() + nap) => {}
        }
    }
}
