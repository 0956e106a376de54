//! A disk that is full, and one that cannot be written.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;
use stepwell_worker::Status;

use super::clients::{envelope, submit};
use super::site::Site;
use super::small_disk::SmallDisk;
use super::storm::{SETTINGS, Storm};
use super::workers::Worker;

/// Long enough for several timeouts of steps (2 s) to come and find the disk full.
const FULL_FOR: Duration = Duration::from_secs(4);

fn site_on(disk: &SmallDisk) -> Site {
    let (inside, outside) = (disk.inside().join("data"), disk.outside().join("data"));
    let mut site = Site::new(&SETTINGS).with_data(&inside, &outside);
    site.start_under(disk.entrance());
    site
}

/// A disk of its own for the test, or nothing if there can be none here.
fn small_disk() -> Option<SmallDisk> {
    SmallDisk::mount(8).inspect_err(|reason| println!("skipped: {reason}")).ok()
}

// D-041, D-045: what cannot be recorded is not accepted; what was accepted goes on when it can be.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_refuses_what_it_cannot_keep_and_goes_on_by_itself_when_there_is_room() {
    let Some(disk) = small_disk() else { return };
    let mut storm = Storm::begin(site_on(&disk)).await;
    storm.calm();
    for number in 0..5 {
        submit(&storm.world, "acme", &format!("before-{number}")).await;
    }
    let mut worker = Worker::new(storm.world.clone(), 99, storm.fork());
    let unreported = worker.take_one().await;

    disk.fill();
    refuses(&storm, "/v1/commands").await;
    refuses(&storm, "/readyz").await;
    let answer = worker.try_report(&unreported, Status::Succeeded).await;
    assert!(answer.is_not_now(), "a report that cannot be kept is to be sent again: {answer:?}");
    assert_eq!(listed(&storm).await, accepted(&storm), "nothing is there by halves");
    // How long the disk is full is the subject here: timers come due, and must not run hot.
    let lines = storm.site.log().lines().count();
    tokio::time::sleep(FULL_FOR).await;
    let more = storm.site.log().lines().count() - lines;
    assert!((1..=12).contains(&more), "{more} lines in {FULL_FOR:?}:\n{}", storm.site.log());

    disk.free();
    submit(&storm.world, "acme", "refused").await;
    storm.join(0, 4);
    storm.settle().await;
    assert_eq!(storm.world.read("/readyz").await["status"], "ready");
    storm.judge().await;
    println!("{}", storm.summary("the disk was full once"));
}

/// A request that needs the disk is told what is wrong, and to come back.
async fn refuses(storm: &Storm, path: &str) {
    let world = &storm.world;
    let request = match path {
        "/v1/commands" => world.post(path, &envelope("acme", "refused")),
        path => world.get(path),
    };
    let request = request.header("Idempotency-Key", "refused");
    let response = request.send().await.expect("the server answers");
    assert_eq!(response.status(), 503, "{path}");
    assert!(response.headers().contains_key("Retry-After"), "{path}");
    let problem: Value = response.json().await.expect("a problem");
    assert_eq!(problem["code"], "unavailable");
    let detail = problem["detail"].as_str().expect("a text");
    assert!(detail.contains("the disk is full; free some space"), "{detail}");
}

async fn listed(storm: &Storm) -> BTreeSet<String> {
    let jobs = storm.world.read("/v1/jobs?limit=200").await;
    let jobs = jobs["items"].as_array().expect("a list");
    jobs.iter().map(|job| job["job_id"].as_str().expect("an id").to_owned()).collect()
}

fn accepted(storm: &Storm) -> BTreeSet<String> {
    storm.world.journal.book().accepted.values().cloned().collect()
}

#[test]
fn a_directory_that_cannot_be_written_is_named_and_ends_the_start() {
    let Some(disk) = small_disk() else { return };
    disk.make_read_only();
    let mut site = site_on(&disk);
    does_not_start(&mut site, &disk);
}

#[test]
fn data_that_can_no_longer_be_written_is_named_and_ends_the_start() {
    let Some(disk) = small_disk() else { return };
    let mut site = site_on(&disk);
    site.start();
    assert_eq!(site.stop().code(), Some(0));
    disk.make_read_only();
    does_not_start(&mut site, &disk);
}

/// The exit code says that the state of things does not allow it; the message says which and why.
fn does_not_start(site: &mut Site, disk: &SmallDisk) {
    let _said = site.spawn();
    let status = site.wait();
    let log = site.log();
    assert_eq!(status.code(), Some(4), "{log}");
    assert!(log.contains(&disk.inside().display().to_string()), "{log}");
    assert!(log.contains("cannot be written: Read-only file system"), "{log}");
}
