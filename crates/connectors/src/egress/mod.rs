//! The one HTTP client for everything that goes out: it refuses to be sent inside.
//!
//! A URL from a client is a way to make this process call whatever the client cannot reach itself.
//! So it is judged twice. [`Egress::check`] judges it when it is handed in, without the network, and
//! sees literal addresses in all their spellings. The guarded resolver judges every address of a
//! name when a connection is made; the connection then goes to the very addresses it judged, so that
//! a name that changes its mind between check and connection gains nothing.
//!
//! Redirects are not followed, proxies of the environment are not used, and answers are read only so
//! far.

mod address;
mod policy;
mod signature;

use std::error::Error;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::redirect;

pub use self::address::{Cidr, CidrError};
pub use self::policy::{HostPattern, HostPatternError, Policy, Refusal};
pub use self::signature::{
    ID_HEADER, SIGNATURE_HEADER, SignatureError, SignedHeaders, TIMESTAMP_HEADER, WINDOW,
    secret_bytes, secret_text, sign, verify, verify_within,
};
use crate::bus::Answer;

/// How much of an answer an error carries: enough to see why.
const REASON_MAX: usize = 1_000;

/// Turns names into addresses; replaceable, so that a test can play a hostile one.
pub trait Resolver: Send + Sync {
    /// All addresses of a host.
    fn resolve(&self, host: String) -> Answer<'static, io::Result<Vec<IpAddr>>>;
}

/// The machine's own resolver.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve(&self, host: String) -> Answer<'static, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let addresses = tokio::net::lookup_host((host, 0)).await?;
            Ok(addresses.map(|address| address.ip()).collect())
        })
    }
}

/// Calls the outside, guarded by a [`Policy`].
#[derive(Debug, Clone)]
pub struct Egress {
    client: reqwest::Client,
    policy: Arc<Policy>,
}

/// A signed notice to send. It has no `Debug`, so that no log ever shows a secret.
#[derive(Clone, Copy)]
pub struct Webhook<'a> {
    /// the same for every try, so that the receiver can tell a repetition; without dots
    pub id: &'a str,
    /// the time of this try
    pub timestamp_s: i64,
    /// JSON, sent and signed as it is
    pub body: &'a Bytes,
    /// one signature each; two while one secret replaces another
    pub secrets: &'a [&'a [u8]],
}

/// An answer that says the call arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivered {
    /// 200 to 299
    pub status: u16,
    /// the answer, cut at the policy's maximum
    pub answer: Bytes,
}

impl Egress {
    /// A client under this policy.
    pub fn new(policy: Policy) -> Result<Self, EgressSetupError> {
        Self::with_resolver(policy, Arc::new(SystemResolver))
    }

    /// A client that asks `resolver` for addresses, and trusts none of its answers.
    pub fn with_resolver(
        policy: Policy,
        resolver: Arc<dyn Resolver>,
    ) -> Result<Self, EgressSetupError> {
        // Fails if a provider is installed already, which is just as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let policy = Arc::new(policy);
        let client = reqwest::Client::builder()
            .user_agent(concat!("stepwell/", env!("CARGO_PKG_VERSION")))
            .dns_resolver(Arc::new(GuardedResolver { resolver, policy: policy.clone() }))
            .redirect(redirect::Policy::none())
            .no_proxy()
            .referer(false)
            .https_only(!policy.allow_http)
            .connect_timeout(policy.connect_timeout)
            .timeout(policy.total_timeout)
            .build()
            .map_err(EgressSetupError)?;
        Ok(Self { client, policy })
    }

    /// Judges a URL without touching the network, so that a bad one is refused when it is handed in.
    pub fn check(&self, url: &str) -> Result<(), Refusal> {
        self.policy.check(url).map(drop)
    }

    /// Posts a webhook with the headers of the Standard Webhooks specification.
    pub async fn post_signed(
        &self,
        url: &str,
        webhook: Webhook<'_>,
    ) -> Result<Delivered, EgressError> {
        let url = self.policy.check(url)?;
        let request =
            self.client.post(url).headers(headers_of(webhook)?).body(webhook.body.clone());
        let response = request.send().await.map_err(sort_error)?;
        self.judge(response).await
    }

