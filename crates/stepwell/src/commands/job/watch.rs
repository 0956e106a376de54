//! `stepwell job watch`: follows a job by its events.
//!
//! On a terminal every step is a line that is drawn again as it moves; elsewhere every event is a
//! line of its own, and as JSON an object of its own. A stream that breaks off is taken up again
//! where it broke, so nothing is missed and nothing is told twice.

use indicatif::{MultiProgress, ProgressBar};
use serde_json::{Value, json};

use super::show::details;
use crate::client::{Api, Event};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print::{Printer, cell};
use crate::progress;
use crate::session::Session;

/// Follows a job to its end; the exit code tells how it ended. With a workspace, it is told in the words
/// of workspaces.
pub(crate) async fn watch(
    session: &Session,
    api: &Api,
    job: &str,
    workspace: Option<&str>,
) -> Result<Exit, Failure> {
    let record = super::path(workspace, job);
    let mut view = View::new(session.print, api.get(&record, &[]).await?);
    let mut last_event_id: Option<String> = None;
    let path = ["v1", "jobs", job, "events"];
    while ended(&view.job).is_none() {
        let mut events = api.events_again(&path, &[], last_event_id.as_deref()).await?;
        // A break is no news: whatever was missed comes again after the last id.
        while let Ok(Some(event)) = events.next().await {
            if !event.id.is_empty() {
                last_event_id = Some(event.id.clone());
            }
            view.tell(&event);
            if view.is_live() {
                view.show(api.get(&record, &[]).await?);
            }
        }
        view.show(api.get(&record, &[]).await?);
    }
    Ok(view.finish())
}

/// How a job ended; `None` if it has not.
fn ended(job: &Value) -> Option<Exit> {
    match job["status"].as_str().unwrap_or_default() {
        "SUCCEEDED" | "completed" => Some(Exit::Ok),
        "FAILED_FINAL" | "dead" => Some(Exit::Failure),
        "CANCELLED" | "canceled" => Some(Exit::Refused),
        _ => None,
    }
}

/// What the person who watches sees.
struct View {
    print: Printer,
    job: Value,
    live: Option<(MultiProgress, Vec<ProgressBar>)>,
}

impl View {
    fn new(print: Printer, job: Value) -> Self {
        let live = print.is_live().then(|| {
            let lines = progress::lines(true);
            let names = steps(&job).iter().map(|step| cell(step, "step_id"));
            let bars = names.map(|name| progress::spinner(&lines, &name)).collect();
            (lines, bars)
        });
        let mut view = Self { print, job: Value::Null, live };
        view.show(job);
        view
    }

    fn is_live(&self) -> bool {
        self.live.is_some()
    }

    /// Draws the job as it is now.
    fn show(&mut self, job: Value) {
        if let Some((_, bars)) = &self.live {
            for (bar, step) in bars.iter().zip(steps(&job)) {
                bar.set_message(line_of(step));
                if !step["completed_at"].is_null() {
                    bar.finish();
                }
            }
        }
        self.job = job;
    }

    /// Tells one event, where every event is a line.
    fn tell(&self, event: &Event) {
        if self.is_live() {
            return;
        }
        let data: Value = serde_json::from_str(&event.data).unwrap_or_else(|_| json!(event.data));
        if self.print.is_json() {
            self.print.json_line(&json!({ "id": event.id, "event": event.name, "data": data }));
        } else {
            let at = cell(&data, "at");
            let line = format!("{at}  {}  {}", event.name, details(&data));
            self.print.line(line.trim());
        }
    }

    fn finish(self) -> Exit {
        let exit = ended(&self.job).unwrap_or(Exit::Failure);
        if let Some((_, bars)) = &self.live {
            bars.iter().for_each(ProgressBar::finish);
        }
        if self.print.is_json() {
            self.print.json_line(&json!({ "event": "end", "data": self.job }));
            return exit;
        }
        let error = error_of(&self.job);
        let error = if error.is_empty() { error } else { format!(": {error}") };
        self.print.line(&format!("{}{error}", cell(&self.job, "status")));
        exit
    }
}

/// Why a job or a step failed last, in whichever words it is shown.
fn error_of(shown: &Value) -> String {
    let error = cell(shown, "error.message");
    if error.is_empty() { cell(shown, "last_error_message") } else { error }
}

fn steps(job: &Value) -> &[Value] {
    job["steps"].as_array().map_or(&[], Vec::as_slice)
}

fn line_of(step: &Value) -> String {
    let attempt = match step["attempt_no"].as_u64() {
        Some(attempt) if attempt > 1 => format!(" (attempt {attempt})"),
        Some(_) | None => String::new(),
    };
    let error = error_of(step);
    let error = if error.is_empty() { error } else { format!("  {error}") };
    format!("{}{attempt}{error}", cell(step, "status"))
}
