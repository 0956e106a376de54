//! Hashes that make a repeated request recognizable.

use sha2::{Digest, Sha256};
use stepwell_core::id::RunId;
pub(crate) use stepwell_dialects::fingerprint::of_json;
use stepwell_store::KeyHash;

/// The hash of a tenant's idempotency key.
pub(crate) fn of_key(tenant: &str, key: &str) -> KeyHash {
    Sha256::new().chain_update(tenant).chain_update(key).finalize().into()
}

/// The hash under which a run is taken up again: at most once, however often it is asked for.
///
/// It begins with a character that no tenant's name has, so no key of a client can meet it.
pub(crate) fn of_resumption(run: RunId) -> KeyHash {
    Sha256::new().chain_update("\0resumes ").chain_update(run.0.as_bytes()).finalize().into()
}

/// The hash of an idempotency key under which a batch is made; no key of another dialect can meet it.
pub(crate) fn of_batch_key(key: &str) -> KeyHash {
    Sha256::new().chain_update("\0runbooks idempotency_key ").chain_update(key).finalize().into()
}

/// The hash of a list of members for a runbook.
pub(crate) fn of_members(runbook: &str, csv: &[u8]) -> KeyHash {
    // The length keeps the name and the list apart.
    let length = (runbook.len() as u64).to_be_bytes();
    Sha256::new().chain_update(length).chain_update(runbook).chain_update(csv).finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    // SHA-256 of tenant_id + idempotency_key.
    #[test]
    fn the_hash_of_a_key_is_that_of_tenant_and_key_one_after_the_other() {
        let expected: KeyHash = Sha256::digest("acmeorder-7").into();
        assert_eq!(of_key("acme", "order-7"), expected);
    }
}
