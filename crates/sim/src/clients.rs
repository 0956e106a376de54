//! Clients: each starts one run, asks again when it cannot know whether it was heard, and now and
//! then repeats itself or reuses its key for something else.

use std::sync::Arc;

use serde_json::{Map, json};
use stepwell_core::definition::Part;
use stepwell_core::id::{RunId, Tenant};
use stepwell_core::run::{Dialect, Header};
use stepwell_core::terms::Terms;
use stepwell_engine::{Answered, Ask, Engine, EngineError, Reply, Start};
use stepwell_store::{Key, Store};

use crate::chance::Chance;
use crate::door::Door;
use crate::faults::Kind;
use crate::jobs;
use crate::oracle::{Probe, Promise};
use crate::shared::Shared;

/// How often a client asks for the same thing.
const TRIES: u32 = 40;

/// One client, who wants one run.
pub struct Client {
    /// what everybody shares
    pub shared: Arc<Shared>,
    /// where it asks
    pub door: Arc<Door>,
    /// tells it from others
    pub number: usize,
}

/// What a client asks for.
struct Request {
    workflow: String,
    tenant: Tenant,
    key: Option<Key>,
    priority: u8,
    /// what a job of a workspace is granted
    terms: Option<Arc<Terms>>,
}

impl Client {
    /// Starts its run, and perhaps asks again.
    pub async fn run(self) {
        let plan = &self.shared.plan;
        let mut chance = Chance::of(plan.seed, &format!("client {}", self.number));
        let request = self.request(&mut chance);
        self.shared.clock.sleep_ms(chance.below(plan.chaos_ms * 2 / 3)).await;
        if self.start(&mut chance, &request).await.is_none() {
            return;
        }
        if request.key.is_some() && self.shared.strikes(Kind::KeyRepeated, "client") {
            self.start(&mut chance, &request).await;
        }
        if let Some(key) = request.key
            && self.shared.strikes(Kind::KeyReused, "client")
        {
            let key = Some(Key { request_hash: [0xff; 32], ..key });
            self.start(&mut chance, &Request { key, ..request }).await;
        }
    }

    fn request(&self, chance: &mut Chance) -> Request {
        let plan = &self.shared.plan;
        let mut hash = [0; 32];
        hash[..8].copy_from_slice(&(self.number as u64 + 1).to_be_bytes());
        let key = Key { hash, request_hash: hash };
        Request {
            workflow: format!("flow-{}", chance.index(plan.workflows)),
            tenant: Tenant::new(&plan.tenants[chance.index(plan.tenants.len())]),
            key: chance.permille(750).then_some(key),
            priority: u8::try_from(chance.below(11)).unwrap_or(0),
            terms: self.terms(),
        }
    }

    /// In a world with workspaces most clients want a job of one.
    fn terms(&self) -> Option<Arc<Terms>> {
        let plan = &self.shared.plan;
        let mut chance = Chance::of(plan.seed, &format!("job {}", self.number));
        let wanted = plan.workspaces && chance.permille(700);
        wanted.then(|| Arc::new(jobs::terms(&mut chance)))
    }

    /// Asks until it is told yes or no.
    async fn start(&self, chance: &mut Chance, request: &Request) -> Option<RunId> {
        let mut unknown = false;
        for _ in 0..TRIES {
            if self.shared.is_over() {
                return None;
            }
            let answer = self.ask_once(chance, request).await;
            match answer {
                Some(Ok(reply)) => return self.accepted(request, &reply, unknown).await,
                Some(Err(EngineError::KeyReused { .. })) => {
                    self.shared.oracle().saw(Probe::KeyOfAnother);
                    return None;
                }
                Some(Err(
                    error @ (EngineError::TenantFull { .. }
                    | EngineError::CreditsShort { .. }
                    | EngineError::Busy),
                )) => {
                    if matches!(error, EngineError::CreditsShort { .. }) {
                        self.shared.oracle().saw(Probe::CreditsShort);
                    }
                    self.shared.clock.sleep_ms(chance.between(30_000, 300_000)).await;
                }
                // Whoever has no key cannot ask again without risking a second run.
                Some(Err(_)) | None if request.key.is_none() => return None,
                Some(Err(_)) | None => {
                    unknown = true;
                    self.shared.clock.sleep_ms(chance.between(500, 20_000)).await;
                }
            }
        }
        None
    }

    async fn ask_once(&self, chance: &mut Chance, request: &Request) -> Option<Answered> {
        let instance = self.door.newest()?;
        let header = header(&instance.engine, request).await?;
        let tenant_cap = self.shared.plan.tenant_cap;
        let start = Start { header, carried: Vec::new(), key: request.key, tenant_cap };
        self.door.ask(chance, Ask::Start(Box::new(start))).await.ok()
    }

    async fn accepted(&self, request: &Request, reply: &Reply, unknown: bool) -> Option<RunId> {
        let run = match reply {
            Reply::Started(run) => run.id(),
            Reply::Repeated(run) => *run,
            Reply::Applied(_) | Reply::Stored(_) => return None,
        };
        let stored = self.shared.memory.load(vec![run]).await.ok()?.pop();
        let key = request.key.map(|key| (key.hash, key.request_hash));
        let promise = Promise { run, tenant: request.tenant.clone(), key };
        self.shared.note("client", format_args!("was promised {run}"));
        let mut oracle = self.shared.oracle();
        if unknown {
            let repeated = matches!(reply, Reply::Repeated(_));
            let probe = if repeated { Probe::UnknownThenFound } else { Probe::UnknownThenAbsent };
            oracle.saw(probe);
        }
        oracle.accepted(promise, stored.as_ref());
        Some(run)
    }
}

async fn header(engine: &Engine, request: &Request) -> Option<Arc<Header>> {
    let compiled = engine.workflow(&request.workflow).await.ok()??;
    Some(Arc::new(Header {
        id: engine.fresh_run_id(),
        tenant: request.tenant.clone(),
        dialect: request.terms.as_ref().map_or(Dialect::Commands, |_| Dialect::Workspaces),
        workflow: Arc::clone(&compiled.workflow),
        part: Part::Main,
        parent: None,
        resumes: None,
        input: Map::from_iter([("document".to_owned(), json!("d-1"))]),
        special: Map::new(),
        context: Map::new(),
        routing: None,
        priority: request.priority,
        correlation_id: None,
        traceparent: None,
        actor: "client".to_owned(),
        created_at: engine.now(),
        membership: None,
        terms: request.terms.clone(),
    }))
}
