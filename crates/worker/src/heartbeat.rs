//! Keeps deliveries while their work is under way, and tells the work when one is lost.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::client::{Client, ClientError};
use crate::wire::Kept;

/// The most deliveries that one call may extend.
const CALL_MAX: usize = 256;

/// Deliveries that are kept.
#[derive(Clone, Debug)]
pub(crate) struct Heartbeat {
    held: Arc<Mutex<BTreeMap<String, Held>>>,
    client: Client,
    visibility: Duration,
}

#[derive(Debug)]
struct Held {
    until: Instant,
    lost: oneshot::Sender<()>,
}

/// One delivery that is kept until this is dropped.
#[derive(Debug)]
pub(crate) struct Watched {
    heartbeat: Heartbeat,
    delivery: String,
    lost: oneshot::Receiver<()>,
}

impl Heartbeat {
    pub(crate) fn new(client: Client, visibility: Duration) -> Self {
        Self { held: Arc::default(), client, visibility }
    }

    /// Keeps a delivery that was handed out just now.
    pub(crate) fn watch(&self, delivery: String) -> Watched {
        let (lost, receiver) = oneshot::channel();
        let held = Held { until: Instant::now() + self.visibility, lost };
        self.lock().insert(delivery.clone(), held);
        Watched { heartbeat: self.clone(), delivery, lost: receiver }
    }

    /// Extends what is held, three times within the time each is kept, until dropped.
    pub(crate) async fn beat(&self) {
        let mut beats = tokio::time::interval(self.visibility / 3);
        beats.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            beats.tick().await;
            let deliveries: Vec<String> = self.lock().keys().cloned().collect();
            for chunk in deliveries.chunks(CALL_MAX) {
                self.extend(chunk).await;
            }
        }
    }

    async fn extend(&self, deliveries: &[String]) {
        let asked_at = Instant::now();
        match self.client.extend(deliveries, self.visibility).await {
            Ok(answers) => {
                let mut held = self.lock();
                for (delivery, kept) in deliveries.iter().zip(answers) {
                    match (kept, held.get_mut(delivery)) {
                        (Kept::Ok, Some(entry)) => entry.until = asked_at + self.visibility,
                        (Kept::Lost, Some(_)) => lose(&mut held, delivery),
                        (_, None) => {}
                    }
                }
            }
            Err(error) => self.survive(deliveries, &error),
        }
    }

    /// A call that failed costs nothing until the time is over: then others may have the work.
    fn survive(&self, deliveries: &[String], error: &ClientError) {
        tracing::warn!(%error, deliveries = deliveries.len(), "deliveries_not_extended");
        let now = Instant::now();
        let mut held = self.lock();
        for delivery in deliveries {
            if held.get(delivery).is_some_and(|entry| entry.until <= now) {
                lose(&mut held, delivery);
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Held>> {
        // Every change is one call on the map, so a poisoned lock holds a sound one.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn lose(held: &mut BTreeMap<String, Held>, delivery: &str) {
    if let Some(entry) = held.remove(delivery) {
        tracing::info!(delivery, "delivery_lost");
        // Nobody listens once the work has ended; its report is judged by the server.
        let _ = entry.lost.send(());
    }
}

impl Watched {
    /// Resolves when the delivery is no longer this worker's.
    pub(crate) async fn lost(&mut self) {
        if (&mut self.lost).await.is_err() {
            // The sender goes only when it says so or when this is dropped.
            std::future::pending::<()>().await;
        }
    }

    /// The delivery.
    pub(crate) fn delivery(&self) -> &str {
        &self.delivery
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.heartbeat.lock().remove(&self.delivery);
    }
}