    async fn judge(&self, mut response: reqwest::Response) -> Result<Delivered, EgressError> {
        let status = response.status().as_u16();
        let retry_after = retry_after_of(response.headers());
        let mut answer = BytesMut::new();
        while answer.len() < self.policy.answer_max {
            let chunk = match response.chunk().await {
                Ok(chunk) => chunk,
                // The status has arrived, and it decides; what it says beside that may be lost.
                Err(_) => break,
            };
            let Some(chunk) = chunk else { break };
            let room = self.policy.answer_max - answer.len();
            answer.extend_from_slice(&chunk[..chunk.len().min(room)]);
        }
        match status {
            200..=299 => Ok(Delivered { status, answer: answer.freeze() }),
            408 | 425 | 429 | 500..=599 => Err(EgressError::Busy { status, retry_after }),
            _ => {
                answer.truncate(REASON_MAX);
                Err(EgressError::Rejected { status, answer: answer.freeze() })
            }
        }
    }
}

/// Why a call did not succeed, sorted by what the caller does next.
#[derive(Debug, thiserror::Error)]
pub enum EgressError {
    /// The call is not allowed; somebody must change the URL or the policy.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The webhook's id cannot stand in a header; use another id.
    #[error("webhook id '{id}' must be visible ASCII without a dot")]
    BadId {
        /// as given
        id: String,
    },
    /// The other side was not reached; try again later.
    #[error("the host was not reached; try again later")]
    Unavailable(#[source] reqwest::Error),
    /// The other side did not answer in time, and may have acted; try again later with the same id.
    #[error("no answer in time; try again later")]
    Timeout(#[source] reqwest::Error),
    /// The other side asks to try again later.
    #[error("the host answered {status}; try again later")]
    Busy {
        /// 408, 425, 429 or 500 to 599
        status: u16,
        /// how long it asks to wait
        retry_after: Option<Duration>,
    },
    /// The other side will not take it; give up. Redirects land here: they are not followed.
    #[error("the host answered {status}; correct the URL or what it expects, repeating is no use")]
    Rejected {
        /// any other status
        status: u16,
        /// how its answer begins
        answer: Bytes,
    },
}

impl EgressError {
    /// Whether the same call may succeed later.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Unavailable(_) | Self::Timeout(_) | Self::Busy { .. } => true,
            Self::Refused(_) | Self::BadId { .. } | Self::Rejected { .. } => false,
        }
    }
}

/// The client could not be built.
#[derive(Debug, thiserror::Error)]
#[error("no HTTP client; check that the machine's CA certificates are installed")]
pub struct EgressSetupError(#[source] reqwest::Error);

/// Judges every address of a name before a connection is made.
struct GuardedResolver {
    resolver: Arc<dyn Resolver>,
    policy: Arc<Policy>,
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().to_owned();
        let addresses = self.resolver.resolve(host.clone());
        let policy = self.policy.clone();
        Box::pin(async move {
            let addresses = addresses.await?;
            // One bad address spoils the name: which one is connected to is not ours to choose.
            for &address in &addresses {
                policy.check_address(&host, address)?;
            }
            let addresses = addresses.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(addresses) as Addrs)
        })
    }
}

fn headers_of(webhook: Webhook<'_>) -> Result<HeaderMap, EgressError> {
    let Webhook { id, timestamp_s, body, secrets } = webhook;
    let is_visible = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_graphic());
    let id_value = HeaderValue::from_str(id).ok().filter(|_| is_visible && !id.contains('.'));
    let id_value = id_value.ok_or_else(|| EgressError::BadId { id: id.to_owned() })?;
    let signatures: Vec<String> =
        secrets.iter().map(|secret| sign(secret, id, timestamp_s, body)).collect();
    let signatures = HeaderValue::try_from(signatures.join(" ")).expect("base64 fits a header");
    Ok(HeaderMap::from_iter([
        (CONTENT_TYPE, HeaderValue::from_static("application/json")),
        (ID_HEADER.parse().expect("a header name"), id_value),
        (TIMESTAMP_HEADER.parse().expect("a header name"), HeaderValue::from(timestamp_s)),
        (SIGNATURE_HEADER.parse().expect("a header name"), signatures),
    ]))
}

fn sort_error(error: reqwest::Error) -> EgressError {
    let mut cause: Option<&(dyn Error + 'static)> = Some(&error);
    while let Some(inner) = cause {
        if let Some(refusal) = inner.downcast_ref::<Refusal>() {
            return EgressError::Refused(refusal.clone());
        }
        cause = inner.source();
    }
    // A webhook's URL may hold a token, and errors end up in logs.
    let error = error.without_url();
    if error.is_timeout() { EgressError::Timeout(error) } else { EgressError::Unavailable(error) }
}

/// Seconds only. A date is a wish about clocks we do not share; the caller's own backoff is as good.
fn retry_after_of(headers: &HeaderMap) -> Option<Duration> {
    let seconds: u32 = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds.into()))
}
