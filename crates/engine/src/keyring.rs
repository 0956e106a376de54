//! Secrets that webhooks are signed with, and how one takes the place of another.
//!
//! Senders and receivers do not change over at the same moment. So when a secret is replaced, the one
//! before it stays good for a while: whatever fits either is accepted, and what we send carries the
//! signatures of both, as the Standard Webhooks specification has it.

use serde::{Deserialize, Serialize};
use stepwell_connectors::egress::secret_text;
use stepwell_core::duration::Interval;
use stepwell_core::time::Timestamp;
use stepwell_store::Store;

use crate::error::EngineError;

/// Random bytes of a secret that we make.
const SECRET_BYTES: usize = 32;

/// Secrets that are good at once, the one in force included: receivers look at no more signatures.
const GOOD_MAX: usize = 3;

/// A secret that has taken the place of another. It is shown to whoever asked for it, and never again.
pub struct RotatedSecret {
    /// as people copy it
    pub secret: String,
    /// until when those before it stay good; `None`: they are good no more
    pub old_until: Option<Timestamp>,
}

impl std::fmt::Debug for RotatedSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RotatedSecret").field("old_until", &self.old_until).finish_non_exhaustive()
    }
}

/// The secret in force, and those before it for as long as they are good.
///
/// A secret that was never replaced is stored as its bare bytes, so that its name and its row need
/// nothing else.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Keyring {
    #[serde(with = "as_text")]
    secret: Vec<u8>,
    /// newest first
    before: Vec<Before>,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Before {
    #[serde(with = "as_text")]
    secret: Vec<u8>,
    good_until: Timestamp,
}

impl Keyring {
    /// With one secret, which was never replaced.
    pub(crate) fn of(secret: Vec<u8>) -> Self {
        Self { secret, before: Vec::new() }
    }

    /// As it was stored under a name.
    pub(crate) fn read(name: &str, stored: Vec<u8>) -> Result<Self, EngineError> {
        if stored.len() == SECRET_BYTES {
            return Ok(Self::of(stored));
        }
        // What exactly is wrong with it might repeat it.
        serde_json::from_slice(&stored)
            .map_err(|_| EngineError::Broken(format!("the secret {name:?} cannot be read")))
    }

    fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a keyring is plain JSON")
    }

    /// As people copy the one in force.
    pub(crate) fn shown(&self) -> String {
        secret_text(&self.secret)
    }

    /// The secrets that are good at a moment, the one in force first.
    pub(crate) fn good_at(&self, now: Timestamp) -> Vec<&[u8]> {
        let before = self.before.iter().filter(|before| before.good_until > now);
        std::iter::once(&self.secret)
            .chain(before.map(|before| &before.secret))
            .map(Vec::as_slice)
            .collect()
    }

    /// With another secret in force. Without a grace nothing from before is good any more, whatever was
    /// said of it: a secret that somebody has stolen is to end, and so is the one before it.
    fn rotated(self, fresh: Vec<u8>, grace: Interval, now: Timestamp) -> Self {
        if grace.is_zero() {
            return Self::of(fresh);
        }
        let old = Before { secret: self.secret, good_until: now.after(grace) };
        let others = self.before.into_iter().filter(|before| before.good_until > now);
        let before = std::iter::once(old).chain(others).take(GOOD_MAX - 1).collect();
        Self { secret: fresh, before }
    }
}

/// The keyring of a name; one with a fresh secret is made if there is none.
pub(crate) async fn find_or_make(store: &dyn Store, name: String) -> Result<Keyring, EngineError> {
    // Nearly always it is there, and to look costs less than to write.
    let stored = match store.secrets(vec![name.clone()]).await?.pop().flatten() {
        Some(stored) => stored,
        None => store.secret(name.clone(), fresh()).await?,
    };
    Keyring::read(&name, stored)
}

/// Puts a fresh secret in force under a name. If it has none, `before` was in force, if anything was.
pub(crate) async fn rotate(
    store: &dyn Store,
    name: String,
    before: Option<Keyring>,
    grace: Interval,
    now: Timestamp,
) -> Result<RotatedSecret, EngineError> {
    loop {
        let seen = store.secrets(vec![name.clone()]).await?.pop().flatten();
        let stored = seen.clone().map(|stored| Keyring::read(&name, stored)).transpose()?;
        let old = stored.or_else(|| before.clone());
        let old_until = old.is_some().then(|| now.after(grace)).filter(|_| !grace.is_zero());
        let keyring = match old {
            Some(old) => old.rotated(fresh(), grace, now),
            None => Keyring::of(fresh()),
        };
        // Somebody else may have been faster; then theirs is the one before ours.
        if store.replace_secret(name.clone(), seen, keyring.to_bytes()).await? {
            return Ok(RotatedSecret { secret: keyring.shown(), old_until });
        }
    }
}

fn fresh() -> Vec<u8> {
    rand::random::<[u8; SECRET_BYTES]>().to_vec()
}

/// Secrets as people copy them.
mod as_text {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};
    use stepwell_connectors::egress::{secret_bytes, secret_text};

    pub(super) fn serialize<S: Serializer>(
        secret: &[u8],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&secret_text(secret))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        secret_bytes(&text).ok_or_else(|| D::Error::custom("no secret"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Interval = Interval::from_secs(86_400);

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1000)
    }

    fn secret(sign: u8) -> Vec<u8> {
        vec![sign; SECRET_BYTES]
    }

    #[track_caller]
    fn check(keyring: &Keyring, now: Timestamp, good: &[u8]) {
        let found: Vec<u8> = keyring.good_at(now).iter().map(|secret| secret[0]).collect();
        assert_eq!(found, good);
    }

    #[test]
    fn the_one_before_is_good_until_its_grace_is_over() {
        let keyring = Keyring::of(secret(1)).rotated(secret(2), DAY, at(0));
        check(&keyring, at(86_399), &[2, 1]);
        check(&keyring, at(86_400), &[2]);
        check(&keyring.rotated(secret(3), DAY, at(86_400)), at(86_400), &[3, 2]);
    }

    #[test]
    fn without_a_grace_nothing_from_before_is_good() {
        let keyring = Keyring::of(secret(1)).rotated(secret(2), DAY, at(0));
        let keyring = keyring.rotated(secret(3), Interval::from_secs(0), at(1));
        check(&keyring, at(1), &[3]);
    }

    #[test]
    fn of_many_the_newest_three_are_good() {
        let keyring = Keyring::of(secret(1)).rotated(secret(2), DAY, at(0));
        let keyring = keyring.rotated(secret(3), DAY, at(1));
        check(&keyring, at(2), &[3, 2, 1]);
        check(&keyring.rotated(secret(4), DAY, at(2)), at(2), &[4, 3, 2]);
    }

    #[test]
    fn what_is_stored_is_read_again_and_what_is_none_is_not_repeated() {
        let bare = Keyring::read("hook", secret(1)).expect("a bare secret");
        check(&bare, at(0), &[1]);
        let keyring = bare.rotated(secret(2), DAY, at(0));
        assert!(Keyring::read("hook", keyring.to_bytes()).ok() == Some(keyring), "as it was");
        let broken = Keyring::read("hook", b"whsec_c2VjcmV0".to_vec()).err().expect("refused");
        assert!(!broken.to_string().contains("whsec_"), "{broken}");
    }
}
