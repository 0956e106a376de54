//! Moments as every wire shows them.

use serde::{Serialize, Serializer};
use stepwell_core::time::Timestamp;

/// A moment that travels as text: UTC, RFC 3339, with `Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub Timestamp);

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl From<Timestamp> for Moment {
    fn from(timestamp: Timestamp) -> Self {
        Self(timestamp)
    }
}
