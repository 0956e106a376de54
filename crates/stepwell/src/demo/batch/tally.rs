//! What came of the batch, read back from the server.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::items;
use super::script::{LATE, LEAVING};
use super::story::moment;
use super::workers::Workers;
use crate::client::Api;
use crate::failure::Failure;
use crate::moment::{length, measured};
use crate::print::{Printer, cell};

/// What came of the batch.
pub(super) struct Tally {
    batch: Value,
    steps: Vec<Value>,
    /// steps of `on_member_removed` that were done
    removal_steps: u32,
    rollback_steps: u32,
    simulated: Duration,
    real: Duration,
}

impl Tally {
    /// Reads every step of a batch that has ended.
    pub(super) async fn read(
        api: &Api,
        batch: Value,
        workers: &Workers,
        (simulated, real): (Duration, Duration),
    ) -> Result<Self, Failure> {
        let (id, mut steps, mut after) = (cell(&batch, "id"), Vec::new(), None::<String>);
        loop {
            let mut query = vec![("limit", "200")];
            query.extend(after.as_deref().map(|after| ("after", after)));
            let page = api.get(&["api", "batches", &id, "steps"], &query).await?;
            steps.extend_from_slice(items(&page["items"]));
            after = Some(cell(&page, "next")).filter(|next| !next.is_empty());
            if after.is_none() {
                break;
            }
        }
        let removal_steps = workers.done("till.release");
        let rollback_steps = workers.done("till.switch-back") + workers.done("branch.tell");
        Ok(Self { batch, steps, removal_steps, rollback_steps, simulated, real })
    }

    fn count(&self, name: &str) -> u64 {
        self.steps.iter().filter_map(|step| step[name].as_u64()).sum()
    }

    /// The names of the steps that succeeded for a branch, in order.
    fn succeeded(&self, branch: &str) -> Vec<&str> {
        let is_meant =
            |step: &&Value| step["member_key"] == branch && step["status"] == "succeeded";
        self.steps.iter().filter(is_meant).filter_map(|step| step["step_name"].as_str()).collect()
    }

    /// The step that failed for good.
    fn failed(&self) -> Option<&Value> {
        self.steps.iter().find(|step| step["status"] == "failed")
    }

    fn early(&self) -> &str {
        let done = self.steps.iter().find(|step| !step["member_key"].is_null());
        done.and_then(|step| step["member_key"].as_str()).unwrap_or_default()
    }

    /// One object for programs.
    pub(super) fn to_json(&self) -> Value {
        let members = &self.batch["members"];
        let phases = items(&self.batch["phases"]).iter().map(|phase| {
            json!({
                "name": phase["phase_name"],
                "offset": phase["offset"],
                "status": phase["status"],
                "began_at": phase["dispatched_at"],
                "ended_at": phase["completed_at"],
                "members": phase["members"],
            })
        });
        let late = self.succeeded(LATE);
        let rollback = self.failed().map(|step| {
            json!({
                "member": step["member_key"],
                "step": step["step_name"],
                "error": step["error_message"],
                "rollback": step["on_failure"],
                "outcome": step["compensation"],
                "steps_done": self.rollback_steps,
            })
        });
        json!({
            "status": self.batch["status"],
            "members": members,
            "phases": phases.collect::<Value>(),
            "retries": self.count("retry_count"),
            "polls": self.count("poll_count"),
            "rollback": rollback,
            "late_joiner": {
                "member": LATE,
                "steps_done": late.len(),
                "same_steps_as_others": late == self.succeeded(self.early()),
            },
            "removal": { "member": LEAVING, "steps_done": self.removal_steps },
            "simulated_s": self.simulated.as_secs(),
            "real_s": self.real.as_secs_f64(),
        })
    }

    /// Two tables for people: the phases, and what happened in them.
    pub(super) fn show(&self, print: Printer) {
        if print.is_live() {
            // The last bar has no end of line of its own.
            print.note("");
        }
        print.note("");
        let rows = items(&self.batch["phases"]).iter().map(|phase| {
            let of = |path: &str| cell(phase, path);
            vec![
                of("phase_name"),
                of("offset"),
                hour(&phase["dispatched_at"]),
                hour(&phase["completed_at"]),
                of("members.succeeded"),
                of("members.failed"),
                of("members.cancelled"),
            ]
        });
        let titles = ["PHASE", "OFFSET", "BEGAN", "ENDED", "DONE", "FAILED", "LEFT"];
        print.table(titles, rows);
        print.line("");
        let members = |name: &str| cell(&self.batch["members"], name);
        let late = self.succeeded(LATE).len();
        let real_ms = u64::try_from(self.real.as_millis()).unwrap_or(u64::MAX);
        let rows = [
            ("members", members("total")),
            ("went all the way", members("succeeded")),
            ("failed, and rolled back", members("failed")),
            ("left, and cleaned up after", members("removed")),
            ("steps of the late joiner done", late.to_string()),
            ("retries", self.count("retry_count").to_string()),
            ("polls", self.count("poll_count").to_string()),
            ("time on the clock of the batch", length(self.simulated.as_secs())),
            ("time it really took", measured(real_ms)),
        ];
        let rows = rows.map(|(what, how_much)| vec![what.to_owned(), how_much]);
        print.table(["WHAT", "HOW MUCH"], rows);
    }
}

fn hour(value: &Value) -> String {
    let moment = moment(value).and_then(|at_ms| Timestamp::from_millisecond(at_ms).ok());
    moment.map(|moment| moment.strftime("%H:%M").to_string()).unwrap_or_default()
}
