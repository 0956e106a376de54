//! Figures for operators, in the text that Prometheus reads.

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use axum::http::Method;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;
use stepwell_core::run::Dialect;
use stepwell_core::time::Timestamp;
use stepwell_dialects::moment;
use stepwell_engine::{Engine, EngineError};
use stepwell_store::{Figures, InstanceState};

use crate::routes::instances;

/// The kind of document that [`HttpMetrics::text`] gives.
pub(crate) const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Request {
    method: String,
    route: String,
    status: u32,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Route {
    method: String,
    route: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Pool {
    pool: String,
    state: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Owner {
    instance: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct GivenUp {
    reason: String,
    dialect: &'static str,
}

/// Counters of the server, with the engine's beside them in one registry.
pub(crate) struct HttpMetrics {
    registry: Registry,
    requests: Family<Request, Counter>,
    seconds: Family<Route, Histogram, fn() -> Histogram>,
    depth: Family<Pool, Gauge>,
    owned: Family<Owner, Gauge>,
    runs_open: Gauge<u64, AtomicU64>,
    dead_letters: Gauge<u64, AtomicU64>,
    given_up: Family<GivenUp, Gauge>,
    given_up_oldest: Family<GivenUp, Gauge>,
    outbox: Gauge<u64, AtomicU64>,
}

impl HttpMetrics {
    pub(crate) fn new(engine: &Engine) -> Self {
        let mut registry = Registry::default();
        engine.metrics().register(&mut registry);
        let requests = Family::default();
        let seconds = Family::new_with_constructor(histogram as fn() -> Histogram);
        let (depth, owned) = <(Family<Pool, Gauge>, Family<Owner, Gauge>)>::default();
        registry.register_collector(Box::new(OfInstance(engine.clone())));
        let (runs_open, dead_letters, outbox) = <(Gauge<u64, AtomicU64>, _, _)>::default();
        registry.register("stepwell_http_requests", "Requests answered", Clone::clone(&requests));
        registry.register("stepwell_http_seconds", "Time to answer", Clone::clone(&seconds));
        registry.register("stepwell_pool_depth", "Directives of a pool", Clone::clone(&depth));
        registry.register(
            "stepwell_instance_owned_runs",
            "Runs that an instance owns and that have not ended",
            Clone::clone(&owned),
        );
        registry.register("stepwell_runs_open", "Runs that have not ended", runs_open.clone());
        registry.register(
            "stepwell_dead_letters",
            "Dead letters that nobody has settled",
            Gauge::<u64, AtomicU64>::clone(&dead_letters),
        );
        let (given_up, given_up_oldest) = <(Family<GivenUp, Gauge>, _)>::default();
        registry.register(
            "stepwell_dead_letters_by_reason",
            "Dead letters that nobody has settled, by why they were given up and in which dialect",
            Clone::clone(&given_up),
        );
        registry.register(
            "stepwell_dead_letter_oldest_seconds",
            "How long the oldest of them has waited",
            Family::<GivenUp, Gauge>::clone(&given_up_oldest),
        );
        registry.register(
            "stepwell_outbox",
            "Messages to the outside that wait",
            Gauge::<u64, AtomicU64>::clone(&outbox),
        );
        Self {
            registry,
            requests,
            seconds,
            depth,
            owned,
            runs_open,
            dead_letters,
            given_up,
            given_up_oldest,
            outbox,
        }
    }

    /// Counts an answer. The route is a pattern and the method a known one, so that no caller can
    /// make up a new series.
    pub(crate) fn answered(&self, method: &Method, route: &str, status: u16, took: Duration) {
        let known = [Method::GET, Method::POST, Method::PUT, Method::DELETE, Method::HEAD];
        let method = if known.contains(method) { method.as_str() } else { "OTHER" };
        let (method, route) = (method.to_owned(), route.to_owned());
        let labels = Route { method: method.clone(), route: route.clone() };
        self.seconds.get_or_create(&labels).observe(took.as_secs_f64());
        self.requests.get_or_create(&Request { method, route, status: status.into() }).inc();
    }

    /// All figures as text. Depths and counts of rows are read now.
    pub(crate) async fn text(&self, engine: &Engine) -> Result<String, EngineError> {
        let figures = engine.store().figures().await?;
        self.runs_open.set(figures.runs_open);
        self.dead_letters.set(figures.dead_letters);
        self.outbox.set(figures.outbox);
        self.show_given_up(&figures, engine.now());
        // An instance that is gone would otherwise be shown for ever.
        self.owned.clear();
        for instance in instances::all(engine).await? {
            if instance.state == InstanceState::Alive {
                let owned = i64::try_from(instance.owned).unwrap_or(i64::MAX);
                self.owned.get_or_create(&Owner { instance: instance.id }).set(owned);
            }
        }
        // Pools that have emptied since would otherwise be shown with their last depth for ever.
        self.depth.clear();
        for depth in engine.bus().depth().await? {
            let states = [
                ("ready", depth.ready),
                ("delayed", depth.delayed),
                ("in_flight", depth.in_flight),
            ];
            for (state, count) in states {
                let pool = Pool { pool: depth.pool.to_string(), state };
                self.depth.get_or_create(&pool).set(i64::try_from(count).unwrap_or(i64::MAX));
            }
        }
        let mut text = String::new();
        encode(&mut text, &self.registry)
            .map_err(|error| EngineError::Broken(error.to_string()))?;
        Ok(text)
    }
}

impl HttpMetrics {
    /// Reasons for which nothing waits any more are shown as nothing, not with their last figures. Reasons
    /// are words of ours and dialects are four, so no caller can make up a new series.
    fn show_given_up(&self, figures: &Figures, now: Timestamp) {
        self.given_up.clear();
        self.given_up_oldest.clear();
        for depth in &figures.dead_letters_by_reason {
            let dialect = depth.dialect.map_or("unknown", Dialect::word);
            let labels = GivenUp { reason: depth.reason.clone(), dialect };
            let count = i64::try_from(depth.count).unwrap_or(i64::MAX);
            self.given_up.get_or_create(&labels).set(count);
            let age_s = now.since(depth.oldest_at).as_millis() / 1_000;
            let age_s = i64::try_from(age_s).unwrap_or(i64::MAX);
            self.given_up_oldest.get_or_create(&labels).set(age_s);
        }
    }
}

/// What this instance counts by itself, read when it is asked for.
struct OfInstance(Engine);

impl fmt::Debug for OfInstance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OfInstance")
    }
}

impl Collector for OfInstance {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let stats = self.0.stats();
        let counters = [
            ("stepwell_jobs_claimed", "Jobs taken from the queue", stats.jobs_claimed),
            ("stepwell_jobs_reclaimed", "Jobs taken over from others", stats.jobs_reclaimed),
            ("stepwell_fenced_writes", "Writes that the store refused", stats.fenced_writes),
        ];
        for (name, help, count) in counters {
            let counter = ConstCounter::new(count);
            let metric = encoder.encode_descriptor(name, help, None, counter.metric_type())?;
            counter.encode(metric)?;
        }
        // In a store of its own it gives no signs of life.
        let Some(at) = stats.last_heartbeat_at.as_deref().and_then(moment::parse) else {
            return Ok(());
        };
        let age = ConstGauge::new(self.0.now().since(at.0).as_millis() as f64 / 1_000.0);
        let help = "Time since this instance's last sign of life";
        let name = "stepwell_heartbeat_age_seconds";
        let metric = encoder.encode_descriptor(name, help, None, age.metric_type())?;
        age.encode(metric)
    }
}

fn histogram() -> Histogram {
    Histogram::new(exponential_buckets(0.000_5, 2.0, 16))
}
