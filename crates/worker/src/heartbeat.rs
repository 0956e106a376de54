//! Keeps what is worked on, and tells the work when it is lost.
//!
//! A delivery is kept by extending it. An attempt of a workspace's job has left the queue when it was
//! taken, and is kept by signs of life.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::client::{Client, ClientError};
use crate::wire::{Attempt, Kept, Leased};

/// The most that one call may extend.
const CALL_MAX: usize = 256;

/// What is kept.
#[derive(Clone, Debug)]
pub(crate) struct Heartbeat {
    held: Arc<Mutex<BTreeMap<String, Held>>>,
    client: Client,
    visibility: Duration,
}

#[derive(Debug)]
struct Held {
    /// the attempt that signs of life are for; `None`: a delivery, which is its key
    attempt: Option<Attempt>,
    until: Instant,
    lost: oneshot::Sender<()>,
}

/// One thing that is kept until this is dropped.
#[derive(Debug)]
pub(crate) struct Watched {
    heartbeat: Heartbeat,
    /// of a delivery itself, of an attempt its lease
    key: String,
    lost: oneshot::Receiver<()>,
}

impl Heartbeat {
    pub(crate) fn new(client: Client, visibility: Duration) -> Self {
        Self { held: Arc::default(), client, visibility }
    }

    /// Keeps what was handed out just now.
    pub(crate) fn watch(&self, leased: &Leased) -> Watched {
        if leased.directive.is_kept() {
            return self.watch_attempt(&leased.directive.attempt);
        }
        self.hold(leased.delivery.clone(), None)
    }

    /// Keeps an attempt that this worker has taken.
    pub(crate) fn watch_attempt(&self, attempt: &Attempt) -> Watched {
        self.hold(attempt.lease_id.clone(), Some(attempt.clone()))
    }

    fn hold(&self, key: String, attempt: Option<Attempt>) -> Watched {
        let (lost, receiver) = oneshot::channel();
        let held = Held { attempt, until: Instant::now() + self.visibility, lost };
        self.lock().insert(key.clone(), held);
        Watched { heartbeat: self.clone(), key, lost: receiver }
    }

    /// Extends what is held, three times within the time each is kept, until dropped.
    pub(crate) async fn beat(&self) {
        let mut beats = tokio::time::interval(self.visibility / 3);
        beats.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            beats.tick().await;
            let (deliveries, attempts) = self.all();
            for chunk in deliveries.chunks(CALL_MAX) {
                self.extend(chunk).await;
            }
            for chunk in attempts.chunks(CALL_MAX) {
                self.give_signs(chunk).await;
            }
        }
    }

    fn all(&self) -> (Vec<String>, Vec<Attempt>) {
        let (mut deliveries, mut attempts) = (Vec::new(), Vec::new());
        for (key, held) in self.lock().iter() {
            match &held.attempt {
                Some(attempt) => attempts.push(attempt.clone()),
                None => deliveries.push(key.clone()),
            }
        }
        (deliveries, attempts)
    }

    /// A server that is away says nothing of an attempt: it is lost only when the server says so, and
    /// its report is judged by the server anyway.
    async fn give_signs(&self, attempts: &[Attempt]) {
        match self.client.heartbeats(attempts).await {
            Ok(answers) => {
                let mut held = self.lock();
                let lost = attempts.iter().zip(answers).filter(|(_, kept)| *kept == Kept::Lost);
                lost.for_each(|(attempt, _)| lose(&mut held, &attempt.lease_id));
            }
            Err(error) => {
                tracing::warn!(%error, attempts = attempts.len(), "signs_of_life_not_given");
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

fn lose(held: &mut BTreeMap<String, Held>, key: &str) {
    if let Some(entry) = held.remove(key) {
        tracing::info!(key, "delivery_lost");
        // Nobody listens once the work has ended; its report is judged by the server.
        let _ = entry.lost.send(());
    }
}

impl Watched {
    /// Resolves when it is no longer this worker's.
    pub(crate) async fn lost(&mut self) {
        if (&mut self.lost).await.is_err() {
            // The sender goes only when it says so or when this is dropped.
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.heartbeat.lock().remove(&self.key);
    }
}
