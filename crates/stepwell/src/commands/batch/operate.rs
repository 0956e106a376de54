//! `stepwell batch operate`: one thing done to many, with a result for each.

use clap::Args;
use clap::builder::PossibleValuesParser;
use serde_json::{Map, Value, json};

use crate::client::Api;
use crate::commands::workflow::items;
use crate::config::ClientFlags;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print::{Column, Printer};
use crate::session::Global;

/// More items than this are not changed by a slip of the pen.
const UNASKED_MAX: usize = 50;

/// What `batch operate` is told.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    stepwell batch operate 7 retry --member-status failed --reason 'quota was raised' --dry-run\n  \
    stepwell batch operate 7 skip --phase announce --step tell-user --key a@example.com \
    --reason 'told by phone'\n  \
    stepwell batch operate 7 mark-done --member 311 --step move-mailbox --result '{\"UserId\": 9}' \
    --reason 'moved by hand'\n\n\
    Filters narrow each other. The exit code is 4 if anything was refused.")]
pub(crate) struct OperateArguments {
    /// Number of the batch
    #[arg(value_name = "BATCH")]
    batch: u64,
    /// What to do to each
    #[arg(value_name = "OPERATION", value_parser = PossibleValuesParser::new(
        ["retry", "skip", "mark-done", "rollback", "cancel", "remove"]
    ))]
    operation: String,
    /// To these members, by number
    #[arg(long, value_delimiter = ',', value_name = "MEMBER")]
    member: Vec<u64>,
    /// To members with these keys; may be given several times
    #[arg(long, value_name = "KEY")]
    key: Vec<String>,
    /// To members in one of these
    #[arg(long, value_delimiter = ',', value_name = "STATUS",
        value_parser = PossibleValuesParser::new(["active", "removed", "failed"]))]
    member_status: Vec<String>,
    /// To steps of this phase
    #[arg(long)]
    phase: Option<String>,
    /// To steps of this name
    #[arg(long)]
    step: Option<String>,
    /// To steps in one of these, such as failed,poll_timeout
    #[arg(long, value_delimiter = ',', value_name = "STATUS")]
    step_status: Vec<String>,
    /// Why, for those who come later
    #[arg(long)]
    reason: String,
    /// For mark-done: what the step produced, as JSON
    #[arg(long, value_name = "JSON")]
    result: Option<String>,
    /// At most so many
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Only show what would be done
    #[arg(long)]
    dry_run: bool,
    /// Do it to more than 50 without being asked
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    client: ClientFlags,
}

const COLUMNS: [Column; 6] = [
    ("MEMBER", "member_id"),
    ("KEY", "member_key"),
    ("STEP", "step_id"),
    ("OUTCOME", "outcome"),
    ("CODE", "code"),
    ("WHY", "message"),
];

pub(super) async fn run(global: Global, arguments: OperateArguments) -> Result<Exit, Failure> {
    let order = arguments.order()?;
    let OperateArguments { batch, dry_run, yes, client, .. } = arguments;
    let (session, api) = global.connected(client)?;
    let batch = batch.to_string();
    if !dry_run && !yes {
        check_width(&ask(&api, &batch, &order, true).await?)?;
    }
    let answer = ask(&api, &batch, &order, dry_run).await?;
    session.print.answer(&answer, |answer| show(session.print, answer));
    Ok(if count(&answer, "refused") > 0 { Exit::Refused } else { Exit::Ok })
}

async fn ask(api: &Api, batch: &str, order: &Value, dry_run: bool) -> Result<Value, Failure> {
    let mut order = order.clone();
    order["dry_run"] = dry_run.into();
    api.post(&["api", "batches", batch, "operate"], &order).await
}

/// Nobody changes many things without having said so.
fn check_width(preview: &Value) -> Result<(), Failure> {
    let items = count(preview, "would");
    if items <= UNASKED_MAX {
        return Ok(());
    }
    let what = format!("this would be done to {items} items; nothing was done");
    Err(Failure::new(Exit::Refused, "needs_yes", what)
        .next("look at them with --dry-run, then say --yes or narrow the filter"))
}

fn count(answer: &Value, outcome: &str) -> usize {
    items(&answer["results"]).iter().filter(|result| result["outcome"] == outcome).count()
}

fn show(print: Printer, answer: &Value) {
    print.list(items(&answer["results"]), &COLUMNS);
    let told = ["done", "would", "refused"].map(|outcome| (outcome, count(answer, outcome)));
    let told = told.iter().filter(|(_, count)| *count > 0);
    let told: Vec<String> = told.map(|(outcome, count)| format!("{count} {outcome}")).collect();
    print.note(&if told.is_empty() { "nothing matched".to_owned() } else { told.join(", ") });
}

impl OperateArguments {
    fn order(&self) -> Result<Value, Failure> {
        let result: Option<Value> = self
            .result
            .as_deref()
            .map(serde_json::from_str)
            .transpose()
            .map_err(|error| Failure::invalid(format!("--result is not JSON: {error}")))?;
        let mut filter = Map::new();
        let fields = [
            ("members", json!(self.member)),
            ("keys", json!(self.key)),
            ("member_status", json!(self.member_status)),
            ("phase", json!(self.phase)),
            ("step", json!(self.step)),
            ("step_status", json!(self.step_status)),
        ];
        for (name, value) in fields {
            if !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty()) {
                filter.insert(name.to_owned(), value);
            }
        }
        let mut order = json!({
            "operation": self.operation.replace('-', "_"),
            "filter": filter,
            "reason": self.reason,
        });
        if let Some(result) = result {
            order["result"] = result;
        }
        if let Some(limit) = self.limit {
            order["limit"] = limit.into();
        }
        Ok(order)
    }
}
