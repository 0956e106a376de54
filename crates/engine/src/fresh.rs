//! Fresh ids: ordered by time, so that neighbors in time are neighbors on disk, and impossible to guess.

use std::fmt;
use std::sync::Arc;

use stepwell_core::time::Timestamp;
use uuid::{Builder, Uuid};

/// Where fresh ids come from. The system's random source, unless a simulator wants to repeat itself.
#[derive(Clone)]
pub struct IdSource(Arc<dyn Fn(Timestamp) -> Uuid + Send + Sync>);

impl IdSource {
    /// Ids of version 7 (48 bits of time, 74 other bits) whose other bits come from `draw`.
    pub fn new(draw: impl Fn() -> [u8; 10] + Send + Sync + 'static) -> Self {
        Self(Arc::new(move |now| {
            let millis = u64::try_from(now.as_millis()).unwrap_or(0);
            Builder::from_unix_timestamp_millis(millis, &draw()).into_uuid()
        }))
    }

    /// An id of this moment.
    pub(crate) fn id(&self, now: Timestamp) -> Uuid {
        (self.0)(now)
    }
}

impl Default for IdSource {
    fn default() -> Self {
        Self::new(rand::random)
    }
}

impl fmt::Debug for IdSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IdSource")
    }
}
