//! The queue of orders: its name, its limits, and what it says of a message it hands out.

use stepwell_core::duration::Interval;
use stepwell_core::time::Timestamp;

/// What the queue is called unless the installation says otherwise (B-035, X-097).
pub const NAME_DEFAULT: &str = "dag-jobs";

/// How long an order may wait before it is given up (B-063, B-068, X-108).
pub const TTL: Interval = Interval::from_secs(24 * 60 * 60);

/// How long an instance keeps an order from the others (B-068).
pub const LOCK: Interval = Interval::from_secs(5 * 60);

/// How often an order is handed out before it is given up (B-068, X-164).
pub const DELIVERIES_MAX: u32 = 10;

/// What the queue says of a message, beside its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery<'a> {
    /// what the queue knows it by: the message's own id, unless its body names none
    pub message_id: &'a str,
    /// when it was handed out
    pub received_at: Timestamp,
    /// from then on it is given up
    pub expires_at: Timestamp,
    /// how often it was handed out, this time included
    pub deliveries: u32,
}
