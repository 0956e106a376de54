//! The parts of a server, put together: the only place that names a concrete store or bus.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use stepwell_connectors::bus::embedded::{EmbeddedBus, Settings as BusSettings};
use stepwell_connectors::clock::{Clock, FastClock, SystemClock};
use stepwell_connectors::egress::{Egress, Policy};
use stepwell_core::duration::Interval;
use stepwell_core::run::Dialect;
use stepwell_core::terms::Keeping;
use stepwell_core::time::Timestamp;
use stepwell_dialects::workspaces::Defaults;
use stepwell_engine::{
    Engine, EventSettings, Keep, Ownership, Parts, Retention, Scheduler,
    Settings as EngineSettings, TriggerSettings,
};
use stepwell_server::{Api, Hosts, Settings as ServerSettings, app, first_admin_token};
use stepwell_store::Observed;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::store::{self, Opened, store_failure};
use super::{memory, webhook_secret};
use crate::config::{Config, StorePlace};
use crate::exit::Exit;
use crate::failure::Failure;

/// What a server is told.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// for what does not lie in the store: the first token, the secret of webhooks
    pub(crate) data: PathBuf,
    /// where everything is kept
    pub(crate) store: StorePlace,
    /// where to listen
    pub(crate) listen: SocketAddr,
    /// how workers reach it; `None`: at the address it listens on
    pub(crate) base_url: Option<String>,
    /// open jobs that a tenant may have
    pub(crate) tenant_cap: Option<u32>,
    /// runbooks and batches are not for every valid token
    pub(crate) batches_need_a_reader: bool,
    /// how long ended jobs are kept
    pub(crate) retention: Retention,
    /// where webhooks may go
    pub(crate) webhooks: Policy,
    /// clients may call it; otherwise only workers and operators
    pub(crate) takes_requests: bool,
    /// how it shares a store with others
    pub(crate) ownership: Ownership,
    /// where orders of the platform dialect wait
    pub(crate) job_queue: String,
    /// how the sources of runbooks are asked
    pub(crate) scheduler: Scheduler,
    /// how triggers fire
    pub(crate) triggers: TriggerSettings,
    /// what every job of a workspace is granted
    pub(crate) workspaces: Defaults,
    /// whose runs leave events
    pub(crate) events: EventSettings,
    /// bytes in which runs under way are kept
    pub(crate) memory_for_runs: usize,
    /// the time to go by; `None`: the machine's
    pub(crate) clock: Option<Arc<FastClock>>,
}

/// A server that runs.
pub(crate) struct Running {
    /// where it listens
    pub(crate) address: SocketAddr,
    /// the engine behind it
    pub(crate) engine: Engine,
    /// the token of the first start; `None` at every later one
    pub(crate) admin_token: Option<String>,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
}

impl Plan {
    /// A server on a free port of this machine, with everything in `data`.
    pub(crate) fn local(data: &Path) -> Self {
        Self {
            data: data.to_owned(),
            store: StorePlace::Sqlite(data.join("stepwell.db")),
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            base_url: None,
            tenant_cap: None,
            batches_need_a_reader: false,
            retention: Retention::default(),
            webhooks: Policy::default(),
            takes_requests: true,
            ownership: Ownership::default(),
            job_queue: EngineSettings::default().job_queue,
            scheduler: Scheduler::default(),
            triggers: TriggerSettings::default(),
            workspaces: Defaults::default(),
            events: EventSettings::default(),
            memory_for_runs: memory::share(),
            clock: None,
        }
    }

