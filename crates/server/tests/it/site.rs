//! A server with everything behind it, and the few words that tests speak.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::{HeaderMap, Method, Request, StatusCode};
use axum::response::Response;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use stepwell_connectors::bus::embedded::{self, EmbeddedBus};
use stepwell_connectors::clock::ManualClock;
use stepwell_connectors::egress::{Egress, Policy};
use stepwell_core::duration::Interval;
use stepwell_core::id::{RunId, Tenant};
use stepwell_engine::{Engine, Parts};
use stepwell_server::auth::Role;
use stepwell_server::auth::token::{self, NewToken};
use stepwell_server::{Api, Settings, app};
use stepwell_store::memory::MemoryStore;
use stepwell_store::sqlite::{Options, SqliteStore};
use stepwell_store::{BatchFilter, DeadLetterFilter, Filter, Page, Slice, Store};
use tower::ServiceExt;

use crate::contract;

/// Noon of some day.
pub(crate) const NOON_MS: i64 = 1_741_608_000_000;

/// Two steps, one after the other; its payload must name a document.
pub(crate) const INTAKE: &str = "
name: intake
request_type: document.ingest
retry: {max_attempts: 2, interval: 0s}
input_schema:
  type: object
  required: [document]
  properties: {document: {type: string}}
steps:
  - {id: ocr, type: OCR, pool: ocr-service}
  - {id: embed, type: EMBED, pool: embed-service}
";

/// A step behind a gate.
pub(crate) const GATED: &str = "
name: gated
request_type: document.approve
steps:
  - {id: publish, type: PUBLISH, pool: ocr-service, gate: approval}
";

/// A server with everything behind it.
pub(crate) struct Site {
    pub(crate) router: Router,
    pub(crate) api: Api,
    pub(crate) engine: Engine,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) admin: String,
    _place: Option<tempfile::TempDir>,
}

impl Site {
    /// On a store in memory, with the intake protocol published.
    pub(crate) async fn in_memory() -> Self {
        Self::with(Arc::new(MemoryStore::new()), |_| {}).await
    }

    /// The same, on a SQLite file.
    pub(crate) async fn on_sqlite() -> Self {
        let place = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(place.path().join("stepwell.db"), Options::default());
        let site = Self::with(Arc::new(store.unwrap()), |_| {}).await;
        Self { _place: Some(place), ..site }
    }

    pub(crate) async fn with(store: Arc<dyn Store>, change: impl FnOnce(&mut Settings)) -> Self {
        Self::with_engine(store, stepwell_engine::Settings::default(), change).await
    }

    pub(crate) async fn with_engine(
        store: Arc<dyn Store>,
        engine_settings: stepwell_engine::Settings,
        change: impl FnOnce(&mut Settings),
    ) -> Self {
        let clock = Arc::new(ManualClock::new(NOON_MS));
        let site = Self::on(store, clock, hooks_only(), engine_settings, change).await;
        site.publish(INTAKE).await;
        site
    }

    /// One of several on a shared store, all by one clock, without any protocol.
    pub(crate) async fn sharing(store: Arc<dyn Store>, clock: Arc<ManualClock>) -> Self {
        let settings = stepwell_engine::Settings::default();
        Self::on(store, clock, hooks_only(), settings, |_| {}).await
    }

    /// On a store in memory, allowed to call what the policy allows.
    pub(crate) async fn calling(policy: Policy) -> Self {
        let clock = Arc::new(ManualClock::new(NOON_MS));
        let settings = stepwell_engine::Settings::default();
        Self::on(Arc::new(MemoryStore::new()), clock, policy, settings, |_| {}).await
    }

    async fn on(
        store: Arc<dyn Store>,
        clock: Arc<ManualClock>,
        policy: Policy,
        engine_settings: stepwell_engine::Settings,
        change: impl FnOnce(&mut Settings),
    ) -> Self {
        let egress = Egress::new(policy).unwrap();
        let engine = engine(&store, &clock, &egress, engine_settings).await;
        let mut settings = Settings::new("http://stepwell.test/", egress);
        change(&mut settings);
        let api = Api::open(engine.clone(), settings).await.unwrap();
        let router = app(api.clone());
        let expires_at = Some(engine.now().after(Interval::from_secs(3_600)));
        let admin = match stepwell_server::first_admin_token(&engine).await.unwrap() {
            Some(token) => token,
            // Another one on the same store has made it.
            None => {
                let name = "second admin".to_owned();
                let new = NewToken { name, role: Role::Admin, tenant: None, expires_at };
                token::create(&engine, new).await.unwrap().1
            }
        };
        Self { router, api, engine, store, clock, admin, _place: None }
    }

    pub(crate) async fn publish(&self, source: &str) {
        let published = self.engine.publish_workflow(source.to_owned(), "author".to_owned()).await;
        published.unwrap();
    }

