//! The six calls a worker makes.

use std::borrow::Borrow;
use std::net::IpAddr;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue, RETRY_AFTER};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::wire::{Answer, Attempt, Kept, Leased, Report};

/// For everything but the wait of a long poll.
const CALL_TIMEOUT: Duration = Duration::from_secs(15);

/// A connection to a server, in the name of one token. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    server: String,
}

/// What to lease.
#[derive(Clone, Copy, Debug)]
pub struct Lease<'a> {
    /// at most so many directives, 1 to 256
    pub max: usize,
    /// how long to wait for the first, up to 30 seconds
    pub wait: Duration,
    /// how long each is kept from other workers
    pub visibility: Duration,
    /// of these lanes only; empty: of all
    pub lanes: &'a [u8],
}

/// Why a call did not succeed, sorted by what the caller does next.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The server was not reached, is busy or is stopping; make the same call again later.
    #[error("the server is unavailable: {message}; try again later")]
    Unavailable {
        /// what happened
        message: String,
        /// how long it asks to wait
        retry_after: Option<Duration>,
    },
    /// The server said no; the same call again gives the same answer.
    #[error("the server refused ({status} {code}): {message}")]
    Refused {
        /// of HTTP
        status: u16,
        /// a stable word
        code: String,
        /// what is wrong, and what to do next
        message: String,
    },
    /// The answer makes no sense; check that the address is a Stepwell server's.
    #[error("the answer was not understood; check the address and version of the server")]
    Unreadable(#[source] serde_json::Error),
    /// The client could not be made; check address, token and CA certificates.
    #[error("the client could not be made: {message}")]
    Setup {
        /// what is wrong
        message: String,
    },
}

/// The part of a problem (RFC 9457) that is shown to people.
#[derive(Default, Deserialize)]
struct Problem {
    #[serde(default)]
    code: String,
    #[serde(default)]
    detail: String,
    #[serde(default)]
    next: String,
}

impl Client {
    /// A client of the server at `server`, such as `http://127.0.0.1:8080`.
    ///
    /// # Errors
    /// When the address is no URL, the token cannot stand in a header, or the machine has no CA
    /// certificates.
    pub fn new(server: &str, token: &str) -> Result<Self, ClientError> {
        // Fails if a provider is installed already, which is just as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let setup = |message: String| ClientError::Setup { message };
        let mut bearer = HeaderValue::try_from(format!("Bearer {token}"))
            .map_err(|_| setup("the token holds a character that no header may hold".to_owned()))?;
        bearer.set_sensitive(true);
        let url = reqwest::Url::parse(server)
            .map_err(|error| setup(format!("{server:?} is not a URL: {error}")))?;
        let mut http = reqwest::Client::builder()
            .user_agent(concat!("stepwell-worker/", env!("CARGO_PKG_VERSION")))
            .default_headers(HeaderMap::from_iter([(AUTHORIZATION, bearer)]))
            .connect_timeout(Duration::from_secs(5));
        if is_loopback(&url) {
            // A proxy of the environment could not reach this machine as we do.
            http = http.no_proxy();
        }
        let http = http.build().map_err(|error| setup(error.to_string()))?;
        Ok(Self { http, server: server.trim_end_matches('/').to_owned() })
    }

    /// Leases directives of a pool, waiting for the first if none is there.
    ///
    /// # Errors
    /// When the server is away or says no.
    pub async fn lease(&self, pool: &str, ask: Lease<'_>) -> Result<Vec<Leased>, ClientError> {
        #[derive(Deserialize)]
        struct Directives {
            directives: Vec<Leased>,
        }
        let mut body = json!({
            "max": ask.max,
            "wait_seconds": ask.wait.as_secs(),
            "visibility_seconds": ask.visibility.as_secs(),
        });
        if !ask.lanes.is_empty() {
            body["lanes"] = json!(ask.lanes);
        }
        let timeout = ask.wait + CALL_TIMEOUT;
        let path = format!("/v1/workers/{}/lease", segment(pool));
        Ok(self.post::<Directives>(&path, &body, timeout).await?.directives)
    }

    /// Keeps deliveries for `visibility` from now; one answer each, in order.
    ///
    /// # Errors
    /// When the server is away or says no to all of them.
    pub async fn extend(
        &self,
        deliveries: &[String],
        visibility: Duration,
    ) -> Result<Vec<Kept>, ClientError> {
        let body = json!({ "deliveries": deliveries, "visibility_seconds": visibility.as_secs() });
        self.kept("/v1/workers/extend", &body).await
    }

