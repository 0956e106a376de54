//! Frozen for longer than anything waits.

use std::time::Duration;

use super::site::Site;
use super::storm::{SETTINGS, Storm};

const PAUSES: usize = 3;

/// Longer than the timeout of a step (2 s) and the visibility of a delivery (1 s).
const PAUSE: Duration = Duration::from_millis(2_500);

// D-034, D-045: when the process goes on, timers that are overdue and reports that have waited in its
// sockets meet; each attempt has one outcome all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_was_frozen_beyond_every_timeout_applies_nothing_twice() {
    let mut storm = Storm::begin(Site::new(&SETTINGS)).await;
    storm.join(3, 4);
    for pause in 1..=PAUSES {
        storm.until_accepted(60 * pause).await;
        storm.interrupt(|site, _| {
            site.signal("STOP");
            // How long it is frozen is the subject of this test, not a wait for something.
            std::thread::sleep(PAUSE);
            site.signal("CONT");
        });
    }
    storm.settle().await;
    let tally = storm.world.journal.book().tally;
    assert!(tally.stale > 0 && tally.redelivered > 0, "too tame to prove anything: {tally:?}");
    storm.judge().await;
    println!("{}", storm.summary(&format!("frozen {PAUSES} times for {PAUSE:?}")));
}
