//! What workers of jobs say beside an ack and a result: that they are still at it.
//!
//! Acks and results are the same for all dialects: see [`crate::commands::outcome`]. A result may say
//! what the step has cost, as `credits_spent`.

use serde_json::Value;
use stepwell_core::command::Command;

use crate::commands::outcome::{JobRef, attempt, read};
use crate::rejection::Rejection;

/// Reads a sign of life: the fields of an ack.
///
/// # Errors
///
/// Every field that is missing or wrong; the sign changes nothing.
pub fn heartbeat(body: &Value) -> Result<(JobRef, Command), Rejection> {
    read(body, |mut fields| {
        let attempt = attempt(&mut fields);
        fields.ignore_unknown();
        let (job, step, fence) = attempt?;
        Some((job, Command::Extend { step, fence }))
    })
}

/// Reads several signs of life; each has an answer of its own.
#[must_use]
pub fn heartbeats(bodies: &[Value]) -> Vec<Result<(JobRef, Command), Rejection>> {
    bodies.iter().map(heartbeat).collect()
}
