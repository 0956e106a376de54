//! Looks at the schedules whose moment has come.
//!
//! The wait of a schedule is the row of its trigger (`next_at`); a change and the end of a run that a
//! firing waits for only make us look sooner. Among instances that share a store one looks at a time;
//! should two believe that it is theirs, the keys of the firings see to it that nothing is made twice.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use stepwell_core::id::{RunId, Tenant};
use stepwell_core::time::Timestamp;
use stepwell_dialects::workspaces::trigger::Kind;
use stepwell_store::{Trigger, TriggerFilter, TriggerProgress};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::task::JoinSet;

use super::lease::{Lease, REST, sleep_max};
use super::note::{self, read, unusable};
use super::schedule::Turn;
use crate::error::EngineError;
use crate::intake::Intake;
use crate::shared::{Change, Shared, stopped};

/// Triggers that have their turn at once.
const PAGE: usize = 64;

/// Whose, and which.
type Name = (Tenant, String);

/// Fires schedules until the engine stops.
pub(crate) async fn schedules(shared: Arc<Shared>, intake: Intake) {
    if !shared.settings.triggers.enabled {
        return;
    }
    let mut stopping = shared.stopping.subscribe();
    let mut keeper = Keeper {
        lease: Lease::new("triggers"),
        ends: Ends::default(),
        shared: Arc::clone(&shared),
        intake,
    };
    loop {
        let turn = keeper.turn().await;
        let failed = turn.is_err();
        let next = turn.unwrap_or_else(|error| {
            tracing::warn!(%error, "triggers_not_read");
            shared.now().after(REST)
        });
        tokio::select! {
            biased;
            () = stopped(&mut stopping) => break,
            () = shared.triggers.schedules.notified() => {}
            // An end that could not be looked at is still there after the rest.
            () = keeper.ends.next(), if !failed => {}
            () = shared.clock.sleep_until_ms(next.as_millis()) => {}
        }
    }
    keeper.lease.give_back(&shared).await;
}

struct Keeper {
    shared: Arc<Shared>,
    intake: Intake,
    lease: Lease,
    ends: Ends,
}

impl Keeper {
    /// Gives everything that is due its turn; answers when to look again.
    async fn turn(&mut self) -> Result<Timestamp, EngineError> {
        let later = self.shared.now().after(sleep_max(&self.shared));
        if !self.lease.take(&self.shared).await? {
            // Whoever looks now waits for them.
            self.ends = Ends::default();
            return Ok(later);
        }
        Ok(self.schedules().await?.map_or(later, |next| next.min(later)))
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
}

async fn turn_of(
    shared: &Shared,
    intake: &Intake,
    trigger: &Trigger,
) -> Result<Option<RunId>, EngineError> {
    let document = match read(trigger) {
        Ok(document) => document,
        Err(why) => return unusable(shared, trigger, &why.to_string()).await.map(|()| None),
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
