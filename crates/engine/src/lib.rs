//! When it happens: intake, decide, commit, publish, wake.
//!
//! An [`Engine`] is a handle; its tasks run until [`Engine::stop`]. Everything that changes a run
//! goes through one bounded door ([`intake`]) to one task (`handle`), which decides, commits a group
//! and answers. Around it stand small tasks that each lead back to that door: `timers`, `refill`
//! (bus windows and what the bus gave up), `relay` (outbox), `retention`.

mod agreements;
mod batches;
mod cache;
mod catalog;
mod clock;
mod error;
mod fresh;
mod group;
mod handle;
mod hunger;
mod inputs;
pub mod intake;
mod keeping;
mod keyring;
mod letters;
mod metrics;
mod outside;
mod ownership;
mod refill;
mod relay;
mod retention;
mod settings;
mod shared;
mod signals;
mod standing;
mod stats;
mod submissions;
mod subscriptions;
mod take;
mod tell;
mod timers;
mod triggers;
mod unusable;
mod write;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use stepwell_connectors::bus::Bus;
use stepwell_connectors::clock::Clock;
use stepwell_connectors::egress::Egress;
use stepwell_core::command::Command;
use stepwell_core::duration::Interval;
use stepwell_core::id::RunId;
use stepwell_core::run::Run;
use stepwell_core::time::Timestamp;
use stepwell_dialects::workspaces::Defaults;
use stepwell_store::{
    Instance, NewDeadLetter, NewSubmission, Signal, Store, StoreError, Submission, Subscription,
    WorkflowDocument,
};
use tokio::sync::{broadcast, mpsc};
use tokio::task::JoinHandle;

pub use batches::{
    BatchError, BatchOperation, BatchOrder, BatchOrderResult, NumberedReport, OrderFilter,
    OrderOutcome, Preview, PreviewGroup, Published, Sources,
};
pub use catalog::{Compiled, CompiledRunbook, PublishError};
pub use error::EngineError;
pub use fresh::IdSource;
pub use intake::{Answered, Ask, Reply, Start};
pub use keeping::{Kept, SignOfLife};
pub use keyring::RotatedSecret;
pub use metrics::Metrics;
pub use settings::{
    EventSettings, Keep, Ownership, Retention, Scheduler, Settings, TriggerSettings,
};
pub use shared::Change;
pub use stats::Stats;
pub use take::{Held, NotHeld, Take, Taken};
pub use triggers::{Fired, HookCall, NextFiring, PutTrigger, TriggerError};
pub use unusable::Unusable;

use clock::StoreClock;
use intake::Intake;
use shared::Shared;
use standing::Standing;
use stats::Counters;

/// What an engine is made of.
pub struct Parts {
    /// how it is kept
    pub store: Arc<dyn Store>,
    /// how it travels to workers
    pub bus: Arc<dyn Bus>,
    /// what time it is
    pub clock: Arc<dyn Clock>,
    /// how messages reach the outside
    pub egress: Egress,
    /// what they are signed with
    pub webhook_secret: Vec<u8>,
    /// limits and times
    pub settings: Settings,
}

/// A handle on a running engine.
#[derive(Clone)]
pub struct Engine {
    shared: Arc<Shared>,
    outside: Arc<outside::Sender>,
    intake: Arc<Mutex<Option<Intake>>>,
    tasks: Arc<Mutex<Vec<JoinHandle<()>>>>,
}

