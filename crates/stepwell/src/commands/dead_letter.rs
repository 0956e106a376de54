//! `stepwell dead-letter`: see what was given up, and replay or discard it.

use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

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
        /// All that the filter finds
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
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
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
    /// Of this workflow
    #[arg(long)]
    workflow: Option<String>,
}

const COLUMNS: [Column; 7] = [
    ("ID", "id"),
    ("JOB", "job_id"),
    ("WORKFLOW", "protocol_id"),
    ("STEP", "step_id"),
    ("REASON", "reason"),
    ("ERROR", "error.message"),
    ("GIVEN UP", "at"),
];

impl Filter {
    fn pairs(&self) -> Vec<(&'static str, &str)> {
        let fields = [("tenant", &self.tenant), ("workflow", &self.workflow)];
        fields.into_iter().filter_map(|(key, value)| Some((key, value.as_deref()?))).collect()
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
            session.print.answer(&answer, |answer| session.print.list(items(answer), &COLUMNS));
            Ok(Exit::Ok)
        }
        DeadLetterCommand::Show { id, client } => {
            let session = global.session(client.0)?;
            let answer = session.api()?.get(&["v1", "dead-letters", &id], &[]).await;
            let answer = answer.map_err(missing)?;
            session.print.answer(&answer, |answer| {
                session.print.list(std::slice::from_ref(answer), &COLUMNS);
                if let Some(order) = answer["message"].as_str() {
                    session.print.line(order);
                }
            });
            Ok(Exit::Ok)
        }
        DeadLetterCommand::Replay { ids, all: true, filter, client } => {
            debug_assert!(ids.is_empty(), "clap lets only one of both pass");
            let body = filter.pairs().into_iter().map(|(key, value)| (key, Value::from(value)));
            let body: Map<_, _> = body.map(|(key, value)| (key.to_owned(), value)).collect();
            let session = global.session(client.0)?;
            let path = ["v1", "dead-letters:replay"];
            let answer = session.api()?.post(&path, &Value::Object(body)).await?;
            let columns = [("ID", "id"), ("NEW JOB", "jobId"), ("PROBLEM", "problem.detail")];
            session.print.answer(&answer, |answer| session.print.list(items(answer), &columns));
            Ok(Exit::Ok)
        }
        DeadLetterCommand::Replay { ids, all: false, filter: _, client } => {
            each(global, client, &ids, "replay", &json!({})).await
        }
        DeadLetterCommand::Discard { ids, reason, client } => {
            each(global, client, &ids, "discard", &json!({ "reason": reason })).await
        }
    }
}

/// A dead letter that is not there can be looked for.
fn missing(failure: Failure) -> Failure {
    failure.suggesting(Exit::NotFound, "see `stepwell dead-letter list` for the ids")
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