    /// A server as the settings say.
    pub(crate) fn of(config: &Config) -> Result<Self, Failure> {
        let valid = "settings are checked when they are read";
        Ok(Self {
            data: config.data(),
            store: config.store(),
            listen: config.text("listen").parse().expect(valid),
            base_url: config.get("base_url").map(str::to_owned),
            tenant_cap: Some(config.text("tenant_cap").parse().expect(valid)),
            batches_need_a_reader: config.is_on("batches_need_a_reader"),
            retention: retention(config),
            webhooks: webhooks(config),
            takes_requests: has_role(config, "api"),
            ownership: ownership(config),
            job_queue: config.text("job_queue_name").to_owned(),
            scheduler: Scheduler {
                enabled: has_role(config, "scheduler"),
                tick: config.parsed("scheduler_interval"),
                ..Scheduler::default()
            },
            triggers: TriggerSettings {
                enabled: has_role(config, "scheduler"),
                directories: config.list("allow_trigger_directory"),
                poll: config.parsed("trigger_poll_interval"),
                ..TriggerSettings::default()
            },
            workspaces: workspaces(config),
            events: events(config),
            memory_for_runs: memory_for_runs(config),
            clock: None,
        })
    }
}

fn events(config: &Config) -> EventSettings {
    let words: Vec<String> = config.list("events");
    EventSettings { dialects: words.iter().filter_map(|word| Dialect::of_word(word)).collect() }
}

fn memory_for_runs(config: &Config) -> usize {
    let Some(text) = config.get("memory_for_runs") else { return memory::share() };
    let mebibytes: usize = text.parse().expect("settings are checked when they are read");
    mebibytes.saturating_mul(1 << 20)
}

fn retention(config: &Config) -> Retention {
    let time = |key: &str| -> Option<Interval> {
        let text = config.get(key)?;
        Some(text.parse().expect("settings are checked when they are read"))
    };
    let commands = time("retention");
    Retention {
        runbooks: Keep::all(time("retention_runbooks")),
        platform: Keep::all(time("retention_platform")),
        workspaces: Keep {
            ended: time("retention_workspaces"),
            failed: time("retention_workspaces_dead"),
        },
        commands: Keep { ended: commands, failed: time("retention_failed").or(commands) },
        stubs: time("retention_stubs"),
        events: time("retention_events"),
        ledger: time("retention_ledger"),
        ..Retention::default()
    }
}

fn workspaces(config: &Config) -> Defaults {
    let keeping =
        Keeping { lease: config.parsed("job_lease"), unclaimed: config.parsed("job_unclaimed") };
    Defaults { keeping, charged: config.is_on("charge_credits"), ..Defaults::default() }
}

fn ownership(config: &Config) -> Ownership {
    Ownership {
        heartbeat: config.parsed("heartbeat_interval"),
        silence: config.parsed("orphan_threshold"),
        scan: config.parsed("orphan_scan_interval"),
        decides: has_role(config, "engine"),
    }
}

fn has_role(config: &Config, wanted: &str) -> bool {
    config.list::<String>("roles").iter().any(|role| role == wanted)
}

fn webhooks(config: &Config) -> Policy {
    let allow_http = config.is_on("allow_webhook_http");
    let policy = Policy {
        allow_hosts: config.list("allow_webhook_host"),
        allow_private: config.list("allow_webhook_network"),
        allow_http,
        ..Policy::default()
    };
    // Plain http is for intranets and tests, where services stand on ports of all kinds.
    if allow_http { Policy { ports: (1..=u16::MAX).collect(), ..policy } } else { policy }
}

impl Running {
    /// Opens the store, recovers what was under way, and begins to listen.
    pub(crate) async fn start(plan: Plan) -> Result<Self, Failure> {
        let egress = Egress::new(plan.webhooks.clone())
            .map_err(|error| Failure::new(Exit::Failure, "no_client", error.to_string()))?;
        // The store comes first: of two servers on the same data and the same address, the second
        // shall hear of the data, because another address would not help it.
        let engine = start_engine(&plan, egress.clone()).await?;
        let listening = Self::listen(&plan, engine.clone(), egress).await;
        if listening.is_err() {
            engine.stop().await;
        }
        listening
    }

