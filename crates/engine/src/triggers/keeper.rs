//! Looks at the triggers that fire by themselves: schedules whose moment has come, and directories.
//!
//! The wait of a schedule is the row of its trigger (`next_at`); a change and the end of a run that a
//! firing waits for only make us look sooner. Among instances that share a store one looks at a time;
//! should two believe that it is theirs, the keys of the firings see to it that nothing is made twice.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use stepwell_core::duration::Interval;
use stepwell_core::id::{RunId, Tenant};
use stepwell_core::time::Timestamp;
use stepwell_dialects::workspaces::trigger::{self as document, Kind};
use stepwell_store::{Trigger, TriggerFilter, TriggerKind, TriggerProgress};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::task::JoinSet;

use super::files::Watched;
use super::note;
use super::schedule::Turn;
use crate::error::EngineError;
use crate::intake::Intake;
use crate::shared::{Change, Shared, stopped};

/// Triggers that have their turn at once.
const PAGE: usize = 64;

/// The longest sleep: a word that was lost costs no more than this.
const SLEEP_MAX: Interval = Interval::from_secs(60);

/// The same among several instances, whose words come from elsewhere.
const SHARED_SLEEP_MAX: Interval = Interval::from_secs(10);

/// How long an instance is the one that looks, unless it says so again.
const LEASE: Interval = Interval::from_secs(30);

/// The rest when the store is away.
const REST: Interval = Interval::from_secs(5);

/// Whose, and which.
type Name = (Tenant, String);

/// Fires triggers until the engine stops.
pub(crate) async fn triggers(shared: Arc<Shared>, intake: Intake) {
    if !shared.settings.triggers.enabled || !shared.settings.ownership.decides {
        return;
    }
    let mut stopping = shared.stopping.subscribe();
    let mut keeper = Keeper::new(Arc::clone(&shared), intake);
    loop {
        let next = keeper.turn().await.unwrap_or_else(|error| {
            tracing::warn!(%error, "triggers_not_read");
            shared.now().after(REST)
        });
        tokio::select! {
            biased;
            () = stopped(&mut stopping) => break,
            () = shared.triggers.changed.notified() => keeper.listed = false,
            () = keeper.ends.next() => {}
            () = shared.clock.sleep_until_ms(next.as_millis()) => {}
        }
    }
    keeper.give_back().await;
}

struct Keeper {
    shared: Arc<Shared>,
    intake: Intake,
    /// directories that are watched
    watched: BTreeMap<Name, Watched>,
    /// they are those of the store
    listed: bool,
    look_up_at: Timestamp,
    leased_until: Timestamp,
    ends: Ends,
}

impl Keeper {
    fn new(shared: Arc<Shared>, intake: Intake) -> Self {
        let long_ago = Timestamp::from_millis(0);
        Self {
            shared,
            intake,
            watched: BTreeMap::new(),
            listed: false,
            look_up_at: long_ago,
            leased_until: long_ago,
            ends: Ends::default(),
        }
    }

    /// Gives everything that is due its turn; answers when to look again.
    async fn turn(&mut self) -> Result<Timestamp, EngineError> {
        let sleep_max = if self.shared.store.is_shared() { SHARED_SLEEP_MAX } else { SLEEP_MAX };
        let later = self.shared.now().after(sleep_max);
        if !self.shared.may_decide() || !self.lease().await? {
            // What was seen of directories is old by the time it is ours again.
            self.watched.clear();
            self.listed = false;
            return Ok(later);
        }
        let next_schedule = self.schedules().await?;
        let next_look = self.directories().await?;
        Ok([next_schedule, next_look].into_iter().flatten().fold(later, Timestamp::min))
    }

    async fn lease(&mut self) -> Result<bool, EngineError> {
        if !self.shared.store.is_shared() {
            return Ok(true);
        }
        let now = self.shared.now();
        let until = now.after(LEASE);
        // It is said again when a third of it is over, not on every turn.
        if now.after(LEASE).since(self.leased_until) < Interval::from_secs(10) {
            return Ok(true);
        }
        let holder = self.shared.epoch().0.to_string();
        let is_ours = self.shared.store.lease("triggers".to_owned(), holder, now, until).await?;
        self.leased_until = if is_ours { until } else { Timestamp::from_millis(0) };
        Ok(is_ours)
    }

    async fn give_back(&self) {
        if self.leased_until > self.shared.now() {
            let (now, holder) = (self.shared.now(), self.shared.epoch().0.to_string());
            let until = Timestamp::from_millis(0);
            // Whoever waits for it waits a little longer.
            let _ = self.shared.store.lease("triggers".to_owned(), holder, now, until).await;
        }
    }

