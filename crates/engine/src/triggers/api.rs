//! What people ask of triggers: make, change, switch, forget, fire, look.

use std::path::Path;

use serde_json::{Map, Value};
use stepwell_connectors::file_drop::{DropDirectory, Glob, check_place};
use stepwell_core::id::Tenant;
use stepwell_core::time::Timestamp;
use stepwell_core::trigger::TriggerKind;
use stepwell_dialects::rejection::Rejection;
use stepwell_dialects::workspaces::redact;
use stepwell_dialects::workspaces::schedule::Schedule;
use stepwell_dialects::workspaces::trigger::{self as document, AfterFile, Kind, ScheduleKind};
use stepwell_store::{Firing, FiringOutcome, Signal, Trigger, TriggerFilter, TriggerProgress};

use super::error::TriggerError;
use super::start::{Made, Order, made_before, start_all};
use super::{hook, note};
use crate::Engine;
use crate::error::EngineError;

/// A trigger that was made or changed.
#[derive(Clone, Debug)]
pub struct PutTrigger {
    /// as it is now
    pub trigger: Trigger,
    /// it was not there before
    pub created: bool,
    /// the secret of a webhook, as people copy it; only when it was made, never again
    pub secret: Option<String>,
}

/// A firing that has made a run.
#[derive(Clone, Debug)]
pub struct Fired {
    /// what was noted of it
    pub firing: Firing,
    /// the same firing had made the run before
    pub repeated: bool,
}

/// A firing to come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextFiring {
    /// when
    pub at: Timestamp,
    /// what the clock of the place shows then, in RFC 3339 with its offset
    pub local: String,
}

impl Engine {
    /// Makes a trigger of a document, or changes the one of its name; with `seen`, only if that is the
    /// version it has (0: only if there is none). A new schedule fires from now on.
    ///
    /// # Errors
    /// What is wrong with the document, or that it has changed since.
    pub async fn put_trigger(
        &self,
        tenant: &Tenant,
        document: &document::Trigger,
        seen: Option<u32>,
        actor: &str,
    ) -> Result<PutTrigger, TriggerError> {
        self.check(document).await?;
        let now = self.now();
        let known = self.find_trigger(tenant, &document.name).await?;
        let version = known.as_ref().map_or(0, |known| known.version);
        let changed = || TriggerError::Changed { name: document.name.clone(), version };
        if seen.is_some_and(|seen| seen != version) {
            return Err(changed());
        }
        let (next_at, fired_until) = self.next_look(document, known.as_ref()).await?;
        let trigger = Trigger {
            tenant: tenant.clone(),
            name: document.name.clone(),
            kind: document.kind.trigger_type(),
            workflow: document.workflow_id.clone(),
            document: document.to_json(),
            enabled: document.enabled,
            version: version + 1,
            next_at,
            fired_until,
            last_error: None,
            actor: actor.to_owned(),
            created_at: known.as_ref().map_or(now, |known| known.created_at),
            updated_at: now,
        };
        if !self.shared.store.put_trigger(trigger.clone()).await? {
            return Err(changed());
        }
        self.triggers_changed().await;
        let was_hook = known.as_ref().is_some_and(|known| known.kind == TriggerKind::Webhook);
        let secret = match &document.kind {
            Kind::Webhook(webhook) if webhook.secret_env.is_none() && !was_hook => {
                Some(self.hook_keyring(&trigger, webhook).await?.shown())
            }
            _ => None,
        };
        Ok(PutTrigger { trigger, created: known.is_none(), secret })
    }

    /// Switches a trigger on or off. What a schedule missed while it was off is not caught up.
    ///
    /// # Errors
    /// There is none, or somebody changes it at the same time.
    pub async fn switch_trigger(
        &self,
        tenant: &Tenant,
        name: &str,
        enabled: bool,
        actor: &str,
    ) -> Result<Trigger, TriggerError> {
        let trigger = self.trigger(tenant, name).await?;
        if trigger.enabled == enabled {
            return Ok(trigger);
        }
        let mut document = read(&trigger)?;
        document.enabled = enabled;
        let put = self.put_trigger(tenant, &document, Some(trigger.version), actor).await?;
        Ok(put.trigger)
    }

    /// Forgets a trigger and its firings. What it has started goes on.
    ///
    /// # Errors
    /// There is none, or the store is away.
    pub async fn delete_trigger(&self, tenant: &Tenant, name: &str) -> Result<(), TriggerError> {
        if !self.shared.store.delete_trigger(tenant.clone(), name.to_owned()).await? {
            return Err(TriggerError::NotFound(name.to_owned()));
        }
        self.triggers_changed().await;
        Ok(())
    }

