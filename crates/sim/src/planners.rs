//! People with triggers: they make schedules and webhooks, change and switch them, fire them by hand,
//! and whoever calls a webhook calls it again.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use stepwell_connectors::egress::{SignedHeaders, secret_bytes, sign};
use stepwell_core::id::Tenant;
use stepwell_core::trigger::TriggerKind;
use stepwell_dialects::workspaces::trigger::{self, Trigger};
use stepwell_engine::{Engine, Fired, HookCall, TriggerError};
use stepwell_store::{Store, TriggerFilter};

use crate::chance::Chance;
use crate::door::Door;
use crate::faults::Kind;
use crate::shared::Shared;

/// The name of the schedule of each workspace.
const SCHEDULE: &str = "regular";

/// The name of its webhook.
const HOOK: &str = "hook";

/// When schedules fire: not so often that a world has no time for anything else.
const CRONS: [&str; 4] = ["*/4 * * * *", "*/10 * * * *", "*/20 * * * *", "30 */15 * * * *"];

/// How often a person asks for the same thing.
const TRIES: u32 = 20;

/// How long schedules go on after the faults have ended.
const AFTERWARDS_MS: u64 = 25 * 60_000;

/// Everybody who has triggers.
pub struct Planner {
    shared: Arc<Shared>,
    door: Arc<Door>,
    chance: Chance,
    calls: u32,
}

impl Planner {
    /// Nobody has made one yet.
    #[must_use]
    pub fn new(shared: Arc<Shared>, door: Arc<Door>) -> Self {
        let chance = Chance::of(shared.plan.seed, "planner");
        Self { shared, door, chance, calls: 0 }
    }

    /// Makes triggers, then changes and fires them until the faults end.
    pub async fn work(mut self) {
        let mut hooks = Vec::new();
        for tenant in self.tenants() {
            self.schedule(&tenant).await;
            if let Some(secret) = self.hook(&tenant).await {
                hooks.push((tenant, secret));
            }
        }
        while !self.shared.is_over() {
            self.shared.clock.sleep_ms(self.chance.between(30_000, 600_000)).await;
            let tenants = self.tenants();
            let tenant = self.chance.one_of(&tenants).clone();
            if self.shared.strikes(Kind::TriggerChanged, "planner") {
                self.schedule(&tenant).await;
            }
            if self.shared.strikes(Kind::TriggerSwitched, "planner") {
                let enabled = self.chance.permille(500);
                self.switch(&tenant, enabled).await;
            }
            if self.chance.permille(200) {
                self.fire(&tenant).await;
            }
            if let Some((tenant, secret)) = hooks.get(self.chance.index(hooks.len().max(1))) {
                self.call(tenant, secret).await;
            }
        }
    }

    /// Lets schedules go on for a while without faults, looks at what they did, and switches them off.
    pub async fn finish(&mut self) {
        for tenant in self.tenants() {
            self.switch(&tenant, true).await;
        }
        self.shared.clock.sleep_ms(AFTERWARDS_MS).await;
        let filter = TriggerFilter { kind: Some(TriggerKind::Schedule), ..Default::default() };
        let triggers = self.shared.memory.triggers(filter).await.unwrap_or_default();
        for name in triggers.into_iter().map(|it| (it.tenant, it.name)) {
            let all = self.shared.memory.firings(name.0.clone(), name.1.clone(), None, usize::MAX);
            let firings = all.await.unwrap_or_default();
            let now = self.shared.now();
            self.shared.oracle().fired_whenever_due(&name, &firings, now);
        }
        for tenant in self.tenants() {
            self.switch(&tenant, false).await;
        }
    }

    fn tenants(&self) -> Vec<Tenant> {
        self.shared.plan.tenants.iter().map(|name| Tenant::new(name)).collect()
    }

    /// Makes the schedule of a workspace, or changes it.
    async fn schedule(&mut self, tenant: &Tenant) {
        let workflow = format!("flow-{}", self.chance.index(self.shared.plan.workflows));
        let document = json!({
            "name": SCHEDULE, "kind": "schedule", "workflow_id": workflow,
            "input": {"document": "d-1"},
            "schedule": {
                "cron": self.chance.one_of(&CRONS),
                "overlap": self.chance.one_of(&["skip", "queue", "allow"]),
                "catch_up": self.chance.one_of(&["0s", "30m", "6h"]),
                "catch_up_mode": self.chance.one_of(&["latest", "all"]),
            },
        });
        let document = sound(&document);
        self.put(tenant, &document).await;
    }

