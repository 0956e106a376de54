//! Everything at once: servers are killed and frozen every second, PostgreSQL is restarted, workers
//! answer twice, late, in another order or never, and clients repeat themselves.

use std::sync::Arc;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::task::JoinSet;

use super::accidents::Accidents;
use super::orders::{WORKFLOW, client};
use super::receiver::Receiver;
use super::{Fleet, LATE_MAX, Profile, SETTLED_WITHIN};
use crate::crash::workers::{Worker, refused};
use crate::crash::world::World;

/// How large a storm is.
#[derive(Clone, Copy)]
struct Size {
    profile: Profile,
    jobs: usize,
    time: Duration,
}

const CLIENTS: usize = 4;
const WORKERS: usize = 8;

/// For how long nothing may happen, beyond the threshold: PostgreSQL must have the time to come back. A
/// word between servers that was lost, and is made up for only by the slow look behind it, would show here.
const REST_MAX: Duration = Duration::from_secs(15);

// B-019, B-020, B-041, B-057, B-058, B-073, B-074, C-031, X-101 to: whatever happens to the instances
// and to the database, no order is lost, none makes two jobs, nothing counts twice, nothing is left
// behind, and whoever wakes up too late changes nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_happens_to_three_servers_and_their_database_every_job_ends_once() {
    let size = Size { profile: Profile::HASTY, jobs: 400, time: Duration::from_secs(15) };
    storm(size).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "takes minutes; `cargo xtask storm` runs it"]
async fn a_full_storm_of_a_minute_and_two_thousand_jobs() {
    let size = Size { profile: Profile::FAST, jobs: 2_000, time: Duration::from_secs(60) };
    storm(size).await;
}

async fn storm(size: Size) {
    let Some(mut fleet) = tokio::task::block_in_place(|| Fleet::start(size.profile)) else {
        return;
    };
    let given = std::env::var("STEPWELL_TEST_SEED").ok();
    let seed = given.map_or_else(rand::random, |text| text.parse().expect("a number"));
    println!("STEPWELL_TEST_SEED={seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    let world = Arc::new(fleet.world());
    world.publish(WORKFLOW).await;
    let receiver = Receiver::listen().await;
    fleet.note_owners();
    let mut workers = workers(&world, &mut rng);
    let clients = clients(&world, size, &receiver.url, &mut rng);
    let mut accidents = Accidents::default();
    accidents.happen(&mut fleet, size.profile, size.time, &mut rng).await;
    clients.join_all().await;
    world.calm();
    let patience = size.profile.threshold() + SETTLED_WITHIN;
    let ended = receiver.until(size.jobs, patience).await;
    if ended < size.jobs {
        let (left, open) = (fleet.left(), world.explain_open().await);
        panic!("{ended} of {} jobs have ended within {patience:?}: {left:?} {open}", size.jobs);
    }
    workers.abort_all();
    while let Some(ended) = workers.join_next().await {
        assert!(ended.is_err_and(|error| error.is_cancelled()), "a worker found a fault");
    }
    let late = std::mem::take(&mut world.journal.book().late);
    for report in late {
        refused(&world, &report).await;
    }
    accidents.ask_survivors(&fleet).await;
    tokio::task::block_in_place(|| fleet.stop());
    super::verdict::judge(&fleet, &world, &receiver, size.jobs).await;
    conclude(&fleet, &world, &receiver, &accidents, size);
    println!("seed {seed}");
}

fn workers(world: &Arc<World>, rng: &mut StdRng) -> JoinSet<()> {
    let mut workers = JoinSet::new();
    for number in 0..WORKERS {
        let chance = StdRng::seed_from_u64(rng.random());
        workers.spawn(Worker::new(Arc::clone(world), number, chance).run());
    }
    workers
}

/// Clients that together submit all jobs in the time of the accidents.
fn clients(world: &Arc<World>, size: Size, callback_url: &str, rng: &mut StdRng) -> JoinSet<()> {
    let each = size.jobs / CLIENTS;
    let pace = size.time.mul_f64(0.8) / u32::try_from(each).expect("few jobs");
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let numbers = number * each..(number + 1) * each;
        let chance = StdRng::seed_from_u64(rng.random());
        let url = callback_url.to_owned();
        clients.spawn(client(Arc::clone(world), numbers, pace, url, chance));
    }
    clients
}

/// Says what happened, and sees that it was enough to prove something.
fn conclude(fleet: &Fleet, world: &World, receiver: &Receiver, accidents: &Accidents, size: Size) {
    let tally = world.journal.book().tally;
    let noticeable = accidents.noticeable(size.profile);
    let takeovers = fleet.takeovers(&noticeable);
    let longest_rest_ms = fleet.longest_rest_ms();
    let repeated: usize = receiver
        .notices()
        .values()
        .flat_map(|events| events.values())
        .filter(|times| **times > 1)
        .count();
    println!(
        "{} jobs; {} kills, {} naps, {} comas, 1 restart of PostgreSQL; {} orders sent again; {} reports \
         sent, {} refused as stale, {} redelivered, {} silent; {} writes of zombies refused; {} notices \
         repeated; first owners {:?}",
        size.jobs,
        accidents.kills,
        accidents.naps,
        accidents.comas,
        tally.commands_repeated,
        tally.reports,
        tally.stale,
        tally.redelivered,
        tally.silent,
        accidents.fenced_writes,
        repeated,
        fleet.first_owners(),
    );
    println!(
        "{} losses, of which {} had to be noticed in time: {} of their jobs taken over: p50 {} ms, p99 {} \
         ms, max {} ms; threshold {} ms; longest rest of all {} ms",
        accidents.losses.len(),
        noticeable.len(),
        takeovers.count,
        takeovers.p50_ms,
        takeovers.p99_ms,
        takeovers.max_ms,
        size.profile.threshold_ms,
        longest_rest_ms,
    );
    assert!(accidents.kills > 0 && takeovers.count > 0, "too tame to prove anything");
    assert!(tally.stale > 0 && tally.redelivered > 0, "too tame to prove anything: {tally:?}");
    let rest_max = size.profile.threshold() + REST_MAX;
    assert!(
        u128::from(longest_rest_ms) <= rest_max.as_millis(),
        "nobody did anything for too long"
    );
    let late_max = size.profile.threshold() + LATE_MAX;
    assert!(u128::from(takeovers.p99_ms) <= late_max.as_millis(), "taken over too late");
    assert_eq!(takeovers.unnoticed, 0, "nobody has noticed: {noticeable:?}");
    let zombies = noticeable.iter().filter(|loss| loss.woke.is_some()).count();
    assert!(zombies == 0 || accidents.fenced_writes > 0, "no zombie was refused");
}
