//! How a message reaches the outside, and what it is signed with.
//!
//! Everything is signed with the secret of the installation, until an address that is told of events is
//! given a secret of its own. Which one that is, is asked when a message is sent: a secret that another
//! instance has replaced counts from the next message on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use stepwell_connectors::egress::{Egress, EgressError, Webhook};
use stepwell_core::duration::Interval;
use stepwell_core::time::Timestamp;
use stepwell_store::{OutboxMessage, StoreError, Subscription};

use crate::error::EngineError;
use crate::keyring::{self, Keyring, RotatedSecret};
use crate::shared::Shared;

/// What the kind of a message begins with that an address is told because it has subscribed; its id
/// follows.
pub(crate) const SUBSCRIBED: &str = "webhook:";

/// What is needed to reach the outside.
pub(crate) struct Sender {
    egress: Egress,
    /// the secret of the installation
    installation: Arc<Keyring>,
}

/// What messages are signed with.
pub(crate) struct Keyrings {
    installation: Arc<Keyring>,
    /// of addresses with a secret of their own, by the id of the subscription
    own: BTreeMap<String, Keyring>,
}

impl Keyrings {
    fn of(&self, subscription: Option<&str>) -> &Keyring {
        subscription.and_then(|id| self.own.get(id)).unwrap_or(&self.installation)
    }
}

impl Sender {
    pub(crate) fn new(egress: Egress, secret: Vec<u8>) -> Self {
        Self { egress, installation: Arc::new(Keyring::of(secret)) }
    }

    /// What these messages are to be signed with.
    pub(crate) async fn keyrings(
        &self,
        shared: &Shared,
        messages: &[OutboxMessage],
    ) -> Result<Keyrings, StoreError> {
        self.own_keyrings(shared, messages.iter().filter_map(subscription).collect()).await
    }

    async fn own_keyrings(
        &self,
        shared: &Shared,
        ids: BTreeSet<&str>,
    ) -> Result<Keyrings, StoreError> {
        let mut own = BTreeMap::new();
        if !ids.is_empty() {
            let names: Vec<String> = ids.iter().map(|id| secret_name(id)).collect();
            let found = shared.store.secrets(names.clone()).await?;
            for ((id, name), stored) in ids.into_iter().zip(names).zip(found) {
                match stored.map(|stored| Keyring::read(&name, stored)).transpose() {
                    Ok(keyring) => own.extend(keyring.map(|keyring| (id.to_owned(), keyring))),
                    // Its receiver refuses what fits no secret, and the others are not kept waiting.
                    Err(error) => tracing::error!(subscription = id, %error, "secret_not_read"),
                }
            }
        }
        Ok(Keyrings { installation: Arc::clone(&self.installation), own })
    }

    /// Sends a message that was promised. The same message again has the same id.
    pub(crate) async fn send(
        &self,
        now: Timestamp,
        keyrings: &Keyrings,
        row: &OutboxMessage,
    ) -> Result<(), EgressError> {
        let webhook = Webhook {
            id: &message_id(row.id),
            timestamp_s: now.as_millis() / 1000,
            body: &Bytes::from(row.message.body.clone()),
            secrets: &keyrings.of(subscription(row)).good_at(now),
        };
        self.egress.post_signed(&row.message.destination, webhook).await.map(|_| ())
    }

    /// Posts a message that nobody promised: under an id of its own, and once. Answers the status, or
    /// why it did not arrive.
    pub(crate) async fn post(
        &self,
        shared: &Shared,
        to: &Subscription,
        body: String,
    ) -> Result<u16, String> {
        let now = shared.now();
        let keyrings = self.own_keyrings(shared, BTreeSet::from([to.id.as_str()])).await;
        let keyrings = keyrings.map_err(|error| error.to_string())?;
        let webhook = Webhook {
            id: &message_id(shared.settings.ids.id(now)),
            timestamp_s: now.as_millis() / 1000,
            body: &Bytes::from(body),
            secrets: &keyrings.of(Some(&to.id)).good_at(now),
        };
        let delivered = self.egress.post_signed(&to.url, webhook).await;
        delivered.map(|delivered| delivered.status).map_err(|error| error.to_string())
    }

    /// Gives an address that is told of events a fresh secret of its own.
    pub(crate) async fn rotate(
        &self,
        shared: &Shared,
        id: &str,
        grace: Interval,
        actor: &str,
    ) -> Result<RotatedSecret, EngineError> {
        let before = Some(Keyring::clone(&self.installation));
        let (store, now) = (&*shared.store, shared.now());
        let rotated = keyring::rotate(store, secret_name(id), before, grace, now).await?;
        tracing::info!(subscription = id, actor, "subscription_secret_rotated");
        Ok(rotated)
    }
}

/// How receivers know a message, however often it is sent.
pub(crate) fn message_id(number: impl std::fmt::Display) -> String {
    format!("msg_{number}")
}

/// What the secret of a subscription is stored under.
fn secret_name(subscription: &str) -> String {
    format!("subscription {subscription}")
}

/// The subscription that a message was promised to, if it was one.
fn subscription(row: &OutboxMessage) -> Option<&str> {
    row.message.kind.strip_prefix(SUBSCRIBED)
}