impl Engine {
    /// Takes the store over, recovers what was under way, and begins to work.
    ///
    /// # Errors
    /// When the store cannot be taken over.
    pub async fn start(parts: Parts, instance: &str) -> Result<Self, StoreError> {
        let Parts { store, bus, clock, egress, webhook_secret, settings } = parts;
        let clock = StoreClock::new(clock);
        let now = Timestamp::from_millis(clock.now_ms());
        // Among others every start is somebody new (B-043).
        let id =
            if store.is_shared() { settings.ids.id(now).to_string() } else { instance.to_owned() };
        let epoch = store.open_epoch(&id).await?;
        let (sender, inbox) = mpsc::channel(settings.intake_max);
        let (giver, orders) = mpsc::channel(1);
        let (standing, counters) = (Standing::new(epoch), Counters::new(id, now));
        let shared = Arc::new(Shared::new(store, bus, clock, settings, standing, counters));
        shared.has_joined();
        refill::recover(&shared).await?;
        shared.look_at_agreements().await;
        // Whoever has subscribed is told of the first decision too.
        shared.read_subscriptions().await?;
        let intake = Intake::new(sender);
        let outside = Arc::new(outside::Sender::new(egress, webhook_secret));
        let handler = handle::Handler::new(Arc::clone(&shared), orders);
        let tasks = vec![
            tokio::spawn(timers::timers(Arc::clone(&shared), intake.clone())),
            tokio::spawn(refill::refill(Arc::clone(&shared))),
            tokio::spawn(refill::give_up(Arc::clone(&shared), intake.clone())),
            tokio::spawn(relay::relay(Arc::clone(&shared), Arc::clone(&outside))),
            tokio::spawn(retention::retention(Arc::clone(&shared))),
            tokio::spawn(ownership::ownership(Arc::clone(&shared))),
            tokio::spawn(signals::signals(Arc::clone(&shared))),
            tokio::spawn(subscriptions::subscriptions(Arc::clone(&shared))),
            tokio::spawn(inputs::inputs(Arc::clone(&shared), intake.clone())),
            tokio::spawn(submissions::submissions(Arc::clone(&shared), intake.clone())),
            tokio::spawn(batches::keeper(Arc::clone(&shared), intake.clone())),
            tokio::spawn(batches::scheduler(Arc::clone(&shared), intake.clone())),
            tokio::spawn(triggers::schedules(Arc::clone(&shared), intake.clone())),
            tokio::spawn(triggers::file_drops(Arc::clone(&shared), intake.clone())),
            tokio::spawn(hunger::hunger(Arc::clone(&shared), giver)),
            tokio::spawn(handler.run(inbox)),
        ];
        Ok(Self {
            shared,
            outside,
            intake: Arc::new(Mutex::new(Some(intake))),
            tasks: Arc::new(Mutex::new(tasks)),
        })
    }

    /// Stops: takes nothing new in, commits and answers what was taken in, closes the store.
    pub async fn stop(&self) {
        self.shared.stopping.send_replace(true);
        self.intake.lock().unwrap_or_else(PoisonError::into_inner).take();
        let tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        for task in tasks {
            let _ = task.await;
        }
        // What is ours is anybody's at once; nobody has to wait until we were silent for too long.
        if let Err(error) = self.shared.store.retire(self.shared.epoch()).await {
            tracing::warn!(%error, "runs_not_released");
        }
        if let Err(error) = self.shared.store.close().await {
            tracing::warn!(%error, "store_not_closed_cleanly");
        }
    }

