//! A clock that is wrong by a day, first one way, then the other.

use std::path::PathBuf;

use super::site::Site;
use super::storm::{SETTINGS, Storm};

/// The library that gives a process another time, where Debian and its kin install it.
///
/// `STEPWELL_TEST_FAKETIME` names it elsewhere.
fn faketime() -> Option<PathBuf> {
    let named = std::env::var_os("STEPWELL_TEST_FAKETIME").map(PathBuf::from);
    let installed = ["x86_64-linux-gnu", "aarch64-linux-gnu"]
        .map(|machine| PathBuf::from(format!("/usr/lib/{machine}/faketime/libfaketimeMT.so.1")));
    named.into_iter().chain(installed).find(|path| path.exists())
}

// D-045: the clock may be wrong after a restart; histories go forward, and silence is healed in time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_jumps_a_day_turns_no_history_back_and_stops_no_timer() {
    let Some(library) = faketime() else {
        println!("skipped: libfaketime is not installed");
        return;
    };
    let mut storm = Storm::begin(Site::new(&SETTINGS)).await;
    storm.join(3, 4);
    let preload = format!("LD_PRELOAD={}", library.display());
    let ahead = ["env", &preload, "FAKETIME=+1d", "FAKETIME_DONT_FAKE_MONOTONIC=1"];
    for (round, surroundings) in [&ahead[..], &["env"], &ahead[..], &["env"]].iter().enumerate() {
        storm.until_accepted(40 * (round + 1)).await;
        storm.interrupt(|site, _| {
            site.kill();
            site.start_under(*surroundings);
            site.start();
        });
    }
    storm.until_accepted(200).await;
    storm.settle().await;
    assert!(storm.site.log().contains("clock_behind"), "the clock did not jump");
    assert!(storm.world.journal.book().tally.silent > 0, "no timer was needed");
    storm.judge().await;
    println!("{}", storm.summary("the clock jumped a day ahead and back, twice"));
}
