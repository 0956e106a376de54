//! Time passes only when it must.

use std::sync::Arc;

use stepwell_connectors::clock::Clock;
use stepwell_sim::clock::{NOON_MS, SkewedClock, at_noon};

#[test]
fn an_hour_passes_at_once_when_everybody_sleeps() {
    let clock = at_noon();
    let sleeping = Arc::clone(&clock);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .on_thread_park(move || sleeping.advance())
        .build()
        .expect("a runtime");
    let wrong = SkewedClock::new(Arc::clone(&clock), -60_000);
    runtime.block_on(async {
        clock.sleep_ms(3_600_000).await;
        assert_eq!(clock.now_ms(), NOON_MS + 3_600_000);
        assert_eq!(wrong.now_ms(), NOON_MS + 3_540_000, "an instance may be a minute behind");
        wrong.sleep_until_ms(NOON_MS + 3_600_000).await;
        assert_eq!(clock.now_ms(), NOON_MS + 3_660_000, "it wakes when its own clock says so");
    });
}