    /// Ends every task where it stands, as a crash would. For simulators and tests of recovery.
    pub fn crash(&self) {
        for task in self.tasks.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            task.abort();
        }
    }

    /// Posts a signed message to an address that is told of events, once and now; answers the status, or
    /// why it did not arrive.
    ///
    /// # Errors
    /// When the address may not be called, or did not accept it.
    pub async fn deliver(&self, to: &Subscription, body: String) -> Result<u16, String> {
        self.outside.post(&self.shared, to, body).await
    }

    /// Asks for several decisions at once, and waits for their commit. The answers keep the order.
    ///
    /// # Errors
    /// When nothing was taken in: the engine is busy or stopping.
    pub async fn ask(&self, asks: Vec<Ask>) -> Result<Vec<Answered>, EngineError> {
        self.door()?.ask(asks).await
    }

    /// Asks for one decision.
    ///
    /// # Errors
    /// What the run, the store or the engine says against it.
    pub async fn ask_one(&self, ask: Ask) -> Answered {
        let mut answers = self.ask(vec![ask]).await?;
        answers.pop().unwrap_or(Err(EngineError::Stopped))
    }

    /// Sends a command to a run; answers with the run as it is after the commit.
    ///
    /// # Errors
    /// What the run, the store or the engine says against it.
    pub async fn command(&self, run: RunId, command: Command) -> Result<Arc<Run>, EngineError> {
        self.command_at(run, command, None).await
    }

    /// The same, but only if the run is still at a version: no change in between is overwritten.
    ///
    /// # Errors
    /// What the run, the store or the engine says against it.
    pub async fn command_at(
        &self,
        run: RunId,
        command: Command,
        at_version: Option<u64>,
    ) -> Result<Arc<Run>, EngineError> {
        match self.ask_one(Ask::Command { run, command, at_version }).await? {
            Reply::Applied(run) | Reply::Stored(run) | Reply::Started(run) => Ok(run),
            Reply::Repeated(_) => {
                Err(EngineError::Broken("a command is never repeated".to_owned()))
            }
        }
    }

    /// Leases directives to a worker, waiting for the first if none is there.
    ///
    /// # Errors
    /// When the bus or the store is away, or the engine stops.
    pub async fn take(&self, ask: Take<'_>) -> Result<Vec<Taken>, EngineError> {
        let mut stopping = self.shared.stopping.subscribe();
        tokio::select! {
            biased;
            () = shared::stopped(&mut stopping) => Err(EngineError::Stopped),
            taken = self.shared.take(ask) => taken,
        }
    }

    /// Keeps deliveries longer; `false` for each that is no longer the worker's.
    ///
    /// # Errors
    /// When the bus or the store is away.
    pub async fn extend(
        &self,
        held: Vec<Held>,
        visibility: Duration,
    ) -> Result<Vec<bool>, EngineError> {
        self.shared.extend(held, visibility).await
    }

    /// Gives deliveries back, each to be handed out again after a delay; `false` for each that was
    /// no longer the worker's.
    ///
    /// # Errors
    /// When the bus is away.
    pub async fn give_back(&self, held: Vec<(Held, Duration)>) -> Result<Vec<bool>, EngineError> {
        self.shared.give_back(held).await
    }

    /// A run as it was last committed.
    ///
    /// # Errors
    /// When the store is away.
    pub async fn run(&self, id: RunId) -> Result<Option<Arc<Run>>, EngineError> {
        Ok(self.shared.runs(vec![id]).await?.remove(&id))
    }

    /// Runs as they were last committed; ids that do not exist are missing.
    ///
    /// # Errors
    /// When the store is away.
    pub async fn runs(&self, ids: Vec<RunId>) -> Result<HashMap<RunId, Arc<Run>>, EngineError> {
        self.shared.runs(ids).await
    }

    /// The same in brief: what ended steps of a batch's runs were given and returned is left out.
    ///
    /// # Errors
    /// When the store is away.
    pub async fn runs_in_brief(
        &self,
        ids: Vec<RunId>,
    ) -> Result<HashMap<RunId, Arc<Run>>, EngineError> {
        let found = self.shared.owned_runs(ids).await?;
        Ok(found.into_iter().map(|(id, found)| (id, found.run)).collect())
    }

    /// Publishes a workflow document as the next version of its name.
    ///
    /// # Errors
    /// What is wrong with the document, or why it could not be stored.
    pub async fn publish_workflow(
        &self,
        source: String,
        actor: String,
    ) -> Result<WorkflowDocument, PublishError> {
        let published = self.shared.catalog.publish(source, actor, self.now()).await;
        if published.is_ok() && self.shared.store.is_shared() {
            // Others ask again by themselves, only later.
            let _ = self.shared.store.tell(self.shared.epoch(), Signal::Published).await;
        }
        published
    }

    /// Stores an address that is told of events, new or changed; from here on it is told.
    ///
    /// # Errors
    /// When the store is away.
    pub async fn put_subscription(&self, subscription: Subscription) -> Result<(), EngineError> {
        self.shared.put_subscription(subscription).await
    }

    /// Tells an address no more; `false` if there is none such.
    ///
    /// # Errors
    /// When the store is away.
    pub async fn delete_subscription(&self, id: String) -> Result<bool, EngineError> {
        self.shared.delete_subscription(id).await
    }

    /// Gives an address that is told of events a fresh secret of its own. What it was signed for until now
    /// stays good for a while: until then every message carries both signatures. The answer is the only
    /// place that ever shows it.
    ///
    /// # Errors
    /// When the store is away.
    pub async fn rotate_subscription_secret(
        &self,
        id: &str,
        grace: Interval,
        actor: &str,
    ) -> Result<RotatedSecret, EngineError> {
        self.outside.rotate(&self.shared, id, grace, actor).await
    }

    /// Puts orders for runs in their queues; `false` for each whose message id waits there already.
    ///
    /// # Errors
    /// When the store is away: nothing was put there.
    pub async fn submit(&self, orders: Vec<NewSubmission>) -> Result<Vec<bool>, EngineError> {
        if self.is_stopping() {
            return Err(EngineError::Stopped);
        }
        self.shared.submit(orders).await
    }

    /// Keeps a message that nobody can use as a dead letter, and tells whoever has subscribed. Equal
    /// messages leave one letter for as long as it is open.
    ///
    /// `why` says what is wrong with a message of the same queue, which another caller may have brought.
    ///
    /// # Errors
    /// When the store is away.
    pub async fn keep_unusable(
        &self,
        message: Unusable<'_>,
        why: fn(&Submission, Timestamp) -> Option<NewDeadLetter>,
    ) -> Result<(), EngineError> {
        self.shared.keep_unusable(&message, why).await
    }

    /// All instances that share the store; none if it is not shared.
    ///
    /// # Errors
    /// When the store is away.
    pub async fn instances(&self) -> Result<Vec<Instance>, EngineError> {
        Ok(self.shared.store.instances().await?)
    }

    /// What this instance says of itself.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.shared.stats.stats(&self.shared)
    }

    /// Whether it may decide: in a shared store, whether its last sign of life is recent enough.
    #[must_use]
    pub fn may_decide(&self) -> bool {
        self.shared.may_decide()
    }

    /// The name of the queue of orders that it serves.
    #[must_use]
    pub fn job_queue(&self) -> &str {
        &self.shared.settings.job_queue
    }

    /// How it shares the store with other instances.
    #[must_use]
    pub fn ownership(&self) -> Ownership {
        self.shared.settings.ownership
    }

    /// The newest version of a workflow.
    ///
    /// # Errors
    /// When the store is away.
    pub async fn workflow(&self, name: &str) -> Result<Option<Arc<Compiled>>, EngineError> {
        self.shared.catalog.newest(name).await
    }

    /// What every job of a workspace is granted.
    #[must_use]
    pub fn workspaces(&self) -> &Defaults {
        &self.shared.settings.workspaces
    }

    /// When retention deletes a run, as it was fixed at its end (C-041); `None` while it goes on, and for
    /// one that is kept for ever.
    ///
    /// # Errors
    /// When the store is away.
    pub async fn expires_at(&self, run: &Run) -> Result<Option<Timestamp>, EngineError> {
        if !run.status.is_terminal() {
            return Ok(None);
        }
        let expiries = self.shared.store.expiries(vec![run.id()]).await?;
        Ok(expiries.first().copied().flatten())
    }

    /// The workflow that answers a request type.
    ///
    /// # Errors
    /// When the store is away.
    pub async fn protocol(&self, request_type: &str) -> Result<Option<Arc<Compiled>>, EngineError> {
        self.shared.catalog.protocol(request_type).await
    }

    /// Changes of runs as they are committed. A slow listener misses some, and reads the history.
    #[must_use]
    pub fn changes(&self) -> broadcast::Receiver<Change> {
        self.shared.changes.subscribe()
    }

    /// Where everything is kept, for reading.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.shared.store
    }

    /// How it travels to workers.
    #[must_use]
    pub fn bus(&self) -> &Arc<dyn Bus> {
        &self.shared.bus
    }

    /// Counters and histograms.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.shared.metrics
    }

    /// The engine's time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.shared.now()
    }

    /// A fresh id for a run.
    #[must_use]
    pub fn fresh_run_id(&self) -> RunId {
        RunId(self.shared.settings.ids.id(self.now()))
    }

    /// It has been told to stop, or another process has taken the store over.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        *self.shared.stopping.borrow()
    }

    /// Resolves when it is told to stop, or another process has taken the store over.
    pub async fn until_stopping(&self) {
        shared::stopped(&mut self.shared.stopping.subscribe()).await;
    }

    /// Another process has taken the store over.
    #[must_use]
    pub fn is_fenced(&self) -> bool {
        self.shared.is_fenced()
    }

    fn door(&self) -> Result<Intake, EngineError> {
        let door = self.intake.lock().unwrap_or_else(PoisonError::into_inner);
        door.clone().ok_or(EngineError::Stopped)
    }
}
