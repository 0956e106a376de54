//! Signed requests from outside that fire a trigger.
//!
//! A request proves where it comes from after the Standard Webhooks specification: an id, a moment
//! and a signature over both and the raw body. The id is the key of the firing, so a request that is
//! sent again, by its sender or by somebody who listened, is answered with the run it has made. After
//! the window nobody can send it again.

use std::time::Duration;

use serde_json::{Map, Value};
use stepwell_connectors::egress::{SignedHeaders, secret_bytes, verify_within};
use stepwell_core::id::Tenant;
use stepwell_dialects::workspaces::trigger::{Kind, WebhookKind};
use stepwell_store::Trigger;

use super::api::Fired;
use super::error::TriggerError;
use crate::Engine;

/// Random bytes of a secret that we make.
const SECRET_BYTES: usize = 32;

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
        let secret = self.hook_secret(trigger, webhook).await?;
        let now_s = self.now().as_millis() / 1000;
        let window = Duration::from_millis(webhook.tolerance.as_millis());
        Ok(verify_within(&[&secret], call.signed, call.body, now_s, window)?)
    }

    /// The secret of a webhook trigger: from its variable, or the one that we have made for it.
    pub(super) async fn hook_secret(
        &self,
        trigger: &Trigger,
        webhook: &WebhookKind,
    ) -> Result<Vec<u8>, TriggerError> {
        let Some(variable) = &webhook.secret_env else {
            // A trigger that is deleted and made anew has a secret of its own.
            let made = trigger.created_at.as_millis();
            let name = format!("trigger {} {} {made}", trigger.tenant, trigger.name);
            let fresh: [u8; SECRET_BYTES] = rand::random();
            return Ok(self.shared.store.secret(name, fresh.to_vec()).await?);
        };
        let text = std::env::var(variable).ok().filter(|text| !text.is_empty());
        let secret = text.and_then(|text| secret_bytes(&text));
        secret.ok_or_else(|| TriggerError::NoSecret(variable.clone()))
    }
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
