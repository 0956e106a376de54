//! HTTP calls to a source: encrypted, without redirects, read only so far.
//!
//! The URL comes from the environment, which an administrator fills. So a source may stand inside,
//! where the guarded client for everybody else's URLs refuses to go; but it is never left for another
//! host, because the call carries a credential.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use reqwest::header::HeaderMap;
use reqwest::{Client, RequestBuilder, StatusCode, Url, redirect};

use super::error::{SourceError, innermost, tls_cause};
use super::hidden::Hidden;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Calls one source.
pub(super) struct Web {
    client: Client,
    hidden: Hidden,
    bytes_max: usize,
}

/// An answer, read whole.
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Web {
    /// A client that repeats nothing of what is hidden.
    pub(super) fn new(hidden: Hidden, bytes_max: usize) -> Result<Self, SourceError> {
        // Fails if a provider is installed already, which is just as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .user_agent(concat!("stepwell/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .no_proxy()
            .referer(false)
            .connect_timeout(CONNECT_TIMEOUT)
            .build()
            .map_err(|error| SourceError::Untrusted {
                reason: format!(
                    "the machine's certificates cannot be read ({})",
                    innermost(&error)
                ),
            })?;
        Ok(Self { client, hidden, bytes_max })
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// What somebody said, without secrets.
    pub(super) fn shown(&self, said: &str) -> String {
        self.hidden.shown(said)
    }

    /// Sends a request; answers with whatever comes back. `budget` is how many bytes may still be read.
    pub(super) async fn send(
        &self,
        request: RequestBuilder,
        budget: &mut usize,
    ) -> Result<Reply, SourceError> {
        let mut response = request.send().await.map_err(|error| self.sorted(error))?;
        let (status, headers) = (response.status(), response.headers().clone());
        let mut body = BytesMut::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.sorted(error))? {
            *budget = budget
                .checked_sub(chunk.len())
                .ok_or(SourceError::TooManyBytes { bytes_max: self.bytes_max })?;
            body.extend_from_slice(&chunk);
        }
        Ok(Reply { status, headers, body: body.freeze() })
    }

    fn sorted(&self, error: reqwest::Error) -> SourceError {
        // The URL came from the environment.
        let error = error.without_url();
        match tls_cause(&error) {
            Some(tls) => SourceError::Untrusted {
                reason: format!(
                    "{}; let this machine trust the authority of its certificate",
                    self.shown(&tls)
                ),
            },
            None => SourceError::Unreachable { reason: self.shown(&innermost(&error)) },
        }
    }

    /// What an answer means that is not the one hoped for.
    ///
    /// `credential` is what to look at if the source lets nobody in.
    pub(super) fn failure(&self, reply: &Reply, said: &str, credential: &str) -> SourceError {
        let said = self.shown(said);
        let status = reply.status.as_u16();
        match status {
            401 | 403 => SourceError::AccessDenied {
                reason: format!("it answered {status} ({said}); check {credential}"),
            },
            300..=399 => SourceError::Unreachable {
                reason: format!(
                    "it answered {status}, and redirects are not followed; name the URL that it leads to"
                ),
            },
            408 | 429 | 500..=599 => {
                SourceError::Unreachable { reason: format!("it answered {status} ({said})") }
            }
            _ => SourceError::Query { message: format!("it answered {status} ({said})") },
        }
    }
}

/// A URL of the environment: encrypted, unless it is this very machine's.
///
/// # Errors
///
/// Why it cannot be used, in words that do not repeat it.
pub(super) fn base_url(text: &str) -> Result<Url, &'static str> {
    let url = Url::parse(text).map_err(|_| "it is no URL; write https://host/path")?;
    let host = url.host_str().ok_or("it names no host; write https://host/path")?;
    let is_local = matches!(host, "localhost" | "127.0.0.1" | "[::1]");
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_local => Ok(url),
        _ => Err("it must begin with https://"),
    }
}

/// A body as text for people.
pub(super) fn text(body: &[u8]) -> String {
    const READ_MAX: usize = 4_096;
    String::from_utf8_lossy(&body[..body.len().min(READ_MAX)]).into_owned()
}
