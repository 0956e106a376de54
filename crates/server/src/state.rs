//! What every handler may use, and what a server may be told.

use std::sync::Arc;

use stepwell_connectors::egress::Egress;
use stepwell_dialects::commands::ReferencePolicy;
use stepwell_engine::Engine;
use stepwell_store::StoreError;
use tokio::sync::Semaphore;

use crate::auth::Authenticator;
use crate::auth::callback::{CallbackKey, KEY_NAME};
use crate::auth::token::Tokens;
use crate::host::Hosts;
use crate::metrics::HttpMetrics;
use crate::readiness::Readiness;

/// Live streams that may be open at once.
const STREAMS_MAX: usize = 200;

/// What a server may be told.
#[derive(Clone, Debug)]
pub struct Settings {
    /// how workers reach this server, without a slash at the end
    pub base_url: String,
    /// open jobs that a tenant may have (D-050); `None`: any number
    pub tenant_cap: Option<u32>,
    /// clients may call it; otherwise it serves only workers and operators
    pub takes_requests: bool,
    /// the names it may be called by
    pub hosts: Hosts,
    /// judges the callback URLs of envelopes when they are handed in
    pub egress: Egress,
    /// judges the references of envelopes
    pub references: ReferencePolicy,
    /// runbooks and batches are shown to administrators, operators and viewers only; otherwise to
    /// whoever has a valid token
    pub batches_need_a_reader: bool,
}

impl Settings {
    /// The settings of a server that is reached at this URL.
    #[must_use]
    pub fn new(base_url: &str, egress: Egress) -> Self {
        Self {
            base_url: base_url.trim_end_matches('/').to_owned(),
            tenant_cap: Some(100),
            takes_requests: true,
            hosts: Hosts::Any,
            egress,
            references: ReferencePolicy::default(),
            batches_need_a_reader: false,
        }
    }
}

/// What every handler may use. Cheap to clone.
#[derive(Clone)]
pub struct Api(Arc<Shared>);

struct Shared {
    engine: Engine,
    settings: Settings,
    authenticator: Arc<dyn Authenticator>,
    callback_key: CallbackKey,
    metrics: HttpMetrics,
    readiness: Readiness,
    streams: Arc<Semaphore>,
}

impl Api {
    /// The state of a server in front of this engine, with API tokens as proof of identity.
    ///
    /// # Errors
    /// When the store has no key for callbacks and takes none.
    pub async fn open(engine: Engine, settings: Settings) -> Result<Self, StoreError> {
        let authenticator = Arc::new(Tokens::new(engine.clone()));
        Self::with_authenticator(engine, settings, authenticator).await
    }

    /// The same, with another proof of identity.
    ///
    /// # Errors
    /// When the store has no key for callbacks and takes none.
    pub async fn with_authenticator(
        engine: Engine,
        settings: Settings,
        authenticator: Arc<dyn Authenticator>,
    ) -> Result<Self, StoreError> {
        let fresh = rand::random::<[u8; 32]>().to_vec();
        let key = engine.store().secret(KEY_NAME.to_owned(), fresh).await?;
        Ok(Self(Arc::new(Shared {
            metrics: HttpMetrics::new(&engine),
            engine,
            settings,
            authenticator,
            callback_key: CallbackKey::new(key),
            readiness: Readiness::default(),
            streams: Arc::new(Semaphore::new(STREAMS_MAX)),
        })))
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.0.engine
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.0.settings
    }

    pub(crate) fn authenticator(&self) -> &dyn Authenticator {
        &*self.0.authenticator
    }

    pub(crate) fn callback_key(&self) -> &CallbackKey {
        &self.0.callback_key
    }

    pub(crate) fn metrics(&self) -> &HttpMetrics {
        &self.0.metrics
    }

    pub(crate) fn readiness(&self) -> &Readiness {
        &self.0.readiness
    }

    pub(crate) fn streams(&self) -> &Arc<Semaphore> {
        &self.0.streams
    }
}
