//! Asked to stop while clients and workers are at it.

use std::time::{Duration, Instant};

use super::site::Site;
use super::storm::{SETTINGS, Storm};

const STOPS: usize = 3;

// D-041, D-045: a stop under load answers what it has taken in or refuses it, and what was answered is
// there for the next start.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_stopped_under_load_ends_in_time_and_the_next_one_goes_on() {
    let mut storm = Storm::begin(Site::new(&SETTINGS)).await;
    storm.join(4, 4);
    let mut longest = Duration::ZERO;
    for stop in 1..=STOPS {
        storm.until_accepted(60 * stop).await;
        let took = storm.interrupt(|site, _| {
            let since = Instant::now();
            assert_eq!(site.stop().code(), Some(0), "it ends well:\n{}", site.log());
            let took = since.elapsed();
            site.start();
            took
        });
        assert!(took < Duration::from_secs(10), "the stop took {took:?}");
        longest = longest.max(took);
    }
    storm.settle().await;
    storm.judge().await;
    let accidents = format!("stopped {STOPS} times, within {longest:.0?}");
    println!("{}", storm.summary(&accidents));
}
