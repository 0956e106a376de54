//! Signed requests from outside that fire a trigger.
//!
//! A request proves where it comes from after the Standard Webhooks specification: an id, a moment
//! and a signature over both and the raw body. The id is the key of the firing, so a request that is
//! sent again, by its sender or by somebody who listened, is answered with the run it has made. After
//! the window nobody can send it again.

use std::time::Duration;

use serde_json::{Map, Value};
use stepwell_connectors::egress::{SignedHeaders, secret_bytes, verify_within};
use stepwell_core::duration::Interval;
use stepwell_core::id::Tenant;
use stepwell_dialects::problem::Problem;
use stepwell_dialects::rejection::Rejection;
use stepwell_dialects::workspaces::trigger::{Kind, WebhookKind};
use stepwell_store::Trigger;

use super::api::Fired;
use super::error::TriggerError;
use crate::Engine;
use crate::keyring::{self, Keyring, RotatedSecret};

/// Headers that say who somebody is; no template needs them, and no job is to carry them.
const KEPT_BACK: [&str; 4] =
    ["authorization", "cookie", "proxy-authorization", "webhook-signature"];

/// A request to a webhook trigger, as it arrived.
#[derive(Clone, Copy, Debug)]
pub struct HookCall<'a> {
    /// the headers that prove where it comes from
    pub signed: SignedHeaders<'a>,
    /// all headers: names in lower case, and values
    pub headers: &'a [(String, String)],
    /// the body, byte for byte
    pub body: &'a [u8],
}

impl Engine {
    /// Fires a webhook trigger. The same request again answers the run that it has made.
    ///
    /// # Errors
    /// `NotFound`, `NoHook` and `Signature` should look the same from outside: whoever cannot sign need
    /// not know what exists. The others say what is wrong.
    pub async fn hook(
        &self,
        tenant: &Tenant,
        name: &str,
        call: HookCall<'_>,
    ) -> Result<Fired, TriggerError> {
        let trigger = self.trigger(tenant, name).await?;
        let document = super::api::read(&trigger)?;
        let Kind::Webhook(webhook) = &document.kind else {
            return Err(TriggerError::NoHook(name.to_owned()));
        };
        self.check_signature(&trigger, webhook, &call).await?;
        // Only whoever can sign is told that it is switched off.
        if !trigger.enabled {
            return Err(TriggerError::Disabled(name.to_owned()));
        }
        self.fire_once(&trigger, &document, call.signed.id, variables(&call), Map::new(), true)
            .await
    }

    async fn check_signature(
        &self,
        trigger: &Trigger,
        webhook: &WebhookKind,
        call: &HookCall<'_>,
    ) -> Result<(), TriggerError> {
        let keyring = self.hook_keyring(trigger, webhook).await?;
        let now = self.now();
        let window = Duration::from_millis(webhook.tolerance.as_millis());
        let now_s = now.as_millis() / 1000;
        Ok(verify_within(&keyring.good_at(now), call.signed, call.body, now_s, window)?)
    }

    /// The secrets of a webhook trigger: from its variable, or those that we have made for it.
    pub(super) async fn hook_keyring(
        &self,
        trigger: &Trigger,
        webhook: &WebhookKind,
    ) -> Result<Keyring, TriggerError> {
        let Some(variable) = &webhook.secret_env else {
            return Ok(keyring::find_or_make(&*self.shared.store, secret_name(trigger)).await?);
        };
        let secret = secret_from(variable);
        secret.map(Keyring::of).ok_or_else(|| TriggerError::NoSecret(variable.clone()))
    }

    /// Puts a fresh secret in the place of a webhook trigger's, which stays good for a while; without a
    /// grace it ends at once, and so does whatever was good beside it. The answer is the only place that
    /// ever shows it.
    ///
    /// # Errors
    /// There is no such trigger, it takes no webhooks, or its secret comes from a variable.
    pub async fn rotate_trigger_secret(
        &self,
        tenant: &Tenant,
        name: &str,
        grace: Interval,
        actor: &str,
    ) -> Result<RotatedSecret, TriggerError> {
        let trigger = self.trigger(tenant, name).await?;
        let document = super::api::read(&trigger)?;
        let Kind::Webhook(webhook) = &document.kind else {
            return Err(TriggerError::NoHook(name.to_owned()));
        };
        if let Some(variable) = &webhook.secret_env {
            return Err(TriggerError::SecretElsewhere(variable.clone()));
        }
        let (store, now) = (&*self.shared.store, self.now());
        let rotated = keyring::rotate(store, secret_name(&trigger), None, grace, now).await?;
        tracing::info!(workspace = %tenant, trigger = name, actor, "trigger_secret_rotated");
        Ok(rotated)
    }
}

/// That the secret which a trigger takes from a variable is there.
pub(super) fn check_secret(webhook: &WebhookKind) -> Result<(), Rejection> {
    let Some(variable) = &webhook.secret_env else { return Ok(()) };
    if secret_from(variable).is_some() {
        return Ok(());
    }
    let what = format!("the variable {variable} is not set where the server runs, or is no secret");
    let problem = Problem::new("no_secret", what).at("webhook.secret_env");
    Err(Rejection::invalid(problem.help(
        "set it and start the server again, or leave `secret_env` out: the server makes a secret then",
    )))
}

fn secret_from(variable: &str) -> Option<Vec<u8>> {
    let text = std::env::var(variable).ok().filter(|text| !text.is_empty());
    text.and_then(|text| secret_bytes(&text))
}

/// What the secret of a trigger is stored under. One that is deleted and made anew has its own.
fn secret_name(trigger: &Trigger) -> String {
    let made = trigger.created_at.as_millis();
    format!("trigger {} {} {made}", trigger.tenant, trigger.name)
}

/// What the templates of a webhook may ask for. A body that is no JSON is a text.
fn variables(call: &HookCall<'_>) -> Map<String, Value> {
    let body = serde_json::from_slice(call.body)
        .unwrap_or_else(|_| String::from_utf8_lossy(call.body).into_owned().into());
    let shown = call.headers.iter().filter(|(name, _)| !KEPT_BACK.contains(&name.as_str()));
    let headers: Map<String, Value> =
        shown.map(|(name, value)| (name.clone(), value.as_str().into())).collect();
    Map::from_iter([("_body".to_owned(), body), ("_headers".to_owned(), headers.into())])
}
