//! The topics: their names unless the installation says otherwise, and what may happen on them.

use stepwell_core::duration::Interval;

/// Events, from whoever keeps the time to whoever runs the batches.
pub const EVENTS: &str = "orchestrator-events";

/// Jobs, to the workers.
pub const JOBS: &str = "worker-jobs";

/// Results, from the workers.
pub const RESULTS: &str = "worker-results";

/// The subscription through which [`EVENTS`] and [`RESULTS`] are read.
pub const SUBSCRIPTION: &str = "orchestrator";

/// How long a topic remembers the ids of messages and swallows repetitions.
pub const DUPLICATE_WINDOW: Interval = Interval::from_secs(10 * 60);

/// How long a message may wait before it becomes a dead letter.
pub const TTL: Interval = Interval::from_secs(7 * 24 * 60 * 60);

/// How long a reader keeps a message from the others.
pub const LOCK: Interval = Interval::from_secs(60);

/// How often a message is handed out before it becomes a dead letter.
pub const DELIVERIES_MAX: u32 = 10;

/// The subscription through which a worker reads its part of [`JOBS`].
#[must_use]
pub fn worker_subscription(worker_id: &str) -> String {
    format!("worker-{worker_id}")
}
