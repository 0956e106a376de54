//! `stepwell trigger`: what makes jobs without being asked each time.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use jiff::civil::DateTime;
use serde_json::{Value, json};

use super::command::{json_argument, read_text};
use super::job::no_workflow;
use super::secret::{GraceFlag, rotate_secret};
use super::workflow::items;
use super::workspace::WorkspaceFlag;
use crate::config::ClientFlags;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print::{Column, cell};
use crate::session::Global;

/// What to do about triggers.
#[derive(Debug, Subcommand)]
pub(crate) enum TriggerCommand {
    /// Make a trigger of a document, or change the one of this name
    Put(PutArguments),
    /// List the triggers of a workspace with their next firing
    List(ListArguments),
    /// Show a trigger
    Get(NameArguments),
    /// Let a trigger fire from now on
    Enable(NameArguments),
    /// Keep a trigger from firing until it is enabled
    Disable(NameArguments),
    /// Replace the secret of a webhook; the old one stays valid for a while
    RotateSecret(RotateArguments),
    /// Forget a trigger; jobs it has made go on
    Delete(NameArguments),
    /// Fire a trigger now
    Fire(FireArguments),
    /// Show what became of the firings of a trigger, newest first
    Firings(FiringsArguments),
    /// Show when a schedule would fire next, without making anything
    Preview(PreviewArguments),
}

/// What `trigger put` is told.
#[derive(Debug, Args)]
pub(crate) struct PutArguments {
    /// The document, in YAML or JSON; - reads standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    workspace: WorkspaceFlag,
    #[command(flatten)]
    client: ClientFlags,
}

/// Names a workspace.
#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    #[command(flatten)]
    workspace: WorkspaceFlag,
    #[command(flatten)]
    client: ClientFlags,
}

/// Names a trigger.
#[derive(Debug, Args)]
pub(crate) struct NameArguments {
    /// The trigger
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    workspace: WorkspaceFlag,
    #[command(flatten)]
    client: ClientFlags,
}

/// What `trigger rotate-secret` is told.
#[derive(Debug, Args)]
pub(crate) struct RotateArguments {
    #[command(flatten)]
    trigger: NameArguments,
    #[command(flatten)]
    grace: GraceFlag,
}

/// What `trigger fire` is told.
#[derive(Debug, Args)]
pub(crate) struct FireArguments {
    #[command(flatten)]
    trigger: NameArguments,
    /// What the job is given beside what the trigger says, a JSON object
    #[arg(long, value_name = "JSON")]
    input: Option<String>,
    /// Makes a repetition of this command harmless
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
}

/// What `trigger firings` is told.
#[derive(Debug, Args)]
pub(crate) struct FiringsArguments {
    #[command(flatten)]
    trigger: NameArguments,
    /// With this outcome only: started, queued, skipped, failed
    #[arg(long)]
    outcome: Option<String>,
    /// At most so many
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=200))]
    limit: u32,
}

/// What `trigger preview` is told.
#[derive(Debug, Args)]
pub(crate) struct PreviewArguments {
    /// A cron expression, such as '30 2 * * *' or, with seconds first, '0 30 2 * * *'
    #[arg(value_name = "CRON")]
    cron: String,
    /// An IANA time zone, such as Europe/Berlin
    #[arg(long, default_value = "UTC", value_name = "ZONE")]
    time_zone: String,
    /// Firings after this moment, such as 2026-03-28T00:00:00Z; after now if not given
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// How many firings to show
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    count: u32,
    #[command(flatten)]
    workspace: WorkspaceFlag,
    #[command(flatten)]
    client: ClientFlags,
}

const TRIGGERS: [Column; 7] = [
    ("NAME", "name"),
    ("KIND", "kind"),
    ("WORKFLOW", "workflow_id"),
    ("ENABLED", "enabled"),
    ("NEXT", "next_at"),
    ("LAST ERROR", "last_error"),
    ("CHANGED", "updated_at"),
];

const FIRINGS: [Column; 6] = [
    ("AT", "at"),
    ("MEANT FOR", "scheduled_for"),
    ("OUTCOME", "outcome"),
    ("JOB", "job_id"),
    ("WHY", "reason"),
    ("KEY", "key"),
];

