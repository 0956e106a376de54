//! What makes a request the same request: the workspace and its idempotency key (C-036, X-124).

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::request::JobRequest;
use crate::amount::Amount;
use crate::fingerprint;

/// Hashes under which a job is made at most once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// of the workspace and the key
    pub hash: [u8; 32],
    /// of what was asked for: under one key it must not change
    pub request_hash: [u8; 32],
}

/// The hash of a workspace's idempotency key.
///
/// It begins with a character that no tenant's name has, so no key of another dialect can meet it; and a
/// length stands before the workspace, so that no two pairs run into each other.
#[must_use]
pub fn of_idempotency_key(workspace_id: &str, key: &str) -> [u8; 32] {
    let scope = format!("\0workspaces {} {workspace_id} ", workspace_id.len());
    Sha256::new().chain_update(scope).chain_update(key).finalize().into()
}

impl Key {
    /// The key of a request; `None` if it has none, and every such request makes a job of its own.
    #[must_use]
    pub fn of(workspace_id: &str, request: &JobRequest) -> Option<Self> {
        let key = request.idempotency_key.as_deref()?;
        let hash = of_idempotency_key(workspace_id, key);
        Some(Self { hash, request_hash: fingerprint::of_json(&asked_for(request)) })
    }
}

/// What counts as the same request. A repetition has a trace of its own.
fn asked_for(request: &JobRequest) -> Value {
    json!({
        "workflow_id": request.workflow_id,
        "user_id": request.user_id,
        "trigger_type": request.trigger_type,
        "max_attempts": request.max_attempts,
        "credits_estimate": request.credits_estimate.map(Amount),
        "input": request.input,
        "references": request.references,
        "priority": request.priority,
    })
}