    /// A token of this role, bound to a tenant or not.
    pub(crate) async fn token(&self, role: Role, tenant: Option<&str>) -> String {
        let expires_at = Some(self.engine.now().after(Interval::from_secs(3_600)));
        let name = format!("test {}", role.word());
        let tenant = tenant.map(Tenant::new);
        let new = NewToken { name, role, tenant, expires_at };
        token::create(&self.engine, new).await.unwrap().1
    }

    /// Sends a request. Whatever comes back must be what the API's document says.
    pub(crate) async fn send(&self, call: Call) -> Reply {
        let request = call.build();
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let reply = self.send_unchecked(request).await;
        contract::check(self, &method, &path, &reply);
        reply
    }

    /// Sends a request, and leaves the body of the answer unread.
    pub(crate) async fn open(&self, call: Call) -> Response {
        self.router.clone().oneshot(call.build()).await.unwrap()
    }

    async fn send_unchecked(&self, request: Request<Body>) -> Reply {
        let response = self.router.clone().oneshot(request).await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        Reply { status, headers, text: String::from_utf8(bytes.to_vec()).unwrap() }
    }

    /// Sends a request as the administrator.
    pub(crate) async fn ask(&self, call: Call) -> Reply {
        let call = call.token(&self.admin);
        self.send(call).await
    }

    /// Starts a job of the intake protocol for acme, and answers its id.
    pub(crate) async fn start(&self) -> String {
        let reply = self.ask(post("/v1/commands").json(&envelope())).await;
        reply.expect(StatusCode::ACCEPTED)["jobId"].as_str().unwrap().to_owned()
    }

    /// Leases one directive of a pool; null if there is none.
    pub(crate) async fn lease(&self, pool: &str) -> Value {
        let reply = self.ask(post(&format!("/v1/workers/{pool}/lease"))).await;
        reply.expect(StatusCode::OK)["directives"][0]["directive"].clone()
    }

    /// Reports on a directive through the batch route; answers what the worker is told.
    pub(crate) async fn report(&self, directive: &Value, status: &str) -> Value {
        let result = report_body(directive, &json!({"status": status}));
        let reply = self.ask(post("/v1/workers/results").json(&json!({"results": [result]}))).await;
        reply.expect(StatusCode::OK)["answers"][0].take()
    }

    /// Works through both steps of a job of the intake protocol.
    pub(crate) async fn finish(&self) {
        for pool in ["ocr-service", "embed-service"] {
            let directive = self.lease(pool).await;
            assert_eq!(self.report(&directive, "SUCCEEDED").await, json!({"applied": true}));
        }
    }

    /// Fails the first step of a job of the intake protocol for good.
    pub(crate) async fn fail(&self) {
        let directive = self.lease("ocr-service").await;
        self.report(&directive, "FAILED_FINAL").await;
    }

    pub(crate) async fn job(&self, id: &str) -> Value {
        self.ask(get(&format!("/v1/jobs/{id}"))).await.expect(StatusCode::OK)
    }

    pub(crate) fn advance(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }

    /// Everything that is written down, in short: two of them are equal if nothing was written.
    pub(crate) async fn written(&self) -> String {
        let page = Page { before: None, limit: 1_000 };
        let runs = self.store.runs(Filter::default(), page).await.unwrap();
        let mut text = String::new();
        for run in &runs {
            let reports = self.store.stale_reports(run.id).await.unwrap().len();
            let records = self.store.history(run.id, 0, 1_000).await.unwrap().len();
            text += &format!("{} v{} {records} records {reports} stale\n", run.id, run.version);
        }
        let letters = DeadLetterFilter { with_settled: true, ..DeadLetterFilter::default() };
        let letters = self.store.dead_letters(letters).await.unwrap();
        let settled = letters.iter().filter(|letter| letter.settlement.is_some()).count();
        let versions: Vec<_> =
            self.store.workflows().await.unwrap().into_iter().map(|it| it.version).collect();
        let slice = Slice { offset: 0, limit: 1_000 };
        let batches = self.store.batches(BatchFilter::default(), slice).await.unwrap().items;
        for batch in batches {
            text += &format!("batch {} v{} {} joined\n", batch.id(), batch.version, batch.joined);
        }
        for runbook in self.store.runbooks(None).await.unwrap() {
            text += &format!("runbook {} v{}\n", runbook.name, runbook.version);
        }
        let tokens = self.store.tokens().await.unwrap();
        let revoked = tokens.iter().filter(|token| token.revoked_at.is_some()).count();
        text + &format!(
            "{} letters {settled} settled, {versions:?}, {} tokens {revoked} revoked",
            letters.len(),
            tokens.len()
        )
    }
}

