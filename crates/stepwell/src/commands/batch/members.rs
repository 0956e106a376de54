//! `stepwell batch members`, `remove-member`.

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::pages::by_place;
use crate::commands::workflow::items;
use crate::config::ClientFlags;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print::{Column, cell};
use crate::session::Global;

/// What `batch members` is told.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  stepwell batch members 7 --status failed")]
pub(crate) struct ListArguments {
    /// Number of the batch
    #[arg(value_name = "BATCH")]
    batch: u64,
    /// In one of these
    #[arg(long, value_delimiter = ',', value_name = "STATUS",
        value_parser = PossibleValuesParser::new(["active", "removed", "failed"]))]
    status: Vec<String>,
    /// With this key
    #[arg(long)]
    key: Option<String>,
    /// At most so many
    #[arg(long, default_value_t = 50, value_name = "N")]
    limit: usize,
    #[command(flatten)]
    client: ClientFlags,
}

/// What `batch remove-member` is told.
#[derive(Debug, Args)]
pub(crate) struct RemoveArguments {
    /// Number of the batch
    #[arg(value_name = "BATCH")]
    batch: u64,
    /// Number of the member
    #[arg(value_name = "MEMBER")]
    member: u64,
    #[command(flatten)]
    client: ClientFlags,
}

const COLUMNS: [Column; 7] = [
    ("MEMBER", "id"),
    ("KEY", "member_key"),
    ("STATUS", "status"),
    ("RUN", "run_status"),
    ("STEP", "current_step"),
    ("ADDED", "added_at"),
    ("ERROR", "error.message"),
];

pub(super) async fn list(global: Global, arguments: ListArguments) -> Result<Exit, Failure> {
    let ListArguments { batch, status, key, limit, client } = arguments;
    let (session, api) = global.connected(client)?;
    let mut filters: Vec<_> = status.iter().map(|status| ("status", status.as_str())).collect();
    filters.extend(key.as_deref().map(|key| ("key", key)));
    let path = ["api", "batches", &batch.to_string(), "members"];
    let answer = by_place(&api, &path, &filters, limit).await?;
    let print = session.print;
    print.answer(&answer, |answer| {
        let members = items(answer);
        print.list(members, &COLUMNS);
        if answer["total"].as_u64() > u64::try_from(members.len()).ok() {
            print.note(&format!("the first {limit} of {} (--limit)", cell(answer, "total")));
        }
    });
    Ok(Exit::Ok)
}

pub(super) async fn remove(global: Global, arguments: RemoveArguments) -> Result<Exit, Failure> {
    let RemoveArguments { batch, member, client } = arguments;
    let (session, api) = global.connected(client)?;
    let path = ["api", "batches", &batch.to_string(), "members", &member.to_string()];
    let answer = api.delete(&path).await?;
    let print = session.print;
    print.answer(&answer, |member| {
        let (id, key) = (cell(member, "id"), cell(member, "member_key"));
        print.line(&format!("member {id} ({key}): {}", cell(member, "status")));
    });
    Ok(Exit::Ok)
}