    /// Gives deliveries back, to be handed out again after `delay`; one answer each, in order.
    ///
    /// # Errors
    /// When the server is away or says no to all of them.
    pub async fn nack(
        &self,
        deliveries: &[String],
        delay: Duration,
    ) -> Result<Vec<Kept>, ClientError> {
        let delay_seconds = delay.as_secs();
        let item = |delivery| json!({ "delivery": delivery, "delay_seconds": delay_seconds });
        let deliveries: Vec<_> = deliveries.iter().map(item).collect();
        self.kept("/v1/workers/nack", &json!({ "deliveries": deliveries })).await
    }

    /// Says that attempts were taken; one answer each, in order.
    ///
    /// # Errors
    /// When the server is away or says no to all of them.
    pub async fn acks(&self, attempts: &[Attempt]) -> Result<Vec<Answer>, ClientError> {
        self.answers("/v1/workers/acks", &json!({ "acks": attempts })).await
    }

    /// Says that attempts go on; one answer each, in order. What the server could not judge now is kept.
    ///
    /// # Errors
    /// When the server is away or says no to all of them.
    pub async fn heartbeats(&self, attempts: &[Attempt]) -> Result<Vec<Kept>, ClientError> {
        #[derive(Deserialize)]
        struct Heartbeat {
            status: String,
        }
        #[derive(Deserialize)]
        struct Heartbeats {
            heartbeats: Vec<Heartbeat>,
        }
        let body = json!({ "heartbeats": attempts });
        let path = "/v1/workers/heartbeats";
        let answer = self.post::<Heartbeats>(path, &body, CALL_TIMEOUT).await?;
        let kept = |one: Heartbeat| if one.status == "lost" { Kept::Lost } else { Kept::Ok };
        Ok(answer.heartbeats.into_iter().map(kept).collect())
    }

    /// Reports how attempts ended; one answer each, in order.
    ///
    /// # Errors
    /// When the server is away or says no to all of them.
    pub async fn results<R>(&self, reports: &[R]) -> Result<Vec<Answer>, ClientError>
    where
        R: Borrow<Report> + Serialize,
    {
        self.answers("/v1/workers/results", &json!({ "results": reports })).await
    }

    async fn kept(&self, path: &str, body: &impl Serialize) -> Result<Vec<Kept>, ClientError> {
        #[derive(Deserialize)]
        struct Delivery {
            status: Kept,
        }
        #[derive(Deserialize)]
        struct Deliveries {
            deliveries: Vec<Delivery>,
        }
        let answer = self.post::<Deliveries>(path, body, CALL_TIMEOUT).await?;
        Ok(answer.deliveries.into_iter().map(|delivery| delivery.status).collect())
    }

    async fn answers(&self, path: &str, body: &impl Serialize) -> Result<Vec<Answer>, ClientError> {
        #[derive(Deserialize)]
        struct Answers {
            answers: Vec<Answer>,
        }
        Ok(self.post::<Answers>(path, body, CALL_TIMEOUT).await?.answers)
    }

    async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        timeout: Duration,
    ) -> Result<T, ClientError> {
        let url = format!("{}{path}", self.server);
        let response = self.http.post(url).timeout(timeout).json(body).send().await;
        let response = response.map_err(unavailable)?;
        let (status, retry_after) = (response.status().as_u16(), retry_after(response.headers()));
        let answer = response.bytes().await.map_err(unavailable)?;
        if (200..300).contains(&status) {
            return serde_json::from_slice(&answer).map_err(ClientError::Unreadable);
        }
        let Problem { code, detail, next } = serde_json::from_slice(&answer).unwrap_or_default();
        let message = [detail, next].join("; ").trim_matches([';', ' ']).to_owned();
        Err(match status {
            408 | 425 | 429 | 500..=599 => ClientError::Unavailable { message, retry_after },
            _ => ClientError::Refused { status, code, message },
        })
    }
}

fn is_loopback(server: &reqwest::Url) -> bool {
    let host = server.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Seconds only; a date is a wish about clocks that are not shared.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds: u32 = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds.into()))
}

fn unavailable(error: reqwest::Error) -> ClientError {
    // The innermost cause says what happened; the layers above it only repeat that it did.
    let mut cause: &dyn std::error::Error = &error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    ClientError::Unavailable { message: cause.to_string(), retry_after: None }
}

/// A name as one segment of a path.
fn segment(name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let mut segment = String::with_capacity(name.len());
    for byte in name.bytes() {
        if is_plain(byte) {
            segment.push(char::from(byte));
        } else {
            segment.push_str(&format!("%{byte:02X}"));
        }
    }
    segment
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_with_strange_letters_stays_one_segment_of_the_path() {
        assert_eq!(segment("ocr-service"), "ocr-service");
        assert_eq!(segment("a/b?c é"), "a%2Fb%3Fc%20%C3%A9");
    }
}
