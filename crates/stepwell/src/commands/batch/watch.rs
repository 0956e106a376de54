//! `stepwell batch watch`: follows a batch as it moves.
//!
//! On a terminal every phase is a bar that is drawn again; elsewhere every change of a phase is a
//! line, and as JSON every change of the batch an object. A server that streams no events is asked
//! again and again instead.

use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use super::watch_view::View;
use crate::client::{Api, Events};
use crate::commands::workflow::items;
use crate::config::ClientFlags;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print::Printer;
use crate::session::Global;

/// How often a broken stream is taken up again before the batch is polled instead.
const TRIES_MAX: u32 = 3;

/// From one question to the next where there is no stream.
const POLL: Duration = Duration::from_secs(2);

/// How often the time that is left is drawn again.
const TICK: Duration = Duration::from_secs(1);

/// What `batch watch` is told.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  stepwell batch watch 7\n  \
    stepwell batch watch 7 --until prepare && stepwell batch advance 7\n\n\
    The exit code is 0 if the batch completed, 1 if it failed, 4 if it was cancelled.")]
pub(crate) struct WatchArguments {
    /// Number of the batch
    #[arg(value_name = "BATCH")]
    batch: u64,
    /// Only until this phase is over, or init; the exit code then tells how that ended
    #[arg(long, value_name = "PHASE")]
    until: Option<String>,
    #[command(flatten)]
    client: ClientFlags,
}

/// How far a batch is followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// to its end
    End,
    /// until it is prepared
    Init,
    /// until this phase is over
    Phase(String),
}

pub(super) async fn run(global: Global, arguments: WatchArguments) -> Result<Exit, Failure> {
    let WatchArguments { batch, until, client } = arguments;
    let (session, api) = global.connected(client)?;
    let until = until.map_or(Until::End, Until::Phase);
    follow(session.print, api, batch.to_string(), until).await
}

/// Follows a batch; the exit code tells how what was waited for ended.
pub(super) async fn follow(
    print: Printer,
    api: Api,
    batch: String,
    until: Until,
) -> Result<Exit, Failure> {
    let watched = Watched { api, batch };
    let mut latest = watched.get().await?;
    let until = checked(until, &latest)?;
    let mut view = View::new(print);
    view.show(&latest);
    let mut source = Source::Stream { events: None, tries: 0 };
    let exit = loop {
        if let Some(exit) = ended(&latest, &until) {
            break exit;
        }
        tokio::select! {
            changed = source.next(&watched) => {
                latest = changed?;
                view.show(&latest);
            }
            () = tokio::time::sleep(TICK), if view.is_live() => view.show(&latest),
        }
    };
    view.finish(&latest);
    Ok(exit)
}

/// The batch that is watched.
struct Watched {
    api: Api,
    batch: String,
}

impl Watched {
    async fn get(&self) -> Result<Value, Failure> {
        self.api.get(&["api", "batches", &self.batch], &[]).await
    }

    async fn events(&self) -> Result<Events, Failure> {
        self.api.events(&["api", "batches", &self.batch, "watch"], &[], None).await
    }
}

/// Where news of the batch come from.
enum Source {
    /// the server tells
    Stream { events: Option<Box<Events>>, tries: u32 },
    /// the server is asked
    Polling,
}

impl Source {
    /// The batch as it is after the next change. May be given up and asked again.
    async fn next(&mut self, watched: &Watched) -> Result<Value, Failure> {
        loop {
            let Self::Stream { events, tries } = self else {
                tokio::time::sleep(POLL).await;
                return watched.get().await;
            };
            if let Some(open) = events {
                // A break is no news: the batch itself is.
                while let Ok(Some(event)) = open.next().await {
                    if let ("batch", Ok(batch)) =
                        (event.name.as_str(), serde_json::from_str(&event.data))
                    {
                        *tries = 0;
                        return Ok(batch);
                    }
                }
                *events = None;
                return watched.get().await;
            }
            if *tries >= TRIES_MAX {
                *self = Self::Polling;
                continue;
            }
            if *tries > 0 {
                tokio::time::sleep(POLL).await;
            }
            *tries += 1;
            match watched.events().await {
                Ok(opened) => *events = Some(Box::new(opened)),
                Err(failure) if failure.exit == Exit::Denied => return Err(failure),
                // A server or a proxy that knows no such stream will not learn it.
                Err(failure) if failure.exit == Exit::NotFound => *self = Self::Polling,
                Err(_) => {}
            }
        }
    }
}

