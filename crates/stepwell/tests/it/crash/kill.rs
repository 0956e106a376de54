//! Killed again and again, at any moment, under load.

use std::time::Duration;

use rand::RngExt;

use super::site::Site;
use super::storm::{SETTINGS, Storm};

const KILLS: u32 = 24;

// D-034, D-041, D-045, D-053, X-134: whatever moment the process dies at, no accepted command and no
// counted report is lost, no attempt and no lease is used twice, and what has ended stays as it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whenever_the_server_is_killed_nothing_accepted_is_lost_and_nothing_counts_twice() {
    let mut storm = Storm::begin(Site::new(&SETTINGS)).await;
    storm.join(4, 6);
    let mut kills_in_start = 0;
    for _ in 0..KILLS {
        // How long the server lives is the subject of this test, not a wait for something.
        let life = Duration::from_millis(storm.rng.random_range(100..600));
        tokio::time::sleep(life).await;
        kills_in_start += storm.interrupt(|site, rng| {
            site.kill();
            let dies_in_start = rng.random_bool(0.25);
            if dies_in_start {
                // Recovery must survive a crash of its own.
                let _said = site.spawn();
                std::thread::sleep(Duration::from_millis(rng.random_range(0..60)));
                site.kill();
            }
            site.start();
            u32::from(dies_in_start)
        });
    }
    storm.settle().await;
    let tally = storm.world.journal.book().tally;
    assert!(tally.stale > 0 && tally.redelivered > 0, "too tame to prove anything: {tally:?}");
    storm.judge().await;
    let accidents = format!("killed {KILLS} times and {kills_in_start} times while it started");
    println!("{}", storm.summary(&accidents));
}
