//! Looks into the directories that triggers watch, time and again.
//!
//! Apart from the schedules: a share that does not answer must not make them late.

use std::collections::BTreeMap;
use std::sync::Arc;

use stepwell_core::id::Tenant;
use stepwell_core::time::Timestamp;
use stepwell_core::trigger::TriggerKind;
use stepwell_dialects::workspaces::trigger::Kind;
use stepwell_store::{Trigger, TriggerFilter};

use super::files::Watched;
use super::lease::{Lease, REST, sleep_max};
use super::note::{read, unusable};
use crate::error::EngineError;
use crate::intake::Intake;
use crate::shared::{Shared, stopped};

/// Whose, and which.
type Name = (Tenant, String);

/// Takes dropped files until the engine stops.
pub(crate) async fn file_drops(shared: Arc<Shared>, intake: Intake) {
    let settings = &shared.settings.triggers;
    if !settings.enabled || settings.directories.is_empty() {
        return;
    }
    let mut stopping = shared.stopping.subscribe();
    let long_ago = Timestamp::from_millis(0);
    let mut watch = Watch {
        lease: Lease::new("file drops"),
        watched: BTreeMap::new(),
        list_at: long_ago,
        shared: Arc::clone(&shared),
        intake,
    };
    loop {
        let next = watch.turn().await.unwrap_or_else(|error| {
            tracing::warn!(%error, "file_drops_not_read");
            shared.now().after(REST)
        });
        tokio::select! {
            biased;
            () = stopped(&mut stopping) => break,
            () = shared.triggers.file_drops.notified() => watch.list_at = long_ago,
            () = shared.clock.sleep_until_ms(next.as_millis()) => {}
        }
    }
    watch.lease.give_back(&shared).await;
}

struct Watch {
    shared: Arc<Shared>,
    intake: Intake,
    lease: Lease,
    /// directories that are watched
    watched: BTreeMap<Name, Watched>,
    /// when to see whether they are still those of the store
    list_at: Timestamp,
}

impl Watch {
    /// Looks into the directories whose time has come; answers when to look again.
    async fn turn(&mut self) -> Result<Timestamp, EngineError> {
        let now = self.shared.now();
        let later = now.after(sleep_max(&self.shared));
        if !self.lease.take(&self.shared).await? {
            // What was seen of directories is old by the time it is ours again.
            self.watched.clear();
            self.list_at = now;
            return Ok(later);
        }
        if self.list_at <= now {
            self.list().await?;
        }
        for watched in self.watched.values_mut().filter(|watched| watched.look_at <= now) {
            if *self.shared.stopping.borrow() {
                break;
            }
            watched.look(&self.shared, &self.intake).await;
        }
        let next = self.watched.values().map(|watched| watched.look_at).min();
        Ok(next.map_or(self.list_at, |next| next.min(self.list_at)))
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
        self.list_at = now.after(sleep_max(&self.shared));
        Ok(())
    }

    async fn begin(
        &self,
        trigger: Trigger,
        now: Timestamp,
    ) -> Result<Option<Watched>, EngineError> {
        let document = match read(&trigger) {
            Ok(document) => document,
            Err(why) => {
                return unusable(&self.shared, &trigger, &why.to_string()).await.map(|()| None);
            }
        };
        let Kind::FileDrop(files) = document.kind.clone() else { return Ok(None) };
        match Watched::new(trigger.clone(), document, files, now) {
            Ok(watched) => Ok(Some(watched)),
            Err(why) => unusable(&self.shared, &trigger, &why.to_string()).await.map(|()| None),
        }
    }
}
