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

    /// Ids of one moment, in order. Whoever begins many runs at once and goes through them later, one
    /// after the other, finds neighbors on the same page of the disk; as they are drawn, each would
    /// be on another.
    pub(crate) fn ids(&self, now: Timestamp, count: usize) -> Vec<Uuid> {
        let mut ids: Vec<Uuid> = std::iter::repeat_with(|| self.id(now)).take(count).collect();
        ids.sort_unstable();
        ids
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_drawn_together_are_in_order_and_of_their_moment() {
        let now = Timestamp::from_millis(1_800_000_000_000);
        let ids = IdSource::default().ids(now, 1_000);
        assert_eq!(ids.len(), 1_000);
        assert!(ids.is_sorted() && ids.windows(2).all(|pair| pair[0] != pair[1]));
        assert!(ids.iter().all(|id| id.as_u128() >> 80 == 1_800_000_000_000));
    }
}
