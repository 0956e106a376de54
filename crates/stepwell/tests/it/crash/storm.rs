//! Clients and workers that keep a server busy while a test does something to it.

use std::sync::Arc;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use reqwest::RequestBuilder;
use serde_json::Value;
use stepwell_worker::Client;
use tokio::sync::{Notify, watch};
use tokio::task::{JoinHandle, JoinSet};

use super::clients::client;
use super::journal::Journal;
use super::site::Site;
use super::workers::{Worker, refused};

/// Where all directives go.
pub(super) const POOL: &str = "storm";

/// Short times, so that silence is healed while the test watches; many attempts, so that most jobs
/// get through.
const WORKFLOW: &str = "\
name: storm
request_type: storm
timeout: 2s
retry: {max_attempts: 20, interval: 50ms}
steps:
  - {id: first, type: FIRST, pool: storm}
  - {id: polled, type: POLLED, pool: storm, after: [first], poll: {interval: 200ms, timeout: 20s}}
  - {id: beside, type: BESIDE, pool: storm, after: [first]}
  - {id: last, type: LAST, pool: storm, after: [polled, beside]}
";

/// Few open jobs for each tenant: the backlog at the end of the storm stays small.
pub(super) const SETTINGS: [&str; 2] = ["--tenant-cap", "30"];

/// How long a storm may take to settle once everybody is kind again.
const SETTLED_WITHIN: Duration = Duration::from_secs(40);

/// How long somebody waits who was told to come back, unless there is news before.
const RETRY_PACE: Duration = Duration::from_millis(50);

/// What clients and workers share.
pub(super) struct World {
    pub(super) journal: Journal,
    /// a report was answered
    pub(super) progress: Notify,
    http: reqwest::Client,
    url: String,
    token: String,
    wild: watch::Sender<bool>,
    up: watch::Sender<bool>,
}

/// A server with clients and workers around it.
pub(super) struct Storm {
    pub(super) site: Site,
    pub(super) world: Arc<World>,
    /// what a test draws its own accidents from
    pub(super) rng: StdRng,
    seed: u64,
    clients: Vec<JoinHandle<()>>,
    workers: JoinSet<()>,
}

impl Storm {
    /// Starts a server that nobody uses yet.
    ///
    /// A seed gives the same manners and the same accidents again, not the same order of events:
    /// processes and sockets keep their own time. `STEPWELL_TEST_SEED` sets it.
    pub(super) async fn begin(mut site: Site) -> Self {
        let given = std::env::var("STEPWELL_TEST_SEED").ok();
        let seed = given.map_or_else(rand::random, |text| text.parse().expect("a number"));
        println!("STEPWELL_TEST_SEED={seed}");
        let token = tokio::task::block_in_place(|| {
            site.start();
            site.token()
        });
        let world = Arc::new(World::new(&site, token));
        world.publish(WORKFLOW).await;
        let rng = StdRng::seed_from_u64(seed);
        Self { site, world, rng, seed, clients: Vec::new(), workers: JoinSet::new() }
    }

    /// Clients and workers come, and stay until the storm has settled.
    pub(super) fn join(&mut self, clients: usize, workers: usize) {
        for number in 0..workers {
            let rng = self.fork();
            self.workers.spawn(Worker::new(Arc::clone(&self.world), number, rng).run());
        }
        for number in 0..clients {
            let rng = self.fork();
            self.clients.push(tokio::spawn(client(Arc::clone(&self.world), number, rng)));
        }
    }

    /// A source of chance for somebody of its own.
    pub(super) fn fork(&mut self) -> StdRng {
        StdRng::seed_from_u64(self.rng.random())
    }

    /// Takes the server away, does something to it, and gives it back.
    ///
    /// Everybody is told when it is back; that it is away they find out by themselves.
    pub(super) fn interrupt<T>(&mut self, act: impl FnOnce(&mut Site, &mut StdRng) -> T) -> T {
        self.world.up.send_replace(false);
        let done = tokio::task::block_in_place(|| act(&mut self.site, &mut self.rng));
        self.world.up.send_replace(true);
        done
    }

    /// Waits until so many commands were accepted.
    pub(super) async fn until_accepted(&self, count: usize) {
        let enough = async {
            while self.world.journal.book().accepted.len() < count {
                self.world.before_retry().await;
            }
        };
        let waited = tokio::time::timeout(SETTLED_WITHIN, enough).await;
        waited.unwrap_or_else(|_| panic!("fewer than {count} commands were accepted"));
    }

    /// From here on workers are kind, and clients submit nothing new.
    pub(super) fn calm(&self) {
        self.world.wild.send_replace(false);
    }