    async fn put(&mut self, tenant: &Tenant, document: &Trigger) {
        let name = (tenant.clone(), document.name.clone());
        for _ in 0..TRIES {
            self.shared.oracle().trigger_unknown(&name);
            if let Some(instance) = self.door.any(&mut self.chance) {
                let put = instance.engine.put_trigger(tenant, document, None, "planner").await;
                if put.is_ok() {
                    self.shared.note("planner", format_args!("{name:?}: {:?}", document.kind));
                    let now = self.shared.now();
                    self.shared.oracle().trigger_set(&name, document, now);
                    return;
                }
            }
            self.rest().await;
        }
    }

    async fn switch(&mut self, tenant: &Tenant, enabled: bool) {
        for _ in 0..TRIES {
            if let Some(instance) = self.door.any(&mut self.chance)
                && let Ok(found) = instance.engine.trigger(tenant, SCHEDULE).await
            {
                if found.enabled == enabled {
                    return;
                }
                let mut document = sound(&found.document);
                document.enabled = enabled;
                self.put(tenant, &document).await;
                return;
            }
            self.rest().await;
        }
    }

    /// Fires the schedule by hand, perhaps twice under one key.
    async fn fire(&mut self, tenant: &Tenant) {
        self.calls += 1;
        let key = format!("call-{}", self.calls);
        for _ in 0..=usize::from(self.shared.strikes(Kind::HookRepeated, "planner")) {
            let Some(instance) = self.door.any(&mut self.chance) else { continue };
            let input = Map::from_iter([("document".to_owned(), json!("d-1"))]);
            let fired = instance.engine.fire(tenant, SCHEDULE, Some(&key), input).await;
            self.note_fired(fired);
        }
    }

    /// Makes the webhook of a workspace; the secret is shown once, if at all.
    async fn hook(&mut self, tenant: &Tenant) -> Option<Vec<u8>> {
        let document = json!({
            "name": HOOK, "kind": "webhook", "workflow_id": "flow-0",
            "input": {"document": "d-1"},
        });
        let document = sound(&document);
        for _ in 0..TRIES {
            if let Some(instance) = self.door.any(&mut self.chance) {
                let put = instance.engine.put_trigger(tenant, &document, None, "planner").await;
                if let Ok(put) = put {
                    return secret_bytes(&put.secret?);
                }
            }
            self.rest().await;
        }
        None
    }

    /// Calls a webhook, and perhaps again with the same id, whatever the answer was.
    async fn call(&mut self, tenant: &Tenant, secret: &[u8]) {
        self.calls += 1;
        let id = format!("msg-{}", self.calls);
        for _ in 0..=2 * usize::from(self.shared.strikes(Kind::HookRepeated, "caller")) {
            let Some(instance) = self.door.any(&mut self.chance) else { continue };
            let fired = send(&instance.engine, tenant, secret, &id).await;
            self.note_fired(fired);
        }
    }

    fn note_fired(&self, fired: Result<Fired, TriggerError>) {
        if let Ok(Fired { firing, .. }) = fired {
            self.shared.note("planner", format_args!("{} made {:?}", firing.key, firing.run));
            self.shared.oracle().fired(&firing);
        }
    }

    async fn rest(&mut self) {
        self.shared.clock.sleep_ms(self.chance.between(500, 10_000)).await;
    }
}

async fn send(
    engine: &Engine,
    tenant: &Tenant,
    secret: &[u8],
    id: &str,
) -> Result<Fired, TriggerError> {
    let seconds = engine.now().as_millis() / 1_000;
    let body = br#"{"order": 7}"#;
    let signature = sign(secret, id, seconds, body);
    let timestamp = seconds.to_string();
    let signed = SignedHeaders { id, timestamp: &timestamp, signature: &signature };
    engine.hook(tenant, HOOK, HookCall { signed, headers: &[], body }).await
}

fn sound(document: &Value) -> Trigger {
    trigger::of_json(document).expect("a drawn trigger is sound")
}
