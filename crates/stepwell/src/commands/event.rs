//! `stepwell event`: what happened, as others are told of it.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::secret::{GraceFlag, rotate_secret};
use super::token::without_null;
use super::workflow::items;
use crate::config::ClientFlags;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print::{Column, cell};
use crate::session::Global;

/// What to do about events.
#[derive(Debug, Subcommand)]
pub(crate) enum EventCommand {
    /// Follow events as they happen, one line each; Ctrl-C ends it
    Watch(WatchArguments),
    /// Tell an address of events from now on, over a signed webhook
    Subscribe(SubscribeArguments),
    /// List the addresses that are told
    Subscriptions(ClientFlags),
    /// Send a test event to an address that is told
    Test(IdArguments),
    /// Give an address that is told a new secret; the old one stays valid for a while
    RotateSecret(RotateArguments),
    /// Tell an address nothing more
    Unsubscribe(IdArguments),
}

/// Which events.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// Of this workspace or tenant
    #[arg(long, value_name = "ID")]
    tenant: Option<String>,
    /// Of these dialects: runbooks, platform, workspaces, commands
    #[arg(long, value_delimiter = ',', value_name = "DIALECT")]
    dialect: Vec<String>,
    /// Of these kinds: workflow_run_queued, workflow_run_started, workflow_run_step_completed,
    /// workflow_run_attempt_failed, workflow_run_completed, dead_letter.created
    #[arg(long, value_delimiter = ',', value_name = "KIND")]
    kind: Vec<String>,
}

/// What `event watch` is told.
#[derive(Debug, Args)]
pub(crate) struct WatchArguments {
    #[command(flatten)]
    which: Which,
    /// Of this job
    #[arg(long, value_name = "JOB")]
    job: Option<String>,
    /// From after this event on, by the number that a line begins with; 0 for all that are kept; without
    /// it, from now on
    #[arg(long, value_name = "EVENT")]
    after: Option<String>,
    #[command(flatten)]
    client: ClientFlags,
}

/// What `event subscribe` is told.
#[derive(Debug, Args)]
pub(crate) struct SubscribeArguments {
    /// Where to; it must be one the server may call
    #[arg(value_name = "URL")]
    url: String,
    #[command(flatten)]
    which: Which,
    /// For people
    #[arg(long)]
    description: Option<String>,
    #[command(flatten)]
    client: ClientFlags,
}

/// Names a subscription.
#[derive(Debug, Args)]
pub(crate) struct IdArguments {
    /// The subscription
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    client: ClientFlags,
}

/// What `event rotate-secret` is told.
#[derive(Debug, Args)]
pub(crate) struct RotateArguments {
    #[command(flatten)]
    subscription: IdArguments,
    #[command(flatten)]
    grace: GraceFlag,
}

const SUBSCRIPTIONS: [Column; 6] = [
    ("ID", "id"),
    ("URL", "url"),
    ("TENANT", "tenant"),
    ("KINDS", "kinds"),
    ("DESCRIPTION", "description"),
    ("MADE", "created_at"),
];

pub(crate) async fn run(global: Global, command: EventCommand) -> Result<Exit, Failure> {
    let outcome = dispatch(global, command).await;
    outcome.map_err(|failure| {
        failure.suggesting(Exit::NotFound, "run `stepwell event subscriptions` to see the ids")
    })
}

async fn dispatch(global: Global, command: EventCommand) -> Result<Exit, Failure> {
    match command {
        EventCommand::Watch(arguments) => watch(global, arguments).await,
        EventCommand::Subscribe(arguments) => subscribe(global, arguments).await,
        EventCommand::Subscriptions(client) => {
            let (print, answer) = global.get(client, &["v1", "subscriptions"]).await?;
            print.answer(&answer, |answer| print.list(items(answer), &SUBSCRIPTIONS));
            Ok(Exit::Ok)
        }
        EventCommand::Test(IdArguments { id, client }) => {
            let path = ["v1", "subscriptions", &format!("{id}:test")];
            let (print, answer) = global.post(client, &path, &json!({})).await?;
            print.answer(&answer, |_| print.line(&format!("a test event is on its way to {id}")));
            Ok(Exit::Ok)
        }
        EventCommand::RotateSecret(RotateArguments { subscription, grace }) => {
            let IdArguments { id, client } = subscription;
            let path = ["v1", "subscriptions", &id].map(str::to_owned).to_vec();
            rotate_secret(global, client, path, &grace).await
        }
        EventCommand::Unsubscribe(IdArguments { id, client }) => {
            let (session, api) = global.connected(client)?;
            api.delete(&["v1", "subscriptions", &id]).await?;
            let answer = json!({ "deleted": id });
            session.print.answer(&answer, |_| session.print.line(&format!("deleted {id}")));
            Ok(Exit::Ok)
        }
    }
}

async fn subscribe(global: Global, arguments: SubscribeArguments) -> Result<Exit, Failure> {
    let SubscribeArguments { url, which, description, client } = arguments;
    let body = without_null(json!({
        "url": url,
        "tenant": which.tenant,
        "dialects": which.dialect,
        "kinds": which.kind,
        "description": description,
    }));
    let (print, answer) = global.post(client, &["v1", "subscriptions"], &body).await?;
    print.answer(&answer, |answer| {
        print.list(std::slice::from_ref(answer), &SUBSCRIPTIONS);
    });
    Ok(Exit::Ok)
}

/// Follows the log. A stream that breaks off is taken up again after the last event that was told.
async fn watch(global: Global, arguments: WatchArguments) -> Result<Exit, Failure> {
    let WatchArguments { which, job, mut after, client } = arguments;
    let (session, api) = global.connected(client)?;
    let (dialects, kinds) = (which.dialect.join(","), which.kind.join(","));
    let fields = [
        ("tenant", which.tenant.as_deref()),
        ("dialect", Some(dialects.as_str()).filter(|text| !text.is_empty())),
        ("kind", Some(kinds.as_str()).filter(|text| !text.is_empty())),
        ("job_id", job.as_deref()),
    ];
    let query: Vec<(&str, &str)> =
        fields.into_iter().filter_map(|(key, value)| Some((key, value?))).collect();
    loop {
        let mut events = api.events_again(&["v1", "events"], &query, after.as_deref()).await?;
        while let Ok(Some(event)) = events.next().await {
            let data: Value = serde_json::from_str(&event.data).unwrap_or_default();
            if session.print.is_json() {
                session.print.json_line(&json!({ "id": event.id, "event": data }));
            } else {
                let (at, subject) = (cell(&data, "time"), cell(&data, "subject"));
                session.print.line(&format!("{}  {at}  {}  {subject}", event.id, event.name));
            }
            if !event.id.is_empty() {
                after = Some(event.id);
            }
        }
    }
}
