//! Fresh ids: ordered by time, so that neighbors in time are neighbors on disk, and impossible to guess.

use stepwell_core::time::Timestamp;
use uuid::{Builder, Uuid};

/// An id of this moment (UUID version 7: 48 bits of time, 74 random bits from the system's source).
pub(crate) fn id(now: Timestamp) -> Uuid {
    let random: [u8; 10] = rand::random();
    let millis = u64::try_from(now.as_millis()).unwrap_or(0);
    Builder::from_unix_timestamp_millis(millis, &random).into_uuid()
}
