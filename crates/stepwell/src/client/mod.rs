//! Talking to a server: one call, one answer, and every refusal in words.

mod events;

use std::error::Error;
use std::net::IpAddr;
use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Method, RequestBuilder, Response, Url};
use serde_json::Value;

pub(crate) use events::{Event, Events};

use crate::config::Config;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print::printable;

const CALL_TIMEOUT: Duration = Duration::from_secs(30);
/// A long list takes its time on the way and is judged line by line.
const UPLOAD_TIMEOUT: Duration = Duration::from_secs(600);
/// A stream of events says something every fifteen seconds; after three times that, nobody is there.
const SILENCE_MAX: Duration = Duration::from_secs(45);
/// How often a broken stream is taken up again before the server counts as away.
const STREAM_TRIES_MAX: u64 = 5;

/// A connection to a server, in the name of one token.
#[derive(Clone, Debug)]
pub(crate) struct Api {
    http: reqwest::Client,
    server: Url,
}

impl Api {
    /// A connection as the settings say.
    pub(crate) fn new(config: &Config) -> Result<Self, Failure> {
        let Some(token) = config.get("token") else {
            let failure = Failure::new(Exit::Denied, "no_token", "there is no access token");
            return Err(failure.next(
                "set STEPWELL_TOKEN or give --token; an admin makes one with `stepwell token create`",
            ));
        };
        Self::at(config.text("server"), token)
    }

    /// A connection to a server by its URL.
    pub(crate) fn at(server: &str, token: &str) -> Result<Self, Failure> {
        // Fails if a provider is installed already, which is just as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let server = Url::parse(server)
            .map_err(|error| Failure::usage(format!("server {server:?} is not a URL: {error}")))?;
        let mut bearer = HeaderValue::try_from(format!("Bearer {token}"))
            .map_err(|_| Failure::usage("the token holds a character that no header may hold"))?;
        bearer.set_sensitive(true);
        let headers = [
            (AUTHORIZATION, bearer),
            (ACCEPT, HeaderValue::from_static("application/json, text/event-stream")),
        ];
        let mut http = reqwest::Client::builder()
            .user_agent(concat!("stepwell/", env!("CARGO_PKG_VERSION")))
            .default_headers(HeaderMap::from_iter(headers))
            .connect_timeout(Duration::from_secs(5))
            .read_timeout(SILENCE_MAX);
        if is_loopback(&server) {
            // A proxy of the environment could not reach this machine as we do.
            http = http.no_proxy();
        }
        let http = http
            .build()
            .map_err(|error| Failure::new(Exit::Failure, "no_client", chain(&error)))?;
        Ok(Self { http, server })
    }

    /// Reads.
    pub(crate) async fn get(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
    ) -> Result<Value, Failure> {
        let request = self.http.get(self.url(path, query)).timeout(CALL_TIMEOUT);
        self.answer(request).await
    }

    /// Asks for a change, with a JSON body.
    pub(crate) async fn post(&self, path: &[&str], body: &Value) -> Result<Value, Failure> {
        let request = self.http.post(self.url(path, &[])).timeout(CALL_TIMEOUT).json(body);
        self.answer(request).await
    }

    /// The same, done once under a key however often it is sent.
    pub(crate) async fn post_once(
        &self,
        path: &[&str],
        body: &Value,
        key: Option<&str>,
    ) -> Result<Value, Failure> {
        let mut request = self.http.post(self.url(path, &[])).timeout(CALL_TIMEOUT).json(body);
        if let Some(key) = key {
            request = request.header("Idempotency-Key", key);
        }
        self.answer(request).await
    }

    /// Asks for a change, with a YAML body.
    pub(crate) async fn post_yaml(&self, path: &[&str], body: String) -> Result<Value, Failure> {
        let request = self.http.post(self.url(path, &[])).timeout(CALL_TIMEOUT).body(body);
        self.answer(request.header(CONTENT_TYPE, "application/yaml")).await
    }

    /// Asks for a change, with a list as CSV.
    pub(crate) async fn post_csv(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
        body: Vec<u8>,
    ) -> Result<Value, Failure> {
        let request = self.http.post(self.url(path, query)).timeout(UPLOAD_TIMEOUT).body(body);
        self.answer(request.header(CONTENT_TYPE, "text/csv")).await
    }

    /// Puts something where something else may have been, with a JSON body.
    pub(crate) async fn put(&self, path: &[&str], body: &Value) -> Result<Value, Failure> {
        let request = self.http.put(self.url(path, &[])).timeout(CALL_TIMEOUT).json(body);
        self.answer(request).await
    }

