//! What came of the demo, read back from the server.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::client::Api;
use crate::failure::Failure;

/// What came of the demo.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) submitted: usize,
    pub(super) succeeded: usize,
    pub(super) failed: usize,
    pub(super) cancelled: usize,
    /// attempts that followed a failure that a worker had reported
    pub(super) retries: usize,
    /// attempts that were given up because nobody answered in time
    pub(super) timeouts: usize,
    /// reports that came too late, were recorded, and changed nothing
    pub(super) stale_refused: usize,
    /// from submission to end, sorted
    pub(super) lengths_ms: Vec<u64>,
}

impl Tally {
    /// Reads every job with its attempts.
    pub(super) async fn read(api: &Api) -> Result<Self, Failure> {
        let mut tally = Self::default();
        let mut cursor: Option<String> = None;
        loop {
            let mut query = vec![("limit", "200")];
            query.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
            let page = api.get(&["v1", "jobs"], &query).await?;
            for job in page["items"].as_array().map_or(&[][..], Vec::as_slice) {
                tally.add(api, job).await?;
            }
            cursor = page["next_cursor"].as_str().map(str::to_owned);
            if cursor.is_none() {
                break;
            }
        }
        tally.lengths_ms.sort_unstable();
        Ok(tally)
    }

    async fn add(&mut self, api: &Api, job: &Value) -> Result<(), Failure> {
        let id = job["job_id"].as_str().unwrap_or_default();
        self.submitted += 1;
        match job["status"].as_str().unwrap_or_default() {
            "SUCCEEDED" => self.succeeded += 1,
            "FAILED_FINAL" => self.failed += 1,
            "CANCELLED" => self.cancelled += 1,
            _ => {}
        }
        let at = |key: &str| job[key].as_str().and_then(|text| text.parse::<Timestamp>().ok());
        if let (Some(created), Some(completed)) = (at("created_at"), at("completed_at")) {
            let length = completed.as_millisecond() - created.as_millisecond();
            self.lengths_ms.push(u64::try_from(length).unwrap_or(0));
        }
        let steps = api.get(&["v1", "jobs", id, "steps"], &[]).await?;
        for step in steps["items"].as_array().map_or(&[][..], Vec::as_slice) {
            self.add_attempts(step["attempts"].as_array().map_or(&[][..], Vec::as_slice));
        }
        let stale = api.get(&["v1", "jobs", id, "stale-reports"], &[]).await?;
        self.stale_refused += stale["items"].as_array().map_or(0, Vec::len);
        Ok(())
    }

    fn add_attempts(&mut self, attempts: &[Value]) {
        let timeouts =
            attempts.iter().filter(|it| it["error"]["code"] == "attempt_timed_out").count();
        self.timeouts += timeouts;
        self.retries += attempts.len().saturating_sub(1 + timeouts);
    }

    /// The length that this share of all jobs does not exceed.
    pub(super) fn percentile_ms(&self, share: f64) -> u64 {
        let last = self.lengths_ms.len().saturating_sub(1);
        let position = (last as f64 * share).round() as usize;
        self.lengths_ms.get(position).copied().unwrap_or(0)
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "submitted": self.submitted,
            "succeeded": self.succeeded,
            "failed": self.failed,
            "cancelled": self.cancelled,
            "retries": self.retries,
            "timeouts": self.timeouts,
            "stale_refused": self.stale_refused,
            "p50_ms": self.percentile_ms(0.5),
            "p99_ms": self.percentile_ms(0.99),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_lengths_that_were_measured() {
        let tally = Tally { lengths_ms: (1..=100).collect(), ..Tally::default() };
        assert_eq!((tally.percentile_ms(0.5), tally.percentile_ms(0.99)), (51, 99));
        assert_eq!(Tally::default().percentile_ms(0.5), 0);
    }
}
