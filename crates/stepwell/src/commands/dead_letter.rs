//! `stepwell dead-letter`: see what was given up, and replay or discard it.

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use super::token::without_null;
use super::workflow::items;
use crate::config::ClientFlags;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print::Column;
use crate::session::Global;

/// What to do with dead letters.
#[derive(Debug, Subcommand)]
pub(crate) enum DeadLetterCommand {
    /// List what was given up, newest first
    List {
        #[command(flatten)]
        filter: Filter,
        /// Also what was replayed or discarded before
        #[arg(long)]
        settled: bool,
        /// At most so many, 200 at once
        #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=200))]
        limit: u32,
        #[command(flatten)]
        client: ClientFlags,
    },
    /// Show one, with the order if it is one that never became a job
    Show {
        /// Id of the dead letter
        id: String,
        #[command(flatten)]
        client: ClientFlags,
    },
    /// Replay: a new job takes over the finished steps and goes on from there, or does what an order asked
    Replay {
        /// Ids of dead letters
        #[arg(required_unless_present = "all", conflicts_with = "all", value_name = "ID")]
        ids: Vec<String>,
        /// All that the filter finds; without a filter, all there are
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        filter: Filter,
        #[command(flatten)]
        client: ClientFlags,
    },
    /// Discard: note that nothing is to be done
    Discard {
        /// Ids of dead letters
        #[arg(required_unless_present = "all", conflicts_with = "all", value_name = "ID")]
        ids: Vec<String>,
        /// All that the filter finds; without a filter, all there are
        #[arg(long)]
        all: bool,
        #[command(flatten)]
        filter: Filter,
        /// Why, for those who come later
        #[arg(long)]
        reason: String,
        #[command(flatten)]
        client: ClientFlags,
    },
}

/// Which dead letters.
#[derive(Debug, Args)]
pub(crate) struct Filter {
    /// Of this tenant
    #[arg(long)]
    tenant: Option<String>,
    /// Of this dialect: runbooks, platform, workspaces, commands
    #[arg(long)]
    dialect: Option<String>,
    /// Of this workflow
    #[arg(long)]
    workflow: Option<String>,
    /// Given up for this reason, such as run_failed or webhook_undelivered
    #[arg(long, value_name = "REASON")]
    given_up_for: Option<String>,
    /// Whose last error has this code
    #[arg(long, value_name = "CODE")]
    error_code: Option<String>,
    /// Given up at or after this moment, such as 2026-08-01T00:00:00Z
    #[arg(long, value_name = "TIME")]
    from: Option<String>,
    /// Given up before this moment
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
}

/// The last columns, of those that were replayed or discarded.
const SETTLED: usize = 3;

static COLUMNS: [Column; 10] = [
    ("ID", "id"),
    ("JOB", "job_id"),
    ("WORKFLOW", "protocol_id"),
    ("STEP", "step_id"),
    ("REASON", "reason"),
    ("ERROR", "error.message"),
    ("GIVEN UP", "at"),
    ("SETTLED", "settlement.at"),
    ("NEW JOB", "settlement.replayed_as"),
    ("WHY", "settlement.reason"),
];

/// What is told of dead letters, with what became of them if they may be settled.
fn columns(settled: bool) -> &'static [Column] {
    if settled { &COLUMNS } else { &COLUMNS[..COLUMNS.len() - SETTLED] }
}

impl Filter {
    fn pairs(&self) -> Vec<(&'static str, &str)> {
        let fields = [
            ("tenant", &self.tenant),
            ("dialect", &self.dialect),
            ("workflow", &self.workflow),
            ("reason", &self.given_up_for),
            ("error_code", &self.error_code),
            ("from", &self.from),
            ("until", &self.until),
        ];
        fields.into_iter().filter_map(|(key, value)| Some((key, value.as_deref()?))).collect()
    }

    /// Whoever names ids means these, whatever else is said of them.
    fn is_for_all(&self) -> Result<(), Failure> {
        if self.pairs().is_empty() {
            return Ok(());
        }
        let failure = Failure::usage("ids were named, and a filter too");
        Err(failure.next("leave the filter out, or name no ids and say --all"))
    }
}