/// Only one host may be called.
fn hooks_only() -> Policy {
    Policy { allow_hosts: vec!["hooks.example".parse().unwrap()], ..Policy::default() }
}

/// What calls to the outside are signed with.
pub(crate) const SECRET: &[u8] = b"a secret of thirty-two bytes ....";

async fn engine(
    store: &Arc<dyn Store>,
    clock: &Arc<ManualClock>,
    egress: &Egress,
    settings: stepwell_engine::Settings,
) -> Engine {
    let bus = EmbeddedBus::new(embedded::Settings::default(), Arc::clone(clock) as _);
    let parts = Parts {
        store: Arc::clone(store),
        bus: Arc::new(bus),
        clock: Arc::clone(clock) as _,
        egress: egress.clone(),
        webhook_secret: SECRET.to_vec(),
        settings,
    };
    Engine::start(parts, "test").await.unwrap()
}

/// An envelope that is accepted.
pub(crate) fn envelope() -> Value {
    json!({
        "tenant_id": "acme",
        "request_type": "document.ingest",
        "input_ref": "blob://in/1.pdf",
        "output_ref": "blob://out/1",
        "payload": {"document": "d-1"},
        "schema_version": "1",
    })
}

/// The same, with these fields.
pub(crate) fn envelope_with(fields: &Value) -> Value {
    merged(&envelope(), fields)
}

/// The body of a callback about a directive, with these fields.
pub(crate) fn report_body(directive: &Value, fields: &Value) -> Value {
    let mut body = json!({});
    for key in ["jobId", "stepId", "tenant_id", "attempt_no", "lease_id"] {
        body[key] = directive[key].clone();
    }
    merged(&body, fields)
}

pub(crate) fn merged(base: &Value, fields: &Value) -> Value {
    let mut merged = base.clone();
    for (key, value) in fields.as_object().unwrap() {
        merged[key] = value.clone();
    }
    merged
}

pub(crate) fn run_id(text: &str) -> RunId {
    text.parse().unwrap()
}

/// A request to be.
pub(crate) struct Call {
    request: axum::http::request::Builder,
    body: Body,
}

pub(crate) fn get(path: &str) -> Call {
    Call::new(Method::GET, path)
}

pub(crate) fn post(path: &str) -> Call {
    Call::new(Method::POST, path)
}

pub(crate) fn put(path: &str) -> Call {
    Call::new(Method::PUT, path)
}

pub(crate) fn delete(path: &str) -> Call {
    Call::new(Method::DELETE, path)
}

impl Call {
    pub(crate) fn new(method: Method, path: &str) -> Self {
        Self { request: Request::builder().method(method).uri(path), body: Body::empty() }
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.request = self.request.header(name, value);
        self
    }

    /// The same request to another address.
    pub(crate) fn path(mut self, path: &str) -> Self {
        self.request = self.request.uri(path);
        self
    }

    pub(crate) fn token(self, token: &str) -> Self {
        self.header(AUTHORIZATION.as_str(), &format!("Bearer {token}"))
    }

    pub(crate) fn json(self, body: &Value) -> Self {
        self.bytes("application/json", body.to_string().into_bytes())
    }

    pub(crate) fn yaml(self, text: &str) -> Self {
        self.bytes("application/yaml", text.as_bytes().to_vec())
    }

    pub(crate) fn csv(self, text: &str) -> Self {
        self.bytes("text/csv", text.as_bytes().to_vec())
    }

    pub(crate) fn bytes(self, kind: &str, body: Vec<u8>) -> Self {
        let call = self.header(CONTENT_TYPE.as_str(), kind);
        Self { body: Body::from(body), ..call }
    }

    fn build(self) -> Request<Body> {
        self.request.body(self.body).unwrap()
    }
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("no JSON: {:?}", self.text))
    }

    /// The body of an answer with this status.
    #[track_caller]
    pub(crate) fn expect(&self, status: StatusCode) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        if self.text.is_empty() { Value::Null } else { self.json() }
    }

    /// The problem of an answer with this status and code, complete as every problem is.
    #[track_caller]
    pub(crate) fn refused(&self, status: u16, code: &str) -> Value {
        let problem = self.json();
        assert_eq!((self.status.as_u16(), &problem["code"]), (status, &json!(code)), "{problem}");
        assert_eq!(self.header("content-type"), "application/problem+json");
        assert_eq!(problem["status"], status);
        assert_eq!(problem["type"], format!("urn:stepwell:error:{code}"));
        // code, message, details and correlation_id.
        assert_eq!(problem["message"], problem["detail"]);
        assert_eq!(problem["request_id"], self.header("x-request-id"));
        for field in ["title", "detail", "next", "correlation_id", "request_id"] {
            assert!(problem[field].as_str().is_some_and(|text| !text.is_empty()), "{field}");
        }
        problem
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}
