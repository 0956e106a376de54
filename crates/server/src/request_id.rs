//! The name of one request, in and out.

use axum::http::{HeaderMap, HeaderName, HeaderValue};

/// The header that carries it.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

const CHARS_MAX: usize = 128;

/// The name of one request: the caller's, or one of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RequestId(String);

impl RequestId {
    /// The caller's own, if it can be logged and sent back as it is; else a fresh one.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let given = headers.get(REQUEST_ID).and_then(|value| value.to_str().ok());
        let is_sound = |id: &&str| {
            (1..=CHARS_MAX).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic())
        };
        match given.filter(is_sound) {
            Some(id) => Self(id.to_owned()),
            None => Self(format!("{:032x}", rand::random::<u128>())),
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// As a header; it has only visible characters.
    pub(crate) fn header(&self) -> Option<HeaderValue> {
        HeaderValue::from_str(&self.0).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(value: &[u8]) -> String {
        let mut headers = HeaderMap::new();
        headers.insert(REQUEST_ID, HeaderValue::from_bytes(value).unwrap());
        RequestId::of(&headers).0
    }

    #[test]
    fn a_callers_name_for_a_request_is_kept_unless_it_could_harm_a_log() {
        assert_eq!(of(b"order-7/retry:2"), "order-7/retry:2");
        assert_eq!(of(&[b'x'; 128]), "x".repeat(128));
        for bad in [&b""[..], b"two words", "é".as_bytes(), &[b'x'; 129]] {
            assert_eq!(of(bad).len(), 32, "{bad:?}");
        }
    }
}