pub(crate) async fn run(global: Global, command: TriggerCommand) -> Result<Exit, Failure> {
    let outcome = dispatch(global, command).await.map_err(no_workflow);
    outcome.map_err(|failure| {
        failure.advising("trigger_not_found", "run `stepwell trigger list` to see the triggers")
    })
}

async fn dispatch(global: Global, command: TriggerCommand) -> Result<Exit, Failure> {
    match command {
        TriggerCommand::Put(arguments) => put(global, arguments).await,
        TriggerCommand::List(arguments) => list(global, arguments).await,
        TriggerCommand::Get(arguments) => {
            let path = path(&arguments)?;
            let (print, answer) = global.get(arguments.client, &segments(&path)).await?;
            print.answer(&answer, |answer| print.value(answer));
            Ok(Exit::Ok)
        }
        TriggerCommand::Enable(arguments) => switch(global, arguments, true).await,
        TriggerCommand::Disable(arguments) => switch(global, arguments, false).await,
        TriggerCommand::RotateSecret(arguments) => {
            let RotateArguments { trigger, grace } = arguments;
            rotate_secret(global, trigger.client.clone(), path(&trigger)?, &grace).await
        }
        TriggerCommand::Delete(arguments) => delete(global, arguments).await,
        TriggerCommand::Fire(arguments) => fire(global, arguments).await,
        TriggerCommand::Firings(arguments) => firings(global, arguments).await,
        TriggerCommand::Preview(arguments) => preview(global, arguments).await,
    }
}

/// The address of a trigger.
fn path(arguments: &NameArguments) -> Result<Vec<String>, Failure> {
    let workspace = arguments.workspace.name()?;
    let parts = ["v1", "workspaces", &workspace, "triggers", &arguments.name];
    Ok(parts.map(str::to_owned).to_vec())
}

fn segments(path: &[String]) -> Vec<&str> {
    path.iter().map(String::as_str).collect()
}

async fn put(global: Global, arguments: PutArguments) -> Result<Exit, Failure> {
    let PutArguments { file, workspace, client } = arguments;
    let document = read_text(&file)?;
    let (session, api) = global.connected(client)?;
    let path = ["v1", "workspaces", &workspace.name()?, "triggers"];
    let answer = api.post_yaml(&path, document).await.map_err(|failure| failure.in_file(&file))?;
    session.print.answer(&answer, |answer| {
        session.print.list(std::slice::from_ref(answer), &TRIGGERS);
        if let Some(secret) = answer["secret"].as_str() {
            session.print.note("the secret of its webhook, shown this once:");
            session.print.line(secret);
        }
    });
    Ok(Exit::Ok)
}

async fn list(global: Global, arguments: ListArguments) -> Result<Exit, Failure> {
    let ListArguments { workspace, client } = arguments;
    let name = workspace.name()?;
    let (print, answer) = global.get(client, &["v1", "workspaces", &name, "triggers"]).await?;
    print.answer(&answer, |answer| print.list(items(answer), &TRIGGERS));
    Ok(Exit::Ok)
}

async fn switch(global: Global, arguments: NameArguments, enabled: bool) -> Result<Exit, Failure> {
    let mut path = path(&arguments)?;
    let verb = if enabled { "enable" } else { "disable" };
    if let Some(name) = path.last_mut() {
        name.push_str(&format!(":{verb}"));
    }
    let (print, answer) = global.post(arguments.client, &segments(&path), &json!({})).await?;
    print.answer(&answer, |answer| print.list(std::slice::from_ref(answer), &TRIGGERS));
    Ok(Exit::Ok)
}

async fn delete(global: Global, arguments: NameArguments) -> Result<Exit, Failure> {
    let path = path(&arguments)?;
    let (session, api) = global.connected(arguments.client)?;
    api.delete(&segments(&path)).await?;
    let answer = json!({ "deleted": arguments.name });
    session.print.answer(&answer, |_| session.print.line(&format!("deleted {}", arguments.name)));
    Ok(Exit::Ok)
}