/// A phase that the batch has; `init` is no phase, unless one is called so.
fn checked(until: Until, batch: &Value) -> Result<Until, Failure> {
    let Until::Phase(name) = until else { return Ok(until) };
    let names = items(&batch["phases"]).iter().filter_map(|phase| phase["phase_name"].as_str());
    let mut names: Vec<&str> = names.collect();
    if names.contains(&name.as_str()) {
        return Ok(Until::Phase(name));
    }
    if name == "init" {
        return Ok(Until::Init);
    }
    names.dedup();
    let what = format!("the batch has no phase {name:?}");
    Err(Failure::new(Exit::NotFound, "phase_not_found", what)
        .next(format!("its phases are {}", names.join(", "))))
}

/// How what is waited for ended; `None` if it has not.
fn ended(batch: &Value, until: &Until) -> Option<Exit> {
    let earlier = match until {
        Until::End => None,
        Until::Init => (batch["status"] == "active").then_some(Exit::Ok),
        Until::Phase(name) => phase_ended(batch, name),
    };
    earlier.or_else(|| match batch["status"].as_str() {
        Some("completed") => Some(Exit::Ok),
        Some("failed") => Some(Exit::Failure),
        Some("cancelled") => Some(Exit::Refused),
        _ => None,
    })
}

fn phase_ended(batch: &Value, name: &str) -> Option<Exit> {
    let is_meant = |phase: &&Value| {
        phase["phase_name"] == name && phase["runbook_version"] == batch["runbook_version"]
    };
    let phase = items(&batch["phases"]).iter().find(is_meant)?;
    match phase["status"].as_str() {
        Some("completed" | "skipped" | "superseded") => Some(Exit::Ok),
        Some("failed") => Some(Exit::Failure),
        _ => None,
    }
}

/// A change as an object of its own.
pub(super) fn event(name: &str, batch: &Value) -> Value {
    json!({ "event": name, "data": batch })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(status: &str, phase: &str) -> Value {
        json!({ "status": status, "runbook_version": 2, "phases": [
            { "phase_name": "cutover", "runbook_version": 1, "status": "superseded" },
            { "phase_name": "cutover", "runbook_version": 2, "status": phase },
        ]})
    }

    #[test]
    fn the_exit_code_tells_how_that_ended_which_was_waited_for() {
        let (end, init) = (Until::End, Until::Init);
        let cutover = Until::Phase("cutover".to_owned());
        assert_eq!(ended(&batch("active", "dispatched"), &end), None);
        assert_eq!(ended(&batch("completed", "completed"), &end), Some(Exit::Ok));
        assert_eq!(ended(&batch("failed", "failed"), &end), Some(Exit::Failure));
        assert_eq!(ended(&batch("cancelled", "failed"), &end), Some(Exit::Refused));
        assert_eq!(ended(&batch("init_dispatched", "pending"), &init), None);
        assert_eq!(ended(&batch("active", "pending"), &init), Some(Exit::Ok));
        assert_eq!(ended(&batch("failed", "skipped"), &init), Some(Exit::Failure));
        assert_eq!(ended(&batch("active", "dispatched"), &cutover), None);
        assert_eq!(ended(&batch("active", "completed"), &cutover), Some(Exit::Ok));
        assert_eq!(ended(&batch("active", "failed"), &cutover), Some(Exit::Failure));
        assert_eq!(ended(&batch("cancelled", "pending"), &cutover), Some(Exit::Refused));
    }
}