    /// Reads what is not JSON.
    pub(crate) async fn get_text(&self, path: &[&str]) -> Result<String, Failure> {
        let request = self.http.get(self.url(path, &[])).timeout(CALL_TIMEOUT);
        // What is asked for has one form, whatever it is.
        let request = request.header(ACCEPT, "*/*");
        let response = self.send(request).await?;
        response.text().await.map_err(|error| self.unreachable(&error))
    }

    /// Deletes.
    pub(crate) async fn delete(&self, path: &[&str]) -> Result<Value, Failure> {
        let request = self.http.request(Method::DELETE, self.url(path, &[])).timeout(CALL_TIMEOUT);
        self.answer(request).await
    }

    /// Opens a stream of events, from after `last_event_id` on.
    pub(crate) async fn events(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
        last_event_id: Option<&str>,
    ) -> Result<Events, Failure> {
        let mut request = self.http.get(self.url(path, query));
        if let Some(id) = last_event_id {
            request = request.header("Last-Event-ID", id);
        }
        self.send(request).await.map(Events::new)
    }

    /// The same, for a stream that broke off: a server that is away for a moment is asked again.
    pub(crate) async fn events_again(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
        last_event_id: Option<&str>,
    ) -> Result<Events, Failure> {
        let mut tries = 0;
        loop {
            match self.events(path, query, last_event_id).await {
                Err(failure) if failure.exit == Exit::Unavailable && tries < STREAM_TRIES_MAX => {
                    tries += 1;
                    tokio::time::sleep(Duration::from_secs(tries)).await;
                }
                opened => return opened,
            }
        }
    }

    fn url(&self, path: &[&str], query: &[(&str, &str)]) -> Url {
        let mut url = self.server.clone();
        url.path_segments_mut().expect("http URLs have paths").pop_if_empty().extend(path);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        url
    }

    /// Sends a request; answers only if that was a success.
    async fn send(&self, request: RequestBuilder) -> Result<Response, Failure> {
        let response = request.send().await.map_err(|error| self.unreachable(&error))?;
        if !response.status().is_success() {
            return Err(refused(response).await);
        }
        Ok(response)
    }

    async fn answer(&self, request: RequestBuilder) -> Result<Value, Failure> {
        let response = self.send(request).await?;
        let body = response.bytes().await.map_err(|error| self.unreachable(&error))?;
        if body.is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_slice(&body).map_err(|_| {
            Failure::new(
                Exit::Failure,
                "not_json",
                format!("{} does not answer in JSON", self.server),
            )
            .next("check that --server is the address of a Stepwell server")
        })
    }

    fn unreachable(&self, error: &reqwest::Error) -> Failure {
        let what = format!("{} was not reached: {}", self.server, chain(error));
        Failure::new(Exit::Unavailable, "unreachable", what)
            .next("start a server with `stepwell serve`, or name another with --server")
    }
}

fn is_loopback(server: &Url) -> bool {
    let host = server.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// The innermost cause says what happened; the layers above it only repeat that it did.
fn chain(error: &dyn Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

const CORRECT: &str = "correct what is named above, and run the command again";

/// What the server has against it, from its problem details (RFC 9457).
async fn refused(response: Response) -> Failure {
    let status = response.status();
    let request_id = response.headers().get("x-request-id").and_then(|id| id.to_str().ok());
    let request_id = request_id.map(str::to_owned);
    let problem: Value = response.json().await.unwrap_or_default();
    let text = |key: &str| problem[key].as_str().map(printable).filter(|text| !text.is_empty());
    let reason = status.canonical_reason().unwrap_or("an unknown status").to_lowercase();
    let what = text("detail").or_else(|| text("title"));
    let what = what.unwrap_or_else(|| format!("the server answered {status} ({reason})"));
    let details = problem["details"].as_array().map_or(&[][..], Vec::as_slice);
    // What the server says of its fields is for programs; a person sees them above.
    let next = if details.is_empty() { text("next") } else { Some(CORRECT.to_owned()) };
    Failure {
        exit: Exit::of_status(status.as_u16()),
        code: text("code").unwrap_or_else(|| format!("http_{}", status.as_u16())),
        what,
        details: details.iter().map(detail).collect(),
        next: next.map(Into::into),
        request_id: text("request_id").or(request_id).map(Into::into),
    }
}

fn detail(problem: &Value) -> String {
    let text = |key: &str| problem[key].as_str().map(printable).unwrap_or_default();
    let place = match (problem["line"].as_u64(), problem["column"].as_u64()) {
        (Some(line), Some(column)) => format!("{line}:{column}: "),
        _ => String::new(),
    };
    let path = text("path");
    let path = if path.is_empty() { path } else { format!("{path}: ") };
    let help = text("help");
    let help = if help.is_empty() { help } else { format!("; {help}") };
    format!("{place}{path}{}{help}", text("message"))
}
