//! Random timelines on simulated time: the real engine, a real runbook, a source, workers that fail and
//! people who interfere; and a small oracle that says what must be true.
//!
//! A seed determines a timeline. `STEPWELL_TIMELINES=1000` lives through so many of them instead of the
//! few that every test run can afford, `STEPWELL_TIMELINES_FROM=17` begins with that seed.

mod chance;
mod life;
mod log;
mod oracle;
mod plan;
mod recount;

use std::sync::atomic::{AtomicU64, Ordering};

use life::live;

/// What a test run can afford.
const COUNT: u64 = 250;

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().map_or(otherwise, |given| given.parse().expect("a number"))
}

//
// every member that stays does each due
// step once and never before its time, whoever joins late ends where the others do, a moved T-0 moves
// what has not begun and nothing else, and every counter is what counting again would give.
#[test]
fn on_every_timeline_each_member_does_each_due_step_once_and_in_time() {
    let first = number("STEPWELL_TIMELINES_FROM", 0);
    let count = number("STEPWELL_TIMELINES", COUNT);
    let next = AtomicU64::new(first);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let broken: Vec<String> = std::thread::scope(|scope| {
        let live_some = || {
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= first + count {
                    return None;
                }
                if let Err(broken) = live(seed) {
                    next.store(first + count, Ordering::Relaxed);
                    return Some(broken);
                }
            }
        };
        let living: Vec<_> = (0..threads).map(|_| scope.spawn(live_some)).collect();
        living.into_iter().filter_map(|thread| thread.join().expect("no panic")).collect()
    });
    assert!(broken.is_empty(), "{}", broken.join("\n\n"));
}