    /// Gives the schedules that are due, or whose run has ended, their turn.
    async fn schedules(&mut self) -> Result<Option<Timestamp>, EngineError> {
        let now = self.shared.now();
        let (mut due, next) = self.shared.store.due_triggers(now, PAGE).await?;
        for (tenant, name) in self.ends.take_ready() {
            let known = due.iter().any(|it| it.tenant == tenant && it.name == name);
            if !known {
                let filter = TriggerFilter {
                    tenant: Some(tenant),
                    name: Some(name),
                    enabled_only: true,
                    ..TriggerFilter::default()
                };
                due.extend(self.shared.store.triggers(filter).await?);
            }
        }
        if due.is_empty() {
            return Ok(next);
        }
        let mut turns = JoinSet::new();
        for trigger in due {
            let (shared, intake) = (Arc::clone(&self.shared), self.intake.clone());
            turns.spawn(async move {
                let waits_for = turn_of(&shared, &intake, &trigger).await;
                (trigger, waits_for)
            });
        }
        let mut look_again = Some(now);
        for (trigger, outcome) in turns.join_all().await {
            match outcome {
                Ok(Some(run)) => self.wait_for(run, (trigger.tenant, trigger.name)).await?,
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(trigger = trigger.name, %error, "trigger_not_fired");
                    look_again = Some(now.after(REST));
                }
            }
        }
        Ok(look_again)
    }

    async fn wait_for(&mut self, run: RunId, name: Name) -> Result<(), EngineError> {
        self.ends.wait_for(run, name.clone(), &self.shared);
        // It may have ended before we listened.
        let found = self.shared.runs(vec![run]).await?;
        if found.get(&run).is_none_or(|run| run.status.is_terminal()) {
            self.ends.ended(run);
        }
        Ok(())
    }

    /// Looks into the directories whose time has come.
    async fn directories(&mut self) -> Result<Option<Timestamp>, EngineError> {
        let now = self.shared.now();
        if !self.listed || self.look_up_at <= now {
            self.list().await?;
        }
        for watched in self.watched.values_mut().filter(|watched| watched.look_at <= now) {
            if !self.shared.may_decide() || *self.shared.stopping.borrow() {
                break;
            }
            watched.look(&self.shared, &self.intake).await;
        }
        Ok(self.watched.values().map(|watched| watched.look_at).min())
    }

    /// Brings what is watched to what the store says. What is unchanged stays as it is.
    async fn list(&mut self) -> Result<(), EngineError> {
        let now = self.shared.now();
        let filter = TriggerFilter {
            kind: Some(TriggerKind::FileDrop),
            enabled_only: true,
            ..TriggerFilter::default()
        };
        let stored = self.shared.store.triggers(filter).await?;
        let mut watched = std::mem::take(&mut self.watched);
        for trigger in stored {
            let name = (trigger.tenant.clone(), trigger.name.clone());
            let known = watched.remove(&name).filter(|it| it.trigger.version == trigger.version);
            let kept = match known {
                Some(known) => Some(known),
                None => self.begin(trigger, now).await?,
            };
            self.watched.extend(kept.map(|kept| (name, kept)));
        }
        self.listed = true;
        self.look_up_at = now.after(SLEEP_MAX);
        Ok(())
    }

    async fn begin(
        &self,
        trigger: Trigger,
        now: Timestamp,
    ) -> Result<Option<Watched>, EngineError> {
        let document = match read(&trigger) {
            Ok(document) => document,
            Err(why) => return unusable(&self.shared, &trigger, why).await.map(|_| None),
        };
        let Kind::FileDrop(files) = document.kind.clone() else { return Ok(None) };
        match Watched::new(trigger.clone(), document, files, now) {
            Ok(watched) => Ok(Some(watched)),
            Err(why) => unusable(&self.shared, &trigger, why.to_string()).await.map(|_| None),
        }
    }
}

/// What the document of a trigger means.
fn read(trigger: &Trigger) -> Result<document::Trigger, String> {
    document::of_json(&trigger.document)
        .map_err(|problems| format!("the document cannot be used: {problems}"))
}

async fn turn_of(
    shared: &Shared,
    intake: &Intake,
    trigger: &Trigger,
) -> Result<Option<RunId>, EngineError> {
    let document = match read(trigger) {
        Ok(document) => document,
        Err(why) => return unusable(shared, trigger, why).await,
    };
    match &document.kind {
        Kind::Schedule(schedule) => {
            Turn { shared, intake, trigger, document: &document, schedule }.take().await
        }
        Kind::Manual | Kind::Webhook(_) | Kind::FileDrop(_) => {
            let progress = TriggerProgress { next_at: None, ..note::unmoved(trigger, Vec::new()) };
            shared.note_trigger(progress).await.map(|_| None)
        }
    }
}

/// A document that an earlier release has accepted and this one does not: a person must look.
async fn unusable(
    shared: &Shared,
    trigger: &Trigger,
    why: String,
) -> Result<Option<RunId>, EngineError> {
    tracing::error!(trigger = trigger.name, why, "trigger_unusable");
    let progress = TriggerProgress {
        next_at: None,
        last_error: Some(why),
        ..note::unmoved(trigger, Vec::new())
    };
    shared.note_trigger(progress).await.map(|_| None)
}

/// Runs whose end is waited for. Listens only while there are any: every change of every run is told
/// to whoever listens.
#[derive(Default)]
struct Ends {
    changes: Option<broadcast::Receiver<Change>>,
    waiting: BTreeMap<RunId, Name>,
    ready: BTreeSet<Name>,
}

impl Ends {
    fn wait_for(&mut self, run: RunId, name: Name, shared: &Shared) {
        self.changes.get_or_insert_with(|| shared.changes.subscribe());
        // One trigger waits for one run.
        self.waiting.retain(|_, waiting| *waiting != name);
        self.waiting.insert(run, name);
    }

    fn ended(&mut self, run: RunId) {
        self.ready.extend(self.waiting.remove(&run));
    }

    fn take_ready(&mut self) -> BTreeSet<Name> {
        if self.waiting.is_empty() {
            self.changes = None;
        }
        std::mem::take(&mut self.ready)
    }

    /// Resolves when a run has ended that was waited for.
    async fn next(&mut self) {
        if !self.ready.is_empty() {
            return;
        }
        let Some(changes) = &mut self.changes else { return std::future::pending().await };
        loop {
            match changes.recv().await {
                Ok(change) if !change.status.is_terminal() => {}
                Ok(change) => {
                    if let Some(name) = self.waiting.remove(&change.run) {
                        self.ready.insert(name);
                        return;
                    }
                }
                Err(RecvError::Lagged(_)) => {
                    self.ready.extend(std::mem::take(&mut self.waiting).into_values());
                    return;
                }
                Err(RecvError::Closed) => return std::future::pending().await,
            }
        }
    }
}
