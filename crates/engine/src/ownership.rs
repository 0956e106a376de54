//! Staying alive among others: signs of life, taking over what the silent leave behind, and coming
//! back as somebody new after having been declared dead.
//!
//! The order of things makes it safe. An instance stops deciding a while before others may take its
//! runs, because it counts from the moment it sent its last sign of life, and they from the later
//! moment at which it arrived. If it is late all the same (it was paused, its clock stood), the store
//! refuses what it writes.

use std::pin::Pin;
use std::sync::Arc;

use stepwell_core::duration::Interval;
use stepwell_core::time::Timestamp;
use stepwell_store::{Epoch, Pulse, Reclaimed, Signal, StoreError};

use crate::refill;
use crate::shared::{Shared, stopped};

/// Runs taken over in one transaction.
const PAGE: usize = 256;

/// The rest after the store could not be reached.
const REST: Interval = Interval::from_secs(1);

/// Something that was begun and has not ended.
type UnderWay<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Lives among others until the engine stops; in a store of its own there is nobody else.
pub(crate) async fn ownership(shared: Arc<Shared>) {
    if !shared.store.is_shared() {
        return;
    }
    let mut stopping = shared.stopping.subscribe();
    let at_once = Timestamp::from_millis(0);
    let (mut beat_at, mut scan_at) = (at_once, at_once);
    // A takeover may wait for others' commits, or be long. Signs of life go on beside it, or whoever
    // takes over would look dead.
    let mut scanning: Option<UnderWay<'_, Timestamp>> = None;
    loop {
        if shared.clock.own() >= beat_at {
            beat_at = beat(&shared).await;
        }
        if scanning.is_none() && shared.clock.own() >= scan_at {
            scanning = Some(Box::pin(scan(&shared)));
        }
        let scans = scanning.is_some();
        let wake_at = shared.reckoned(if scans { beat_at } else { beat_at.min(scan_at) });
        tokio::select! {
            biased;
            () = stopped(&mut stopping) => break,
            next = ended(&mut scanning), if scans => (scan_at, scanning) = (next, None),
            () = shared.standing.refused.notified() => beat_at = at_once,
            () = shared.standing.free.notified(), if !scans => scan_at = at_once,
            () = shared.clock.sleep_until_ms(wake_at.as_millis()) => {}
        }
    }
    // What it takes over must be ours before we say good-bye.
    if let Some(scan) = scanning {
        scan.await;
    }
}

/// The end of what is under way; never, if nothing is.
async fn ended<T>(under_way: &mut Option<UnderWay<'_, T>>) -> T {
    match under_way {
        Some(under_way) => under_way.await,
        None => std::future::pending().await,
    }
}

/// Gives a sign of life; answers when the next one is due, by our own clock.
async fn beat(shared: &Shared) -> Timestamp {
    let settings = shared.settings.ownership;
    let asked_at = shared.clock.own();
    let stats = shared.stats.to_json(shared);
    match shared.store.heartbeat(shared.epoch(), stats).await {
        Ok(Pulse { now }) => {
            if let Some(now) = now {
                shared.clock.set(now, asked_at, shared.clock.own());
            }
            shared.stats.beaten(shared.now());
            shared.standing.holds_until(asked_at.after(settings.holds_for()));
            asked_at.after(settings.heartbeat)
        }
        Err(StoreError::Fenced { mine, .. }) => {
            tracing::error!(epoch = mine, "declared_dead: others have taken over; starting anew");
            shared.stats.failed();
            shared.stats.fenced(1);
            match shared.begin_anew().await {
                Ok(()) => shared.clock.own(),
                Err(error) => {
                    tracing::warn!(%error, "not_registered");
                    shared.clock.own().after(REST)
                }
            }
        }
        Err(error) => {
            tracing::warn!(%error, "heartbeat_failed");
            shared.stats.failed();
            // Sooner than usual: a missed sign of life costs the runs, a repeated one costs a row.
            asked_at.after(REST.min(settings.heartbeat))
        }
    }
}

/// Takes over whatever nobody living owns, page by page until nothing is left; answers when
/// to look again, by our own clock.
async fn scan(shared: &Shared) -> Timestamp {
    let settings = shared.settings.ownership;
    if !settings.decides || !shared.may_decide() {
        return shared.clock.own().after(settings.scan);
    }
    let mut taken = 0;
    let next_in = loop {
        let page = shared.store.reclaim(shared.epoch(), settings.silence, PAGE).await;
        match page {
            Ok(Reclaimed { runs, dead, next_in }) => {
                if !dead.is_empty() {
                    shared.left_behind().await;
                }
                taken += runs.len();
                shared.stats.reclaimed(runs.len());
                if runs.len() < PAGE {
                    break next_in;
                }
            }
            Err(error) => {
                tracing::warn!(%error, "reclaim_failed");
                shared.stats.failed();
                if matches!(error, StoreError::Fenced { .. }) {
                    shared.lost_ownership(1);
                }
                break Some(REST);
            }
        }
    };
    shared.stats.scanned(shared.now());
    // Whatever words were missed: the newest protocols are asked for again now and then.
    shared.catalog.forget_protocols();
    if taken > 0 {
        tracing::info!(runs = taken, "runs_taken_over");
        shared.received_runs().await;
        // Whoever left them may have left messages unsent, too.
        shared.outbox.notify_one();
    }
    // The earliest moment at which somebody will have been silent for too long, and a little more.
    let next_in = next_in.and_then(|next| next.checked_add(Interval::from_millis(10)));
    shared.clock.own().after(next_in.map_or(settings.scan, |next| next.min(settings.scan)))
}

impl Shared {
    /// Whether nobody else can have taken our runs yet.
    pub(crate) fn may_decide(&self) -> bool {
        self.standing.holds_at(self.clock.own())
    }

    /// Runs came to us that others have decided: look at what waits in them.
    pub(crate) async fn received_runs(&self) {
        self.wake_at(Timestamp::from_millis(0));
        self.inputs.notify_one();
        self.batches.look_at_all();
        if let Err(error) = refill::recover(self).await {
            tracing::warn!(%error, "queues_not_read");
        }
    }

    /// Somebody was declared dead: what it did alone is free, and whoever may do it is to look, here and
    /// elsewhere.
    async fn left_behind(&self) {
        self.triggers.changed();
        // Others look by themselves, only later.
        let _ = self.store.tell(self.epoch(), Signal::LookAgain).await;
    }

    /// Takes a new right to write. What was ours under the old one is anybody's.
    pub(crate) async fn begin_anew(&self) -> Result<(), StoreError> {
        let epoch = self.store.open_epoch(&self.stats.renew(self.fresh_id())).await?;
        self.become_owner(epoch);
        self.standing.free.notify_one();
        Ok(())
    }

    fn become_owner(&self, epoch: Epoch) {
        self.cache.forget_all();
        if let Some(window) = self.bus.window() {
            window.forget_all();
        }
        self.standing.enter(epoch);
        self.has_joined();
    }

    /// To come is a sign of life.
    pub(crate) fn has_joined(&self) {
        if self.store.is_shared() {
            let holds_for = self.settings.ownership.holds_for();
            self.standing.holds_until(self.clock.own().after(holds_for));
        }
    }

    /// A reading of our own clock, as the moment that the engine's clock will show then.
    fn reckoned(&self, own: Timestamp) -> Timestamp {
        self.now().after(own.since(self.clock.own()))
    }
}
