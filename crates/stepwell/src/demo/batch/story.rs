//! Follows the batch to its end: a bar for every phase, and a sentence for what is worth one.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use indicatif::ProgressBar;
use jiff::Timestamp;
use serde_json::Value;

use super::items;
use super::narrator::Narrator;
use super::script::{LATE, LEAVING};
use super::workers::Workers;
use crate::client::Api;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print::cell;
use crate::progress;

/// From one look at the batch to the next: half a minute of its own time.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// A batch that takes longer than this hangs.
const END_MAX: Duration = Duration::from_secs(150);

/// The batch as it is told.
pub(super) struct Story<'a> {
    api: &'a Api,
    narrator: &'a Narrator,
    bars: BTreeMap<String, ProgressBar>,
    told: BTreeSet<String>,
    /// members that the batch began with
    first_members: u64,
}

impl<'a> Story<'a> {
    pub(super) fn new(api: &'a Api, narrator: &'a Narrator) -> Self {
        Self { api, narrator, bars: BTreeMap::new(), told: BTreeSet::new(), first_members: 0 }
    }

    /// Tells of the batch until it has ended, and everything that follows from it too.
    pub(super) async fn follow(&mut self, workers: &Workers) -> Result<Value, Failure> {
        let follow = async {
            let id = self.found().await?;
            loop {
                let batch = self.api.get(&["api", "batches", &id], &[]).await?;
                self.show(&batch);
                let is_undone = self.tell_of_failures(&id, &batch).await?;
                let has_ended = matches!(cell(&batch, "status").as_str(), "completed" | "failed");
                if has_ended && is_undone && workers.done("till.release") > 0 {
                    return Ok(batch);
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        let followed = tokio::time::timeout(END_MAX, follow).await;
        self.bars.values().for_each(ProgressBar::abandon);
        followed.unwrap_or_else(|_| {
            let what = format!("the batch has not ended within {} s", END_MAX.as_secs());
            Err(Failure::new(Exit::Failure, "demo_not_ended", what)
                .next("try again when the machine has less to do"))
        })
    }

    /// Waits until the scheduler has made a batch of the list.
    async fn found(&mut self) -> Result<String, Failure> {
        loop {
            let page = self.api.get(&["api", "batches"], &[]).await?;
            if let Some(batch) = items(&page["items"]).first() {
                self.first_members = batch["members"]["total"].as_u64().unwrap_or(0);
                let members = self.first_members;
                self.narrator.tell(&format!("the scheduler makes a batch of {members} members"));
                return Ok(cell(batch, "id"));
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    fn show(&mut self, batch: &Value) {
        if batch["status"] == "active" {
            self.tell_once("active", "init is done once for all of them");
        }
        for phase in items(&batch["phases"]) {
            self.draw(phase);
            self.tell_of_phase(phase);
        }
        let count = |name: &str| batch["members"][name].as_u64().unwrap_or(0);
        if count("total") > self.first_members {
            let what =
                format!("the scheduler finds {LATE}: it joins late, and begins with prepare");
            self.tell_once("joined", &what);
        }
        if count("removed") > 0 {
            let what = format!("the scheduler misses {LEAVING}: on_member_removed cleans up");
            self.tell_once("left", &what);
        }
    }

    fn draw(&mut self, phase: &Value) {
        let name = cell(phase, "phase_name");
        let count = |name: &str| phase["members"][name].as_u64().unwrap_or(0);
        let ended = count("succeeded") + count("failed") + count("cancelled");
        let lines = &self.narrator.lines;
        let bar = self.bars.entry(name).or_insert_with_key(|name| progress::bar(lines, name, 0));
        bar.set_length(ended + count("open"));
        bar.set_position(ended);
    }

    fn tell_of_phase(&mut self, phase: &Value) {
        let (name, members) = (cell(phase, "phase_name"), &phase["members"]);
        if let Some(at_ms) = moment(&phase["dispatched_at"])
            && self.told.insert(format!("{name} begins"))
        {
            self.narrator.tell_at(at_ms, &format!("{name} begins"));
        }
        if let Some(at_ms) = moment(&phase["completed_at"])
            && self.told.insert(format!("{name} ends"))
        {
            let (done, failed) = (cell(members, "succeeded"), cell(members, "failed"));
            self.narrator.tell_at(at_ms, &format!("{name} is over: {done} done, {failed} failed"));
        }
    }

    /// Tells who failed and was rolled back; answers whether nothing more is to be expected of it.
    async fn tell_of_failures(&mut self, id: &str, batch: &Value) -> Result<bool, Failure> {
        if batch["members"]["failed"] == 0 || self.told.contains("undone") {
            return Ok(true);
        }
        let failed = [("status", "failed")];
        let page = self.api.get(&["api", "batches", id, "steps"], &failed).await?;
        let Some(step) = items(&page["items"]).first() else { return Ok(false) };
        let of = |name: &str| cell(step, name);
        let (branch, rollback) = (of("member_key"), of("on_failure"));
        let what = format!(
            "{branch}: {} failed for good ({}); {rollback} begins, nobody else waits",
            of("step_name"),
            of("error_message"),
        );
        self.tell_once("failed", &what);
        let is_undone = step["compensation"] != "sent";
        if is_undone {
            self.tell_once("undone", &format!("{branch}: {rollback} has {}", of("compensation")));
        }
        Ok(is_undone)
    }

    fn tell_once(&mut self, what: &str, text: &str) {
        if self.told.insert(what.to_owned()) {
            self.narrator.tell(text);
        }
    }
}

/// A moment of the batch, in milliseconds since 1970 UTC.
pub(super) fn moment(value: &Value) -> Option<i64> {
    Some(value.as_str()?.parse::<Timestamp>().ok()?.as_millisecond())
}
