//! Signatures after the Standard Webhooks specification: for what we send, and for receivers.
//!
//! The signed text is `id.timestamp.body`, over the raw bytes of the body. Signing anything that was
//! parsed and written again would sign another text.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The header with the message's id, the same for every try.
pub const ID_HEADER: &str = "webhook-id";
/// The header with the time of this try, in seconds since 1970 UTC.
pub const TIMESTAMP_HEADER: &str = "webhook-timestamp";
/// The header with the signatures, separated by spaces.
pub const SIGNATURE_HEADER: &str = "webhook-signature";

/// How far the timestamp may lie from the receiver's clock, unless the receiver says otherwise.
pub const WINDOW: Duration = Duration::from_secs(5 * 60);
/// What a secret begins with when it is shown.
const SECRET_PREFIX: &str = "whsec_";
/// A rotation needs two; looking at more only feeds whoever sends thousands.
const SIGNATURES_MAX: usize = 3;

/// The signature of one secret: `v1,<base64>`.
pub fn sign(secret: &[u8], id: &str, timestamp_s: i64, body: &[u8]) -> String {
    let code = code_of(secret, id, &timestamp_s.to_string(), body).finalize();
    format!("v1,{}", STANDARD.encode(code.into_bytes()))
}

/// The three headers of a signed call, as received.
#[derive(Debug, Clone, Copy)]
pub struct SignedHeaders<'a> {
    /// of [`ID_HEADER`]
    pub id: &'a str,
    /// of [`TIMESTAMP_HEADER`]
    pub timestamp: &'a str,
    /// of [`SIGNATURE_HEADER`]
    pub signature: &'a str,
}

/// Accepts a call if any of its first three signatures fits any of the secrets, and it was signed
/// within [`WINDOW`].
///
/// Several secrets are live while one replaces another. Takes the same time whether a signature is
/// wrong in its first byte or its last.
pub fn verify(
    secrets: &[&[u8]],
    headers: SignedHeaders<'_>,
    body: &[u8],
    now_s: i64,
) -> Result<(), SignatureError> {
    verify_within(secrets, headers, body, now_s, WINDOW)
}

/// The same, for a receiver with a window of its own.
pub fn verify_within(
    secrets: &[&[u8]],
    headers: SignedHeaders<'_>,
    body: &[u8],
    now_s: i64,
    window: Duration,
) -> Result<(), SignatureError> {
    let timestamp_s: i64 = headers.timestamp.parse().map_err(|_| SignatureError::Malformed)?;
    if timestamp_s.abs_diff(now_s) > window.as_secs() {
        return Err(SignatureError::Stale);
    }
    // An id with a dot would let the border between id and timestamp move.
    if headers.id.is_empty() || headers.id.contains('.') {
        return Err(SignatureError::Malformed);
    }
    let signatures = headers.signature.split(' ').take(SIGNATURES_MAX);
    let mut codes = signatures.filter_map(|signature| signature.strip_prefix("v1,"));
    let fits = |code: &str| {
        let Ok(code) = STANDARD.decode(code) else { return false };
        secrets.iter().any(|secret| {
            let expected = code_of(secret, headers.id, headers.timestamp, body);
            expected.verify_slice(&code).is_ok()
        })
    };
    if codes.any(fits) { Ok(()) } else { Err(SignatureError::Mismatch) }
}

/// Why a signed call is not accepted. Tell the caller no more than "unauthorized".
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// A header cannot be read.
    #[error("the webhook headers are malformed")]
    Malformed,
    /// The timestamp lies outside of the window: a replay, or a clock to set right.
    #[error("the webhook timestamp is too far away; check both clocks")]
    Stale,
    /// No signature fits: another secret, or another body.
    #[error("no webhook signature fits; check the secret, and sign the raw body")]
    Mismatch,
}

/// A secret as people copy it: `whsec_` and the bytes in base64.
#[must_use]
pub fn secret_text(secret: &[u8]) -> String {
    format!("{SECRET_PREFIX}{}", STANDARD.encode(secret))
}

/// The bytes of a secret as people copy it; without the prefix, its own bytes. `None` for base64
/// that is none.
#[must_use]
pub fn secret_bytes(text: &str) -> Option<Vec<u8>> {
    match text.strip_prefix(SECRET_PREFIX) {
        Some(code) => STANDARD.decode(code).ok(),
        None => Some(text.as_bytes().to_vec()),
    }
}

fn code_of(secret: &[u8], id: &str, timestamp: &str, body: &[u8]) -> Hmac<Sha256> {
    let mut code = Hmac::<Sha256>::new_from_slice(secret).expect("HMAC takes keys of any length");
    for part in [id.as_bytes(), b".", timestamp.as_bytes(), b".", body] {
        code.update(part);
    }
    code
}
