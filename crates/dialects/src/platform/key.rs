//! What makes an order the same order: its idempotency key, or else its message id.

use sha2::{Digest, Sha256};

/// Hashes under which a job is made at most once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// of the key
    pub hash: [u8; 32],
    /// of the request; here the same, because whatever else a repetition says, it is one (B-048)
    pub request_hash: [u8; 32],
}

impl Key {
    pub(super) fn of(idempotency_key: Option<&str>, message_id: &str) -> Self {
        let hash = match idempotency_key {
            Some(key) => of_idempotency_key(key),
            None => of_message_id(message_id),
        };
        Self { hash, request_hash: hash }
    }
}

/// The hash of an idempotency key.
///
/// It begins with a character that no tenant's name has, so no key of another dialect can meet it.
#[must_use]
pub fn of_idempotency_key(key: &str) -> [u8; 32] {
    Sha256::new().chain_update("\0platform idempotency_key ").chain_update(key).finalize().into()
}

/// The hash of a message id; never that of an idempotency key, even if both are the same text.
#[must_use]
pub fn of_message_id(id: &str) -> [u8; 32] {
    Sha256::new().chain_update("\0platform message_id ").chain_update(id).finalize().into()
}
