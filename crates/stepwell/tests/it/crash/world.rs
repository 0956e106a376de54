//! What clients and workers share, and how they reach the servers: any of them, by chance.

use std::time::Duration;

use rand::RngExt;
use reqwest::RequestBuilder;
use serde_json::Value;
use stepwell_worker::{Client, ClientError};
use tokio::sync::{Notify, watch};

use super::journal::Journal;

/// How long somebody waits who was told to come back, unless there is news before.
const RETRY_PACE: Duration = Duration::from_millis(50);

/// What clients and workers share.
pub(crate) struct World {
    pub(crate) journal: Journal,
    /// a report was answered
    pub(crate) progress: Notify,
    /// where all directives go
    pub(crate) pool: &'static str,
    http: reqwest::Client,
    servers: Vec<Server>,
    token: String,
    /// how long a call may take; a server that is frozen never answers
    patience: Duration,
    wild: watch::Sender<bool>,
    up: watch::Sender<bool>,
}

struct Server {
    url: String,
    client: Client,
}

impl World {
    pub(crate) fn new(urls: &[String], token: String, pool: &'static str) -> Self {
        // A client of the worker library installs what any HTTP client here needs.
        let client = |url: &String| Client::new(url, &token).expect("a client");
        let servers = urls.iter().map(|url| Server { url: url.clone(), client: client(url) });
        Self {
            journal: Journal::default(),
            progress: Notify::new(),
            pool,
            servers: servers.collect(),
            http: reqwest::Client::builder().no_proxy().build().expect("an HTTP client"),
            token,
            patience: Duration::from_secs(20),
            wild: watch::Sender::new(true),
            up: watch::Sender::new(true),
        }
    }

    /// The same, with calls that do not wait longer than this.
    pub(crate) fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Clients submit, and workers misbehave.
    pub(crate) fn is_wild(&self) -> bool {
        *self.wild.borrow()
    }

    /// From here on workers are kind, and clients submit nothing new.
    pub(crate) fn calm(&self) {
        self.wild.send_replace(false);
    }

    /// Tells everybody whether it makes sense to try.
    pub(crate) fn set_up(&self, up: bool) {
        self.up.send_replace(up);
    }

    /// A client as workers have it, of one of the servers.
    pub(crate) fn client(&self) -> Client {
        self.any().client.clone()
    }

    pub(crate) fn get(&self, path: &str) -> RequestBuilder {
        self.http.get(format!("{}{path}", self.any().url)).bearer_auth(&self.token)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> RequestBuilder {
        self.http.post(format!("{}{path}", self.any().url)).bearer_auth(&self.token).json(body)
    }

    /// Status and body of the answer, if one comes whole.
    pub(crate) async fn answer(&self, request: RequestBuilder) -> Option<(u16, Value)> {
        let response = request.timeout(self.patience).send().await.ok()?;
        let status = response.status().as_u16();
        Some((status, response.json().await.ok()?))
    }

    /// A worker's call, which counts as unanswered when it takes too long.
    pub(crate) async fn call<T>(
        &self,
        call: impl Future<Output = Result<T, ClientError>>,
    ) -> Result<T, ClientError> {
        tokio::time::timeout(self.patience, call).await.unwrap_or_else(|_| {
            let message = "no answer".to_owned();
            Err(ClientError::Unavailable { message, retry_after: None })
        })
    }

    /// What a path holds; the server must be up.
    pub(crate) async fn read(&self, path: &str) -> Value {
        match self.answer(self.get(path)).await {
            Some((200, answer)) => answer,
            other => panic!("{path} was answered with {other:?}"),
        }
    }

    /// Waits until trying again makes sense: the server is back, or it was busy and is less so.
    pub(crate) async fn before_retry(&self) {
        if *self.up.borrow() {
            let _ = tokio::time::timeout(RETRY_PACE, self.progress.notified()).await;
        }
        let _ = self.up.subscribe().wait_for(|up| *up).await;
    }

    pub(crate) async fn publish(&self, workflow: &'static str) {
        let url = format!("{}/v1/workflows", self.any().url);
        let request = self.http.post(url).bearer_auth(&self.token);
        let request = request.header("Content-Type", "application/yaml").body(workflow);
        let answer = self.answer(request).await;
        assert!(matches!(answer, Some((201, _))), "{answer:?}");
    }

    /// What the jobs that have not ended wait for.
    pub(crate) async fn explain_open(&self) -> String {
        let open = self.read("/v1/jobs?status=QUEUED,IN_PROGRESS,CANCELLING&limit=5").await;
        let mut text = String::new();
        for job in open["items"].as_array().expect("a list") {
            let id = job["job_id"].as_str().expect("an id");
            text.push_str(&format!("\n{}", self.read(&format!("/v1/jobs/{id}/explain")).await));
        }
        text
    }

    fn any(&self) -> &Server {
        &self.servers[rand::rng().random_range(0..self.servers.len())]
    }
}
