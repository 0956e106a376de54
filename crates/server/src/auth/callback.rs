//! The proof a worker shows with a callback: made for one attempt under one lease, for a while.
//!
//! `cb1.<expiry>.<code>`: the code is an HMAC over tenant, job, step, attempt, lease and expiry, so
//! nothing has to be stored, and a proof is worth nothing for any other attempt. Workers that know
//! nothing of it return it all the same, because it is part of the URLs they are given.

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use stepwell_core::command::Fence;
use stepwell_core::duration::Interval;
use stepwell_core::id::RunId;
use stepwell_core::time::Timestamp;

const VERSION: &str = "cb1";

/// How long after the end of its lease a proof is still looked at, so that a late report is
/// recorded as late instead of being turned away at the door.
const GRACE: Interval = Interval::from_secs(24 * 60 * 60);

/// The name under which the store keeps the key.
pub const KEY_NAME: &str = "callback-key";

/// The key that proofs are made with.
#[derive(Clone)]
pub struct CallbackKey(Vec<u8>);

/// The attempt that a proof is made for.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// whose job
    pub tenant: &'a str,
    /// the job
    pub run: RunId,
    /// the id of the step
    pub step: &'a str,
    /// attempt and lease
    pub fence: Fence,
}

/// A proof that has the right form and has not expired. It still has to be checked.
#[derive(Clone, Debug)]
pub struct Proof {
    expires_s: i64,
    code: Vec<u8>,
}

impl CallbackKey {
    /// A key of these bytes.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// The proof for an attempt whose lease ends at this moment.
    #[must_use]
    pub fn token(&self, subject: &Subject<'_>, lease_expires_at: Timestamp) -> String {
        let expires_s = lease_expires_at.after(GRACE).as_millis() / 1_000;
        let code = self.code(subject, expires_s).finalize().into_bytes();
        format!("{VERSION}.{expires_s}.{}", BASE64_URL_SAFE_NO_PAD.encode(code))
    }

    /// Whether the proof was made for this attempt, in constant time.
    #[must_use]
    pub fn proves(&self, proof: &Proof, subject: &Subject<'_>) -> bool {
        self.code(subject, proof.expires_s).verify_slice(&proof.code).is_ok()
    }

    fn code(&self, subject: &Subject<'_>, expires_s: i64) -> Hmac<Sha256> {
        let mut code = Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes any key length");
        let Subject { tenant, run, step, fence } = subject;
        let fields: [&[u8]; 7] = [
            VERSION.as_bytes(),
            tenant.as_bytes(),
            run.0.as_bytes(),
            step.as_bytes(),
            &fence.attempt.to_be_bytes(),
            fence.lease.0.as_bytes(),
            &expires_s.to_be_bytes(),
        ];
        for field in fields {
            // The length keeps "a" + "bc" apart from "ab" + "c".
            code.update(&(field.len() as u64).to_be_bytes());
            code.update(field);
        }
        code
    }
}

impl Proof {
    /// The proof in a token, unless it is none or has expired.
    #[must_use]
    pub fn read(token: &str, now: Timestamp) -> Option<Self> {
        let mut parts = token.split('.');
        let (version, expires_s, code) = (parts.next()?, parts.next()?, parts.next()?);
        if version != VERSION || parts.next().is_some() {
            return None;
        }
        let expires_s: i64 = expires_s.parse().ok()?;
        let code = BASE64_URL_SAFE_NO_PAD.decode(code).ok()?;
        (now.as_millis() / 1_000 < expires_s).then_some(Self { expires_s, code })
    }
}

#[cfg(test)]
mod tests {
    use stepwell_core::id::LeaseId;
    use uuid::Uuid;

    use super::*;

    fn at() -> Timestamp {
        Timestamp::from_millis(0)
    }

    fn subject() -> Subject<'static> {
        let (run, lease) = (RunId(Uuid::from_u128(1)), LeaseId(Uuid::from_u128(2)));
        Subject { tenant: "acme", run, step: "ocr", fence: Fence { attempt: 1, lease } }
    }

    // D-065, X-140: a proof is worth nothing for any other attempt.
    #[test]
    fn a_proof_holds_for_its_own_attempt_and_for_no_other() {
        let key = CallbackKey::new(vec![7; 32]);
        let proof = Proof::read(&key.token(&subject(), at()), at()).unwrap();
        assert!(key.proves(&proof, &subject()));
        let other = |change: fn(&mut Subject<'static>)| {
            let mut other = subject();
            change(&mut other);
            assert!(!key.proves(&proof, &other), "{other:?}");
        };
        other(|it| it.tenant = "acm");
        other(|it| it.run = RunId(Uuid::from_u128(9)));
        other(|it| it.step = "embed");
        other(|it| it.fence.attempt = 2);
        other(|it| it.fence.lease = LeaseId(Uuid::from_u128(9)));
        assert!(!CallbackKey::new(vec![8; 32]).proves(&proof, &subject()));
    }

    #[test]
    fn moving_a_letter_from_one_field_to_the_next_breaks_the_proof() {
        let key = CallbackKey::new(vec![7; 32]);
        let joined = Subject { tenant: "ab", step: "c", ..subject() };
        let moved = Subject { tenant: "a", step: "bc", ..subject() };
        let proof = Proof::read(&key.token(&joined, at()), at()).unwrap();
        assert!(!key.proves(&proof, &moved));
    }

    // late reports are still read for a day, and not longer.
    #[test]
    fn a_proof_expires_a_day_after_its_lease() {
        let token = CallbackKey::new(vec![7; 32]).token(&subject(), at());
        let day = Interval::from_secs(24 * 60 * 60);
        let just_before = Timestamp::from_millis(at().after(day).as_millis() - 1);
        assert!(Proof::read(&token, just_before).is_some());
        assert!(Proof::read(&token, at().after(day)).is_none());
    }

    #[test]
    fn what_is_no_proof_is_refused_without_a_look_at_the_key() {
        for text in ["", "cb1", "cb1.1", "cb2.99.aa", "cb1.x.aa", "cb1.99.!", "cb1.99.aa.bb"] {
            assert!(Proof::read(text, at()).is_none(), "{text:?}");
        }
    }

    #[test]
    fn an_expiry_that_was_moved_breaks_the_proof() {
        let key = CallbackKey::new(vec![7; 32]);
        let later = key.token(&subject(), at()).replace("cb1.86400.", "cb1.999999.");
        let proof = Proof::read(&later, at()).unwrap();
        assert!(!key.proves(&proof, &subject()));
    }
}