    async fn listen(plan: &Plan, engine: Engine, egress: Egress) -> Result<Self, Failure> {
        let listener = TcpListener::bind(plan.listen).await.map_err(|cause| {
            let what = format!("cannot listen on {}: {cause}", plan.listen);
            Failure::new(Exit::Failure, "not_listening", what)
                .next("stop what is using the address, or choose another with --listen")
        })?;
        let address = listener.local_addr().map_err(|cause| {
            Failure::new(Exit::Failure, "not_listening", format!("no local address: {cause}"))
        })?;
        let api = Api::open(engine.clone(), server_settings(plan, address, egress));
        let api = api.await.map_err(|error| store_failure(&error))?;
        let admin_token = first_admin_token(&engine).await;
        let admin_token = admin_token.map_err(|error| store_failure(&error))?;
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(stepwell_server::serve(listener, app(api), async {
            // A sender that is gone means stop, too.
            let _ = stopped.await;
        }));
        Ok(Self { address, engine, admin_token, stop, serving })
    }

    /// The URL of the server on this machine.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Stops listening, finishes what is under way, closes the store.
    pub(crate) async fn stop(self) {
        let _ = self.stop.send(());
        let _ = self.serving.await;
        self.engine.stop().await;
    }
}

async fn start_engine(plan: &Plan, egress: Egress) -> Result<Engine, Failure> {
    let Opened { store, latest } = store::open(&plan.store).await?;
    let store = Observed::around(store);
    let clock = plan.clock.clone().map_or_else(|| clock_from(latest), |clock| clock as _);
    let webhook_secret = webhook_secret::read_or_create(&plan.data, store.as_ref()).await?;
    let bus = EmbeddedBus::new(BusSettings::default(), Arc::clone(&clock));
    let settings = EngineSettings {
        cached_bytes_max: plan.memory_for_runs,
        retention: plan.retention,
        ownership: plan.ownership,
        job_queue: plan.job_queue.clone(),
        scheduler: plan.scheduler.clone(),
        triggers: TriggerSettings { tenant_cap: plan.tenant_cap, ..plan.triggers.clone() },
        workspaces: plan.workspaces.clone(),
        events: plan.events.clone(),
        ..EngineSettings::default()
    };
    let parts = Parts { store, bus: Arc::new(bus), clock, egress, webhook_secret, settings };
    let instance = format!("process {}", std::process::id());
    Engine::start(parts, &instance).await.map_err(|error| store_failure(&error))
}

/// The machine's clock; if that is behind what open jobs have seen, time goes on from there, or their
/// timers would wait for the difference.
fn clock_from(latest: Option<Timestamp>) -> Arc<dyn Clock> {
    let machine_ms = SystemClock::new().now_ms();
    let Some(latest) = latest else { return Arc::new(SystemClock::new()) };
    if latest.as_millis() > machine_ms {
        let seconds = (latest.as_millis() - machine_ms) / 1_000;
        tracing::warn!(seconds, "clock_behind: jobs have seen a later time; going on from there");
    }
    Arc::new(SystemClock::no_earlier_than(latest.as_millis()))
}

fn server_settings(plan: &Plan, address: SocketAddr, egress: Egress) -> ServerSettings {
    let base_url = plan.base_url.clone().unwrap_or_else(|| format!("http://{address}"));
    let host = base_url.split("://").nth(1).and_then(|rest| rest.split(['/', ':']).next());
    let hosts = if address.ip().is_loopback() {
        Hosts::LoopbackAnd(host.map(str::to_owned).into_iter().collect())
    } else {
        Hosts::Any
    };
    ServerSettings {
        tenant_cap: plan.tenant_cap,
        batches_need_a_reader: plan.batches_need_a_reader,
        takes_requests: plan.takes_requests,
        hosts,
        ..ServerSettings::new(&base_url, egress)
    }
}

/// How long a stop may take before the process ends anyway.
pub(crate) const STOP_MAX: Duration = Duration::from_secs(10);