    /// The triggers of a workspace, by name.
    ///
    /// # Errors
    /// When the store is away.
    pub async fn triggers(&self, tenant: &Tenant) -> Result<Vec<Trigger>, TriggerError> {
        let filter = TriggerFilter { tenant: Some(tenant.clone()), ..TriggerFilter::default() };
        Ok(self.shared.store.triggers(filter).await?)
    }

    /// A trigger of a workspace.
    ///
    /// # Errors
    /// There is none, or the store is away.
    pub async fn trigger(&self, tenant: &Tenant, name: &str) -> Result<Trigger, TriggerError> {
        let found = self.find_trigger(tenant, name).await?;
        found.ok_or_else(|| TriggerError::NotFound(name.to_owned()))
    }

    async fn find_trigger(
        &self,
        tenant: &Tenant,
        name: &str,
    ) -> Result<Option<Trigger>, TriggerError> {
        let filter = TriggerFilter {
            tenant: Some(tenant.clone()),
            name: Some(name.to_owned()),
            ..TriggerFilter::default()
        };
        Ok(self.shared.store.triggers(filter).await?.pop())
    }

    /// What became of the firings of a trigger, newest first.
    ///
    /// # Errors
    /// There is no such trigger, or the store is away.
    pub async fn firings(
        &self,
        tenant: &Tenant,
        name: &str,
        outcome: Option<FiringOutcome>,
        limit: usize,
    ) -> Result<Vec<Firing>, TriggerError> {
        self.trigger(tenant, name).await?;
        let (tenant, name) = (tenant.clone(), name.to_owned());
        Ok(self.shared.store.firings(tenant, name, outcome, limit).await?)
    }

    /// Fires a trigger now, whatever its schedule and its overlap say; `key` makes a repetition
    /// recognizable. What is given goes over what the trigger says.
    ///
    /// # Errors
    /// It is switched off, or is not fired by hand, or its job is refused.
    pub async fn fire(
        &self,
        tenant: &Tenant,
        name: &str,
        key: Option<&str>,
        input: Map<String, Value>,
    ) -> Result<Fired, TriggerError> {
        let trigger = self.trigger(tenant, name).await?;
        if !trigger.enabled {
            return Err(TriggerError::Disabled(name.to_owned()));
        }
        let document = read(&trigger)?;
        let variables = match &document.kind {
            Kind::Manual => Map::new(),
            Kind::Schedule(_) => {
                Map::from_iter([("_scheduled_for".to_owned(), self.now().to_string().into())])
            }
            Kind::Webhook(_) | Kind::FileDrop(_) => {
                return Err(TriggerError::NotByHand(trigger.kind));
            }
        };
        // Never the key of a scheduled firing, whatever somebody writes.
        let key = match key {
            Some(key) => format!("by-hand:{key}"),
            None => format!("by-hand:{}", self.shared.fresh_id()),
        };
        self.fire_once(&trigger, &document, &key, variables, input, false).await
    }

    /// Starts the run of a firing that somebody waits for, and notes it.
    pub(super) async fn fire_once(
        &self,
        trigger: &Trigger,
        document: &document::Trigger,
        key: &str,
        variables: Map<String, Value>,
        input: Map<String, Value>,
        same_key_is_same: bool,
    ) -> Result<Fired, TriggerError> {
        let order = Order { trigger, document, key, variables, input };
        let answer = start_all(&self.shared, &self.door()?, &[order]).await.pop();
        let answer = answer.expect("an order has an answer");
        let answer = if same_key_is_same { made_before(answer) } else { answer };
        match answer {
            Ok(made) => {
                let firing = self.note_made(trigger, key, made).await;
                Ok(Fired { firing, repeated: made.repeated })
            }
            Err(error) => {
                self.note_refused(trigger, key, &error).await;
                Err(error)
            }
        }
    }

    async fn note_made(&self, trigger: &Trigger, key: &str, made: Made) -> Firing {
        let now = self.now();
        let firing = note::started(note::queued(trigger, key.to_owned(), None, now), made.run, now);
        // What was noted when it was first made says more.
        let (tenant, name) = (trigger.tenant.clone(), trigger.name.clone());
        let known = self.shared.store.known_firings(tenant, name, vec![key.to_owned()]);
        if !(made.repeated && known.await.is_ok_and(|known| known == [true])) {
            self.note_firing(trigger, firing.clone(), None).await;
        }
        firing
    }

