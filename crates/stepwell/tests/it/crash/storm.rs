//! Clients and workers that keep a server busy while a test does something to it.

use std::sync::Arc;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::task::{JoinHandle, JoinSet};

use super::clients::client;
use super::site::Site;
use super::workers::{Worker, refused};
use super::world::World;

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
        let world = Arc::new(World::new(&[site.url()], token, POOL));
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
        self.world.set_up(false);
        let done = tokio::task::block_in_place(|| act(&mut self.site, &mut self.rng));
        self.world.set_up(true);
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
        self.world.calm();
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
            refused(&self.world, &report).await;
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
