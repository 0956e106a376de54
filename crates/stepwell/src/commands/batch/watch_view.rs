//! What whoever watches a batch sees.

use std::collections::BTreeMap;

use indicatif::{MultiProgress, ProgressBar};
use jiff::Timestamp;
use serde_json::Value;

use super::show::{current_phases, next};
use super::watch::event;
use crate::moment;
use crate::print::{Printer, cell};
use crate::progress;

/// What whoever watches a batch sees.
pub(super) struct View {
    print: Printer,
    live: Option<Live>,
    /// what was last told of each phase, and of the batch
    told: BTreeMap<String, String>,
}

/// Bars that are drawn again.
struct Live {
    lines: MultiProgress,
    bars: BTreeMap<String, ProgressBar>,
    batch: ProgressBar,
}

impl View {
    pub(super) fn new(print: Printer) -> Self {
        let live = print.is_live().then(|| {
            let lines = progress::lines(true);
            let batch = progress::spinner(&lines, "batch");
            Live { lines, bars: BTreeMap::new(), batch }
        });
        Self { print, live, told: BTreeMap::new() }
    }

    /// Whether bars are drawn, in which time may pass.
    pub(super) fn is_live(&self) -> bool {
        self.live.is_some()
    }

    /// Shows the batch as it is now.
    pub(super) fn show(&mut self, batch: &Value) {
        if self.print.is_json() {
            self.print.json_line(&event("batch", batch));
        } else if let Some(live) = &mut self.live {
            live.show(batch);
        } else {
            self.tell(batch);
        }
    }

    /// A line for everything that is different from what was told last.
    fn tell(&mut self, batch: &Value) {
        let mut lines: Vec<(String, String)> =
            current_phases(batch).iter().map(|phase| (key(phase), line(phase))).collect();
        lines.push((String::new(), standing(batch)));
        for (key, line) in lines {
            if self.told.get(&key) != Some(&line) {
                let at = Timestamp::now().strftime("%Y-%m-%d %H:%M:%SZ");
                self.print.line(&format!("{at}  {line}"));
                self.told.insert(key, line);
            }
        }
    }

    /// Says how it ended, or where it stands.
    pub(super) fn finish(self, batch: &Value) {
        if let Some(live) = &self.live {
            live.bars.values().for_each(ProgressBar::abandon);
            live.batch.finish_and_clear();
        }
        if self.print.is_json() {
            self.print.json_line(&event("end", batch));
            return;
        }
        let members = &batch["members"];
        self.print.line(&format!(
            "{}: {} of {} members succeeded, {} failed",
            cell(batch, "status"),
            cell(members, "succeeded"),
            cell(members, "total"),
            cell(members, "failed"),
        ));
    }
}

impl Live {
    fn show(&mut self, batch: &Value) {
        for phase in &current_phases(batch) {
            let bar = self.bars.entry(key(phase)).or_insert_with(|| {
                let bar = progress::described_bar(&cell(phase, "phase_name"));
                // The line of the batch stays the last.
                self.lines.insert_before(&self.batch, bar)
            });
            let count = |name: &str| phase["members"][name].as_u64().unwrap_or(0);
            let ended = count("succeeded") + count("failed") + count("cancelled");
            bar.set_length(ended + count("open"));
            bar.set_position(ended);
            bar.set_message(message(phase));
        }
        self.batch.set_message(standing(batch));
    }
}

fn key(phase: &Value) -> String {
    cell(phase, "id")
}

/// A phase on one line, without anything that only time changes.
fn line(phase: &Value) -> String {
    let count = |name: &str| phase["members"][name].as_i64().unwrap_or(0);
    let (name, status) = (cell(phase, "phase_name"), cell(phase, "status"));
    match status.as_str() {
        "pending" => match phase["due_at"].as_str() {
            Some(due_at) => format!("{name}: pending, due {due_at}"),
            None => format!("{name}: pending"),
        },
        "skipped" | "superseded" => format!("{name}: {status}"),
        _ => {
            let (done, failed, open) = (count("succeeded"), count("failed"), count("open"));
            format!("{name}: {status}, {done} done, {failed} failed, {open} open")
        }
    }
}

/// Where the batch stands.
fn standing(batch: &Value) -> String {
    let paused = if batch["paused"] == true { ", paused" } else { "" };
    let status = format!("batch {} {}{paused}", cell(batch, "id"), cell(batch, "status"));
    match next(batch) {
        next if next.is_empty() => status,
        _ => format!("{status}, next is {}", cell(batch, "next_due.phase")),
    }
}

/// What stands behind the bar of a phase.
fn message(phase: &Value) -> String {
    let now = Timestamp::now();
    let count = |name: &str| phase["members"][name].as_i64().unwrap_or(0);
    let failed = match count("failed") {
        0 => String::new(),
        failed => format!(" · {failed} failed"),
    };
    match phase["status"].as_str().unwrap_or_default() {
        "pending" => match parsed(&phase["due_at"]) {
            Some(due_at) => format!("due {}", moment::relative(due_at, now)),
            None => "waits to be advanced".to_owned(),
        },
        "dispatched" => format!("{} open{failed}{}", count("open"), left(phase, now)),
        status => match (parsed(&phase["dispatched_at"]), parsed(&phase["completed_at"])) {
            (Some(began), Some(ended)) => {
                let seconds = (ended.as_second() - began.as_second()).unsigned_abs();
                format!("{status} in {}{failed}", moment::length(seconds))
            }
            _ => format!("{status}{failed}"),
        },
    }
}

/// How long it will take at the pace so far.
fn left(phase: &Value, now: Timestamp) -> String {
    let count = |name: &str| phase[name].as_u64().unwrap_or(0);
    let (ended, total) = (count("steps_ended"), count("steps_total"));
    match parsed(&phase["dispatched_at"]) {
        Some(began) if ended > 0 && total > ended => {
            let elapsed = u64::try_from(now.as_second() - began.as_second()).unwrap_or(0);
            let seconds = elapsed.saturating_mul(total - ended) / ended;
            format!(" · about {} left", moment::length(seconds))
        }
        _ => String::new(),
    }
}

fn parsed(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}