    async fn note_refused(&self, trigger: &Trigger, key: &str, error: &TriggerError) {
        // Nothing is wrong with the firing if the engine is busy, and nothing new if its run exists.
        if let TriggerError::Engine(error) = error
            && (error.is_passing() || matches!(error, EngineError::KeyReused { .. }))
        {
            return;
        }
        // A problem may repeat what came from outside.
        let why = redact::message(&error.to_string());
        let firing = note::queued(trigger, key.to_owned(), None, self.now());
        let firing = note::ended(firing, FiringOutcome::Failed, why.clone());
        self.note_firing(trigger, firing, Some(why)).await;
    }

    /// A run that is made stays made, so a note that could not be written is no failure.
    async fn note_firing(&self, trigger: &Trigger, firing: Firing, last_error: Option<String>) {
        let progress = TriggerProgress {
            // The task that fires may have moved it meanwhile: it is to look again and put it right.
            next_at: (trigger.kind == TriggerKind::Schedule).then(|| self.now()),
            last_error,
            ..note::unmoved(trigger, vec![firing])
        };
        match self.shared.note_trigger(progress).await {
            Ok(_) => self.shared.triggers.changed(),
            Err(error) => tracing::warn!(trigger = trigger.name, %error, "firing_not_noted"),
        }
    }

    /// When a schedule fires after a moment, or after now, without making anything.
    ///
    /// # Errors
    /// What is wrong with the expression or the time zone.
    pub fn preview_schedule(
        &self,
        cron: &str,
        time_zone: &str,
        from: Option<Timestamp>,
        count: usize,
    ) -> Result<Vec<NextFiring>, TriggerError> {
        let schedule = Schedule::parse(cron, time_zone)?;
        let end = Timestamp::from_millis(i64::MAX);
        let firings = schedule.between(from.unwrap_or_else(|| self.now()), end, count).into_iter();
        Ok(firings.map(|at| NextFiring { at, local: schedule.shown(at) }).collect())
    }

    /// Whether this installation can do what a document asks for. One that is switched off may ask for
    /// what is not there: whatever has gone must not keep anybody from switching it off.
    async fn check(&self, document: &document::Trigger) -> Result<(), TriggerError> {
        if self.shared.catalog.newest(&document.workflow_id).await?.is_none() {
            return Err(TriggerError::WorkflowNotFound(document.workflow_id.clone()));
        }
        match &document.kind {
            Kind::FileDrop(files) => {
                Glob::parse(&files.glob)?;
                if files.after == AfterFile::Move {
                    check_place(&files.processed)?;
                }
                if document.enabled {
                    let allowed = &self.shared.settings.triggers.directories;
                    DropDirectory::check(Path::new(&files.directory), allowed)?;
                }
            }
            Kind::Webhook(webhook) if document.enabled => hook::check_secret(webhook)?,
            Kind::Manual | Kind::Schedule(_) | Kind::Webhook(_) => {}
        }
        Ok(())
    }

    /// When the task that fires is to look at a trigger, and up to when its firings are done with.
    async fn next_look(
        &self,
        document: &document::Trigger,
        known: Option<&Trigger>,
    ) -> Result<(Option<Timestamp>, Option<Timestamp>), TriggerError> {
        let Kind::Schedule(kind) = &document.kind else { return Ok((None, None)) };
        let now = self.now();
        // Whoever changes its input at the very moment it fires does not lose the firing.
        let same = known.filter(|known| known.enabled && same_times(known, kind));
        let fired_until = same.and_then(|known| known.fired_until).unwrap_or(now);
        let waits = match known {
            Some(known) => {
                let (tenant, name) = (known.tenant.clone(), known.name.clone());
                let queued = Some(FiringOutcome::Queued);
                !self.shared.store.firings(tenant, name, queued, 1).await?.is_empty()
            }
            None => false,
        };
        let next = if waits { Some(now) } else { kind.schedule.next_after(fired_until) };
        Ok((next.filter(|_| document.enabled), Some(fired_until)))
    }

    /// The task that fires looks at them again, here and elsewhere.
    async fn triggers_changed(&self) {
        self.shared.triggers.changed();
        if self.shared.store.is_shared() {
            // Others look by themselves, only later.
            let _ = self.shared.store.tell(self.shared.epoch(), Signal::LookAgain).await;
        }
    }
}

/// What the document of a stored trigger means.
pub(super) fn read(trigger: &Trigger) -> Result<document::Trigger, TriggerError> {
    Ok(note::read(trigger).map_err(Rejection::invalid)?)
}

/// Whether a trigger fires at the same times as a schedule.
fn same_times(trigger: &Trigger, schedule: &ScheduleKind) -> bool {
    read(trigger).is_ok_and(|document| match document.kind {
        Kind::Schedule(known) => {
            known.cron == schedule.cron && known.time_zone == schedule.time_zone
        }
        Kind::Manual | Kind::Webhook(_) | Kind::FileDrop(_) => false,
    })
}
