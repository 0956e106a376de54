//! `stepwell batch steps`.

use clap::Args;

use super::pages::by_cursor;
use crate::commands::workflow::items;
use crate::config::ClientFlags;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print::Column;
use crate::session::Global;

/// What `batch steps` is told.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  stepwell batch steps 7 --phase cutover --status failed,poll_timeout"
)]
pub(crate) struct StepsArguments {
    /// Number of the batch
    #[arg(value_name = "BATCH")]
    batch: u64,
    /// Of this member
    #[arg(long, value_name = "MEMBER")]
    member: Option<u64>,
    /// Of this phase
    #[arg(long)]
    phase: Option<String>,
    /// In one of these: pending, dispatched, polling, succeeded, failed, poll_timeout, cancelled …
    #[arg(long, value_delimiter = ',', value_name = "STATUS")]
    status: Vec<String>,
    /// Only steps of init, or only the others
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    init: Option<bool>,
    /// At most so many
    #[arg(long, default_value_t = 50, value_name = "N")]
    limit: usize,
    #[command(flatten)]
    client: ClientFlags,
}

const COLUMNS: [Column; 9] = [
    ("STEP", "id"),
    ("MEMBER", "member_key"),
    ("PHASE", "phase_name"),
    ("NAME", "step_name"),
    ("STATUS", "status"),
    ("POOL", "worker_id"),
    ("JOB", "job_id"),
    ("RETRIES", "retry_count"),
    ("ERROR", "error_message"),
];

pub(super) async fn run(global: Global, arguments: StepsArguments) -> Result<Exit, Failure> {
    let StepsArguments { batch, member, phase, status, init, limit, client } = arguments;
    let (session, api) = global.connected(client)?;
    let (member, init) = (member.map(|it| it.to_string()), init.map(|it| it.to_string()));
    let single = [("member_id", &member), ("phase", &phase), ("init", &init)];
    let single = single.into_iter().filter_map(|(key, value)| Some((key, value.as_deref()?)));
    let filters: Vec<_> =
        status.iter().map(|status| ("status", status.as_str())).chain(single).collect();
    let path = ["api", "batches", &batch.to_string(), "steps"];
    let answer = by_cursor(&api, &path, &filters, limit).await?;
    let print = session.print;
    print.answer(&answer, |answer| {
        print.list(items(answer), &COLUMNS);
        if !answer["next"].is_null() {
            print.note(&format!("there are more; these are the first {limit} (--limit)"));
        }
    });
    Ok(Exit::Ok)
}