    /// Waits until every job has ended, with everybody kind; then sends what was held back, which
    /// must change nothing.
    pub(super) async fn settle(&mut self) {
        self.calm();
        let settled = tokio::time::timeout(SETTLED_WITHIN, self.until_ended()).await;
        if settled.is_err() {
            let open = self.world.explain_open().await;
            panic!("not every job has ended within {SETTLED_WITHIN:?}: {open}");
        }
        self.workers.abort_all();
        while let Some(ended) = self.workers.join_next().await {
            // A worker ends only here; any other end is a panic, and the test's.
            assert!(ended.is_err_and(|error| error.is_cancelled()), "a worker found a fault");
        }
        let late = std::mem::take(&mut self.world.journal.book().late);
        for report in late {
            refused(&self.world, &self.world.client(), &report).await;
        }
    }

    async fn until_ended(&mut self) {
        for client in self.clients.drain(..) {
            client.await.expect("a client found no fault");
        }
        let jobs: Vec<String> = self.world.journal.book().accepted.values().cloned().collect();
        for job in jobs {
            // The stream of its events ends with the job: no need to ask again and again.
            let events = self.world.get(&format!("/v1/jobs/{job}/events")).send().await;
            let events = events.expect("the server is up");
            assert_eq!(events.status(), 200, "the job {job} was accepted");
            events.bytes().await.expect("the stream ends by itself");
        }
    }

    /// One line on how much happened.
    pub(super) fn summary(&self, accidents: &str) -> String {
        let book = self.world.journal.book();
        let count = |status: &str| book.ended.values().filter(|ended| *ended == status).count();
        let tally = book.tally;
        format!(
            "{accidents}, {} jobs ({} succeeded, {} failed, {} cancelled), {} commands sent again, \
             {} reports sent, {} refused as stale, {} redelivered, {} silent; seed {}",
            book.accepted.len(),
            count("SUCCEEDED"),
            count("FAILED_FINAL"),
            count("CANCELLED"),
            tally.commands_repeated,
            tally.reports,
            tally.stale,
            tally.redelivered,
            tally.silent,
            self.seed,
        )
    }
}

impl World {
    fn new(site: &Site, token: String) -> Self {
        // A client of the worker library installs what any HTTP client here needs.
        let _ = Client::new(&site.url(), &token).expect("a client");
        Self {
            journal: Journal::default(),
            progress: Notify::new(),
            http: reqwest::Client::builder().no_proxy().build().expect("an HTTP client"),
            url: site.url(),
            token,
            wild: watch::Sender::new(true),
            up: watch::Sender::new(true),
        }
    }

    /// Clients submit, and workers misbehave.
    pub(super) fn is_wild(&self) -> bool {
        *self.wild.borrow()
    }

    /// A client as workers have it.
    pub(super) fn client(&self) -> Client {
        Client::new(&self.url, &self.token).expect("a client")
    }

    pub(super) fn get(&self, path: &str) -> RequestBuilder {
        self.http.get(format!("{}{path}", self.url)).bearer_auth(&self.token)
    }

    pub(super) fn post(&self, path: &str, body: &Value) -> RequestBuilder {
        self.http.post(format!("{}{path}", self.url)).bearer_auth(&self.token).json(body)
    }

    /// Status and body of the answer, if one comes whole.
    pub(super) async fn answer(&self, request: RequestBuilder) -> Option<(u16, Value)> {
        let response = request.timeout(Duration::from_secs(15)).send().await.ok()?;
        let status = response.status().as_u16();
        Some((status, response.json().await.ok()?))
    }

    /// What a path holds; the server must be up.
    pub(super) async fn read(&self, path: &str) -> Value {
        match self.answer(self.get(path)).await {
            Some((200, answer)) => answer,
            other => panic!("{path} was answered with {other:?}"),
        }
    }

    /// Waits until trying again makes sense: the server is back, or it was busy and is less so.
    pub(super) async fn before_retry(&self) {
        if *self.up.borrow() {
            let _ = tokio::time::timeout(RETRY_PACE, self.progress.notified()).await;
        }
        let _ = self.up.subscribe().wait_for(|up| *up).await;
    }

    async fn publish(&self, workflow: &'static str) {
        let request = self.http.post(format!("{}/v1/workflows", self.url)).bearer_auth(&self.token);
        let request = request.header("Content-Type", "application/yaml").body(workflow);
        let answer = self.answer(request).await;
        assert!(matches!(answer, Some((201, _))), "{answer:?}");
    }

    /// What the jobs that have not ended wait for.
    async fn explain_open(&self) -> String {
        let open = self.read("/v1/jobs?status=QUEUED,IN_PROGRESS,CANCELLING&limit=5").await;
        let mut text = String::new();
        for job in open["items"].as_array().expect("a list") {
            let id = job["job_id"].as_str().expect("an id");
            text.push_str(&format!("\n{}", self.read(&format!("/v1/jobs/{id}/explain")).await));
        }
        text
    }
}