async fn fire(global: Global, arguments: FireArguments) -> Result<Exit, Failure> {
    let FireArguments { trigger, input, idempotency_key } = arguments;
    let mut path = path(&trigger)?;
    if let Some(name) = path.last_mut() {
        name.push_str(":fire");
    }
    let body = match input {
        Some(input) => json!({ "input": json_argument(&input, "--input")? }),
        None => json!({}),
    };
    let (session, api) = global.connected(trigger.client)?;
    let answer = api.post_once(&segments(&path), &body, idempotency_key.as_deref()).await?;
    session.print.answer(&answer, |answer| {
        session.print.list(std::slice::from_ref(answer), &FIRINGS);
    });
    Ok(Exit::Ok)
}

async fn firings(global: Global, arguments: FiringsArguments) -> Result<Exit, Failure> {
    let FiringsArguments { trigger, outcome, limit } = arguments;
    let mut path = path(&trigger)?;
    path.push("firings".to_owned());
    let limit = limit.to_string();
    let mut query = vec![("limit", limit.as_str())];
    query.extend(outcome.as_deref().map(|outcome| ("outcome", outcome)));
    let (session, api) = global.connected(trigger.client)?;
    let answer = api.get(&segments(&path), &query).await?;
    session.print.answer(&answer, |answer| session.print.list(items(answer), &FIRINGS));
    Ok(Exit::Ok)
}

async fn preview(global: Global, arguments: PreviewArguments) -> Result<Exit, Failure> {
    let PreviewArguments { cron, time_zone, from, count, workspace, client } = arguments;
    let name = workspace.name()?;
    let schedule = json!({ "cron": cron, "time_zone": time_zone });
    let body =
        super::token::without_null(json!({ "schedule": schedule, "from": from, "count": count }));
    let (print, answer) =
        global.post(client, &["v1", "workspaces", &name, "triggers:preview"], &body).await?;
    print.answer(&answer, |answer| {
        let local = format!("ON THE CLOCK OF {time_zone}");
        print.table([local.as_str(), "FIRES", ""], rows(answer));
    });
    Ok(Exit::Ok)
}

/// A row for each firing. Where clocks have changed since the one before it, the row says so.
fn rows(answer: &Value) -> Vec<Vec<String>> {
    let firings = answer["firings"].as_array().map_or(&[][..], Vec::as_slice);
    let mut before: Option<String> = None;
    let row = |firing: &Value| {
        let (clock, offset) = on_the_clock(firing["local"].as_str().unwrap_or_default());
        let change = before.replace(offset.clone()).filter(|before| *before != offset);
        let change = change.map(|before| format!("clocks have changed: {before} until now"));
        vec![format!("{clock} {offset}"), cell(firing, "at"), change.unwrap_or_default()]
    };
    firings.iter().map(row).collect()
}

/// What the clock of a place shows, with the day of the week; and how far it is from UTC.
fn on_the_clock(local: &str) -> (String, String) {
    let (clock, offset) =
        local.split_at_checked("2026-08-01T00:00:00".len()).unwrap_or((local, ""));
    let shown = clock.parse::<DateTime>().map(|it| it.strftime("%a %Y-%m-%d %H:%M:%S").to_string());
    (shown.unwrap_or_else(|_| clock.to_owned()), offset.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    // Who looks at a schedule sees where clocks change, and what it does then.
    #[test]
    fn a_preview_says_between_which_firings_clocks_have_changed() {
        let firing = |at: &str, local: &str| json!({ "at": at, "local": local });
        let answer = json!({ "firings": [
            firing("2026-03-28T01:30:00.000Z", "2026-03-28T02:30:00+01:00"),
            firing("2026-03-29T01:00:00.000Z", "2026-03-29T03:00:00+02:00"),
            firing("2026-03-30T00:30:00.000Z", "2026-03-30T02:30:00+02:00"),
        ]});
        let shown: Vec<_> =
            rows(&answer).into_iter().map(|row| (row[0].clone(), row[2].clone())).collect();
        let row = |clock: &str, change: &str| (clock.to_owned(), change.to_owned());
        assert_eq!(
            shown,
            [
                row("Sat 2026-03-28 02:30:00 +01:00", ""),
                row("Sun 2026-03-29 03:00:00 +02:00", "clocks have changed: +01:00 until now"),
                row("Mon 2026-03-30 02:30:00 +02:00", ""),
            ]
        );
    }
}
