//! A server in the test's own process, which can be stopped and started again.

use std::net::SocketAddr;
use std::sync::Arc;

use serde_json::{Value, json};
use stepwell_connectors::bus::embedded::{EmbeddedBus, Settings as BusSettings};
use stepwell_connectors::clock::{Clock, SystemClock};
use stepwell_connectors::egress::{Egress, Policy};
use stepwell_engine::{Engine, Parts, Settings as EngineSettings};
use stepwell_server::{Api, Settings, app, first_admin_token, serve};
use stepwell_store::sqlite::{Options, SqliteStore};
use stepwell_worker::{Client, Worker};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub(crate) const POOL: &str = "workers";
const WORKFLOW: &str = "\
name: work
request_type: work
retry: {max_attempts: 3, interval: 100ms}
steps:
  - {id: work, type: WORK, pool: workers}
";

pub(crate) struct World {
    data: TempDir,
    address: SocketAddr,
    http: reqwest::Client,
    admin: String,
    worker_token: String,
    server: Option<Server>,
}

struct Server {
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
    engine: Engine,
}

impl World {
    /// A server with one workflow of one step.
    pub(crate) async fn start() -> Self {
        let data = tempfile::tempdir().expect("there is room for a directory");
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let (server, address, admin) = start_server(&data, address).await;
        let mut world = Self {
            data,
            address,
            http: reqwest::Client::new(),
            admin: admin.expect("the first start makes a token"),
            worker_token: String::new(),
            server: Some(server),
        };
        world.worker_token = world.token("worker").await;
        world.publish(WORKFLOW).await;
        world
    }

    /// Publishes another workflow.
    pub(crate) async fn publish(&self, document: &str) {
        let request = self.http.post(self.url("/v1/workflows")).bearer_auth(&self.admin);
        let request = request.header("Content-Type", "application/yaml").body(document.to_owned());
        let answer = request.send().await.expect("the server answers");
        assert_eq!(answer.status(), 201);
    }

    pub(crate) async fn stop(&mut self) {
        let server = self.server.take().expect("it runs");
        let _ = server.stop.send(());
        server.serving.await.expect("no panic");
        server.engine.stop().await;
    }

    /// A new server on the same data and the same address.
    pub(crate) async fn start_again(&mut self) {
        let (server, _, _) = start_server(&self.data, self.address).await;
        self.server = Some(server);
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn client(&self, token: &str) -> Client {
        Client::new(&self.url(""), token).expect("a client")
    }

    pub(crate) fn worker(&self) -> Worker {
        Worker::new(self.client(&self.worker_token), POOL)
    }

    pub(crate) async fn token(&self, role: &str) -> String {
        let answer = self.post("/v1/tokens", &json!({ "name": role, "role": role })).await;
        answer["token"].as_str().expect("a token").to_owned()
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Value {
        let request = self.http.post(self.url(path)).bearer_auth(&self.admin).json(body);
        let answer = request.send().await.expect("the server answers");
        let is_done = answer.status().is_success();
        let body: Value = answer.json().await.expect("JSON");
        assert!(is_done, "{path}: {body}");
        body
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        let request = self.http.get(self.url(path)).bearer_auth(&self.admin);
        request.send().await.expect("the server answers").json().await.expect("JSON")
    }

    pub(crate) async fn submit(&self, number: usize) -> String {
        self.submit_to("work", json!({ "number": number })).await
    }

    /// A job of the protocol of this request type.
    pub(crate) async fn submit_to(&self, request_type: &str, payload: Value) -> String {
        let answer = self.post("/v1/commands", &envelope(request_type, payload)).await;
        answer["jobId"].as_str().expect("a job").to_owned()
    }

    /// The problem of a request that is not accepted.
    pub(crate) async fn refused(&self, request_type: &str, payload: Value) -> Value {
        let request = self.http.post(self.url("/v1/commands")).bearer_auth(&self.admin);
        let request = request.json(&envelope(request_type, payload));
        request.send().await.expect("the server answers").json().await.expect("JSON")
    }

    pub(crate) async fn submit_many(&self, count: usize) -> Vec<String> {
        let mut jobs = Vec::new();
        for number in 0..count {
            jobs.push(self.submit(number).await);
        }
        jobs
    }

    pub(crate) async fn job(&self, job: &str) -> Value {
        self.get(&format!("/v1/jobs/{job}")).await
    }

    pub(crate) async fn step(&self, job: &str) -> Value {
        self.get(&format!("/v1/jobs/{job}/steps")).await["items"][0].clone()
    }

    /// Every step of a job, items included.
    pub(crate) async fn steps(&self, job: &str) -> Vec<Value> {
        let steps = self.get(&format!("/v1/jobs/{job}/steps")).await;
        steps["items"].as_array().expect("a list").clone()
    }

    /// All jobs there are.
    pub(crate) async fn jobs(&self) -> Value {
        self.get("/v1/jobs").await["items"].clone()
    }

    /// The stream of a job's events, from the first on.
    pub(crate) async fn events(&self, job: &str) -> reqwest::Response {
        let events = self.http.get(self.url(&format!("/v1/jobs/{job}/events")));
        events.bearer_auth(&self.admin).send().await.expect("the server answers")
    }

    /// What was decided on a job.
    pub(crate) async fn history(&self, job: &str) -> Value {
        self.get(&format!("/v1/jobs/{job}/history")).await
    }

    /// Waits for the end of a job, which ends its stream of events; answers its status.
    pub(crate) async fn ended(&self, job: &str) -> String {
        self.events(job).await.text().await.expect("the stream ends");
        self.job(job).await["status"].as_str().expect("a status").to_owned()
    }
}

fn envelope(request_type: &str, payload: Value) -> Value {
    json!({
        "schema_version": "1", "tenant_id": "acme", "request_type": request_type,
        "input_ref": "test://in", "output_ref": "test://out", "payload": payload,
    })
}

async fn start_server(data: &TempDir, address: SocketAddr) -> (Server, SocketAddr, Option<String>) {
    let listener = TcpListener::bind(address).await.expect("the address is free");
    let address = listener.local_addr().expect("an address");
    let store = SqliteStore::open(data.path().join("test.db"), Options::default());
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let egress = Egress::new(Policy::default()).expect("a client");
    let mut settings = EngineSettings::default();
    settings.workspaces.charged = true;
    let parts = Parts {
        store: Arc::new(store.expect("the store opens")),
        bus: Arc::new(EmbeddedBus::new(BusSettings::default(), Arc::clone(&clock))),
        clock,
        egress: egress.clone(),
        webhook_secret: vec![7; 32],
        settings,
    };
    let engine = Engine::start(parts, "test").await.expect("the engine starts");
    let settings = Settings::new(&format!("http://{address}"), egress);
    let api = Api::open(engine.clone(), settings).await.expect("the server opens");
    let admin = first_admin_token(&engine).await.expect("the store answers");
    let (stop, stopped) = oneshot::channel();
    let serving = tokio::spawn(serve(listener, app(api), async {
        let _ = stopped.await;
    }));
    (Server { stop, serving, engine }, address, admin)
}
