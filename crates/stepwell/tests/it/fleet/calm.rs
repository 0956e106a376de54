//! What three servers do when nothing happens to them, or just one thing.

use std::sync::Arc;
use std::time::Duration;

use rand::SeedableRng;
use rand::rngs::StdRng;
use serde_json::Value;
use tokio::task::JoinSet;

use super::orders::{WORKFLOW, client};
use super::receiver::Receiver;
use super::{Fleet, Profile, SETTLED_WITHIN};
use crate::crash::workers::Worker;
use crate::crash::world::World;

/// Servers with kind workers, and somebody who is told of the ends.
struct Calm {
    fleet: Fleet,
    world: Arc<World>,
    receiver: Receiver,
    workers: JoinSet<()>,
}

impl Calm {
    async fn begin(profile: Profile) -> Option<Self> {
        let fleet = tokio::task::block_in_place(|| Fleet::start(profile))?;
        let world = Arc::new(fleet.world());
        world.publish(WORKFLOW).await;
        world.calm();
        fleet.note_owners();
        let receiver = Receiver::listen().await;
        Some(Self { fleet, world, receiver, workers: JoinSet::new() })
    }

    /// Submits jobs at once.
    async fn submit(&self, jobs: usize) {
        let (world, url) = (Arc::clone(&self.world), self.receiver.url.clone());
        let chance = StdRng::seed_from_u64(1);
        client(world, 0..jobs, Duration::from_millis(1), url, chance).await;
    }

    /// Waits until all orders have become jobs.
    async fn until_taken(&self, jobs: usize) {
        let taken = async {
            while self.world.read("/api/v1/instances").await["items"]
                .as_array()
                .expect("a list")
                .iter()
                .map(|instance| instance["jobs_owned"].as_u64().unwrap_or(0))
                .sum::<u64>()
                < jobs as u64
            {
                self.world.before_retry().await;
            }
        };
        tokio::time::timeout(SETTLED_WITHIN, taken).await.expect("all orders are taken");
    }

    /// Workers come.
    fn work(&mut self) {
        for number in 0..4 {
            let chance = StdRng::seed_from_u64(number as u64);
            self.workers.spawn(Worker::new(Arc::clone(&self.world), number, chance).run());
        }
    }

    /// Waits until every job has ended, and holds everything against what was promised.
    async fn finish(mut self, jobs: usize) {
        let ended = self.receiver.until(jobs, SETTLED_WITHIN).await;
        assert_eq!(ended, jobs, "every job has ended");
        self.workers.shutdown().await;
        tokio::task::block_in_place(|| self.fleet.stop());
        super::verdict::judge(&self.fleet, &self.world, &self.receiver, jobs).await;
    }
}

// B-018, B-019, B-020, B-060, B-072, B-074: three equal instances take about as many jobs each, and
// whoever asks one of them sees all three.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_server_of_three_has_more_than_half_of_the_jobs() {
    const JOBS: usize = 300;
    let Some(mut calm) = Calm::begin(Profile::FAST).await else { return };
    calm.submit(JOBS).await;
    calm.until_taken(JOBS).await;
    let instances = calm.world.read("/api/v1/instances").await;
    let healthy = |instance: &&Value| instance["healthy"] == true;
    let healthy = instances["items"].as_array().expect("a list").iter().filter(healthy).count();
    assert_eq!(healthy, 3, "{instances}");
    tokio::task::block_in_place(|| calm.fleet.stop());
    let shares = calm.fleet.first_owners();
    println!("{JOBS} jobs were taken as {shares:?}");
    assert!(shares.iter().sum::<u64>() == JOBS as u64, "each has one owner");
    assert!(shares[0] <= JOBS as u64 / 2, "one has more than half: {shares:?}");
}

/// Servers that do nothing are watched for so long: several signs of life.
const WATCHED: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_servers_with_nothing_to_do_ask_the_database_less_than_five_times_a_second() {
    let Some(calm) = Calm::begin(Profile::FAST).await else { return };
    let installed =
        "select count(*) from pg_available_extensions where name = 'pg_stat_statements'";
    if calm.fleet.query(installed) == ["0"] {
        eprintln!("skipped: pg_stat_statements is not installed");
        return;
    }
    calm.fleet.query("create extension pg_stat_statements; select pg_stat_statements_reset()");
    // The time is the subject of this test, not a wait for something.
    tokio::time::sleep(WATCHED).await;
    let asked = calm.fleet.query(
        "select coalesce(sum(calls), 0)::bigint from pg_stat_statements
          where dbid = (select oid from pg_database where datname = current_database())",
    );
    let asked: u64 = asked[0].parse().expect("a number");
    println!("{asked} statements in {WATCHED:?}");
    assert!(asked < 5 * WATCHED.as_secs(), "{asked} statements in {WATCHED:?}");
}

// B-058, B-072, B-073, X-102: the jobs of an instance that died are taken over and go on from where
// they were.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_one_of_three_servers_is_killed_all_its_jobs_go_on() {
    const JOBS: usize = 100;
    let Some(mut calm) = Calm::begin(Profile::HASTY).await else { return };
    calm.submit(JOBS).await;
    calm.until_taken(JOBS).await;
    tokio::task::block_in_place(|| {
        calm.fleet.sites[1].kill();
        // Only so that every server can be stopped in the end.
        calm.fleet.sites[1].start();
    });
    calm.work();
    calm.finish(JOBS).await;
}

// X-106, B-045: with the slow signs of life of the seed nobody would miss it for two minutes; it says
// good-bye, so nobody has to.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_stops_leaves_its_jobs_to_the_others_at_once() {
    const JOBS: usize = 60;
    let seed = Profile { heartbeat_ms: 30_000, threshold_ms: 120_000, scan_ms: 60_000 };
    let Some(mut calm) = Calm::begin(seed).await else { return };
    calm.submit(JOBS).await;
    calm.until_taken(JOBS).await;
    tokio::task::block_in_place(|| {
        let status = calm.fleet.sites[1].stop();
        assert_eq!(status.code(), Some(0));
        calm.fleet.sites[1].start();
    });
    calm.work();
    calm.finish(JOBS).await;
}
