//! Several servers on one PostgreSQL, which share the work with no leader: real processes, a real
//! database, real HTTP.
//!
//! A [`Fleet`] is three servers and a PostgreSQL of their own. In [`storm`] everything happens to them
//! at once; [`calm`] looks at what they do when nothing does. Workers and the oracle are those of
//! [`crate::crash`].

mod accidents;
mod calm;
mod ledger;
mod orders;
mod receiver;
mod roles;
mod storm;
mod triggers;
mod verdict;

use std::time::Duration;

use stepwell_testing::postgres::{self, Cluster};

use crate::crash::site::Site;
use crate::crash::world::World;

/// Where all directives go.
const POOL: &str = "storm";

/// How long a call to a server may take: a frozen one never answers.
const PATIENCE: Duration = Duration::from_secs(4);

/// How long jobs may take to end once nothing happens any more, on a machine that has other things to
/// do.
const SETTLED_WITHIN: Duration = Duration::from_secs(90);

/// How much later than the threshold a takeover may be, on a machine that has other things to do.
const LATE_MAX: Duration = Duration::from_secs(1);

/// How many servers share the work.
const SERVERS: usize = 3;

/// How soon a silent server is noticed.
#[derive(Clone, Copy, Debug)]
struct Profile {
    heartbeat_ms: u64,
    threshold_ms: u64,
    scan_ms: u64,
}

impl Profile {
    /// The one that `docs/operations.md` recommends.
    const FAST: Self = Self { heartbeat_ms: 3_000, threshold_ms: 10_000, scan_ms: 5_000 };
    /// So fast that a test of a few seconds sees many takeovers.
    const HASTY: Self = Self { heartbeat_ms: 500, threshold_ms: 2_000, scan_ms: 1_000 };

    fn threshold(self) -> Duration {
        Duration::from_millis(self.threshold_ms)
    }
}

/// Three servers and the PostgreSQL that they share.
struct Fleet {
    /// dropped first: a server without its database only complains
    sites: Vec<Site>,
    cluster: Cluster,
    /// the URL of their database
    database: String,
    /// of an admin
    token: String,
}

impl Fleet {
    /// Starts everything; `None`, with a word about it, where there is no PostgreSQL.
    fn start(profile: Profile) -> Option<Self> {
        Self::start_with(profile, &[])
    }

    /// The same, with more settings.
    fn start_with(profile: Profile, more: &[&str]) -> Option<Self> {
        let cluster = postgres::cluster().ok()?;
        let database = cluster.server().database("fleet");
        let period = |millis: u64| format!("{millis}ms");
        let settings = [
            ("--store", database.clone()),
            ("--tenant-cap", "100000".to_owned()),
            ("--heartbeat-interval", period(profile.heartbeat_ms)),
            ("--orphan-threshold", period(profile.threshold_ms)),
            ("--orphan-scan-interval", period(profile.scan_ms)),
            ("--events", "platform".to_owned()),
            ("--allow-webhook-http", String::new()),
            ("--allow-webhook-host", "127.0.0.1".to_owned()),
            ("--allow-webhook-network", "127.0.0.0/8".to_owned()),
        ];
        let settings: Vec<&str> = settings
            .iter()
            .flat_map(|(flag, value)| [*flag, value.as_str()])
            .filter(|word| !word.is_empty())
            .chain(more.iter().copied())
            .collect();
        let mut sites: Vec<Site> = (0..SERVERS).map(|_| Site::new(&settings)).collect();
        // The first one makes the tables and the token.
        sites.iter_mut().for_each(Site::start);
        let token = sites[0].token();
        Some(Self { sites, cluster, database, token })
    }

    /// What clients and workers share.
    fn world(&self) -> World {
        let urls: Vec<String> = self.sites.iter().map(Site::url).collect();
        World::new(&urls, self.token.clone(), POOL).with_patience(PATIENCE)
    }

    /// Runs SQL in the database of the servers.
    fn query(&self, sql: &str) -> Vec<String> {
        self.cluster.server().query(&self.database, sql)
    }

    /// What is left to do: orders and messages with the milliseconds for which somebody keeps them.
    fn left(&self) -> Vec<String> {
        self.query(
            "with clock (now) as (select (extract(epoch from clock_timestamp()) * 1000)::bigint)
             select 'order', message_id, deliveries, locked_until - now
               from stepwell.submission, clock
              union all
             select 'notice', destination, tries, greatest(kept_until, due_at) - now
               from stepwell.outbox, clock
              union all
             select 'input', id::text, 0, now - at from stepwell.input, clock",
        )
    }

    /// Stops all servers as they should be.
    fn stop(&mut self) {
        for site in &mut self.sites {
            let status = site.stop();
            assert_eq!(status.code(), Some(0), "it stops when it is asked to");
        }
    }
}
