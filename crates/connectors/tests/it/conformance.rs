//! The bus suite on every bus.

use std::sync::Arc;
use std::time::Duration;

use stepwell_connectors::bus::conformance::{CASES, Subject};
use stepwell_connectors::bus::embedded::{EmbeddedBus, Settings};
use stepwell_connectors::clock::{Clock, ManualClock};

fn embedded() -> Subject {
    let clock = Arc::new(ManualClock::new(1_000_000));
    let settings = Settings::default();
    let passing = clock.clone();
    let pass = move |by: Duration| {
        passing.advance(by);
        Box::pin(std::future::ready(())) as _
    };
    let reading = clock.clone();
    Subject {
        bus: Arc::new(EmbeddedBus::new(settings, clock)),
        pass: Box::new(pass),
        now_ms: Box::new(move || reading.now_ms()),
        deliveries_max: settings.deliveries_max,
        keeps_order: true,
    }
}

// ten deliveries without success make a dead letter, apart from attempts.
// an expired message is a dead letter, not lost.
// B-016, X-098: complete, abandon, dead-letter with reason and description; one settlement each.
// priority orders what a pool delivers.
#[tokio::test]
async fn the_embedded_bus_does_what_every_bus_must() {
    for (name, case) in CASES {
        println!("{name}");
        case(embedded()).await;
    }
}