pub(crate) async fn run(global: Global, command: DeadLetterCommand) -> Result<Exit, Failure> {
    match command {
        DeadLetterCommand::List { filter, settled, limit, client } => {
            let session = global.session(client.0)?;
            let limit = limit.to_string();
            let mut query = filter.pairs();
            query.extend([
                ("limit", limit.as_str()),
                ("settled", if settled { "true" } else { "false" }),
            ]);
            let answer = session.api()?.get(&["v1", "dead-letters"], &query).await?;
            session.print.answer(&answer, |answer| {
                session.print.list(items(answer), columns(settled));
            });
            Ok(Exit::Ok)
        }
        DeadLetterCommand::Show { id, client } => {
            let session = global.session(client.0)?;
            let answer = session.api()?.get(&["v1", "dead-letters", &id], &[]).await;
            let answer = answer.map_err(missing)?;
            session.print.answer(&answer, |answer| {
                let columns = columns(!answer["settlement"].is_null());
                session.print.list(std::slice::from_ref(answer), columns);
                if let Some(order) = answer["message"].as_str() {
                    session.print.line(order);
                }
            });
            Ok(Exit::Ok)
        }
        DeadLetterCommand::Replay { ids: _, all: true, filter, client } => {
            all_of(global, client, &filter, "replay", None).await
        }
        DeadLetterCommand::Replay { ids, all: false, filter, client } => {
            filter.is_for_all()?;
            each(global, client, &ids, "replay", &json!({})).await
        }
        DeadLetterCommand::Discard { ids: _, all: true, filter, reason, client } => {
            all_of(global, client, &filter, "discard", Some(reason)).await
        }
        DeadLetterCommand::Discard { ids, all: false, filter, reason, client } => {
            filter.is_for_all()?;
            each(global, client, &ids, "discard", &json!({ "reason": reason })).await
        }
    }
}

/// All that a filter finds, page by page; one line for each.
async fn all_of(
    global: Global,
    client: ClientFlags,
    filter: &Filter,
    verb: &str,
    why: Option<String>,
) -> Result<Exit, Failure> {
    let filter = filter.pairs().into_iter().map(|(key, value)| (key.to_owned(), json!(value)));
    let filter: Map<String, Value> = filter.collect();
    let path = ["v1", &format!("dead-letters:{verb}")];
    let (session, api) = global.connected(client)?;
    let mut results: Vec<Value> = Vec::new();
    let broken_off = loop {
        let before = results.last().map(|result| result["id"].clone());
        let body = json!({ "filter": filter, "reason": why, "limit": PAGE, "before": before });
        let page = match api.post(&path, &without_null(body)).await {
            Ok(answer) => items(&answer).to_vec(),
            Err(failure) => break Some(failure),
        };
        let is_last = page.len() < PAGE;
        results.extend(page);
        if is_last {
            break None;
        }
    };
    let columns =
        [("ID", "id"), ("DONE", "status"), ("NEW JOB", "jobId"), ("PROBLEM", "problem.detail")];
    // What was done before it broke off was done.
    session.print.answer(&json!({ "items": results }), |_| session.print.list(&results, &columns));
    let is_refused = results.iter().any(|result| !result["problem"].is_null());
    broken_off.map_or(Ok(if is_refused { Exit::Refused } else { Exit::Ok }), Err)
}

/// The most that the server does at once.
const PAGE: usize = 200;

/// A dead letter that is not there, or not to be done any more, can be looked for.
fn missing(failure: Failure) -> Failure {
    let became = "see `stepwell dead-letter list --settled` for what became of it";
    failure
        .suggesting(Exit::NotFound, "see `stepwell dead-letter list` for the ids")
        .advising("dead_letter_settled", became)
}

async fn each(
    global: Global,
    client: ClientFlags,
    ids: &[String],
    verb: &str,
    body: &Value,
) -> Result<Exit, Failure> {
    let session = global.session(client.0)?;
    let api = session.api()?;
    for id in ids {
        let answer = api.post(&["v1", "dead-letters", &format!("{id}:{verb}")], body).await;
        let answer = answer.map_err(missing)?;
        session.print.answer(&answer, |answer| match answer["jobId"].as_str() {
            Some(job) => session.print.line(&format!("{verb} {id}: job {job}")),
            None => session.print.line(&format!("{verb} {id}: done")),
        });
    }
    Ok(Exit::Ok)
}
