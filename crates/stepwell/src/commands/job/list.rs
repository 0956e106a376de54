//! `stepwell job list`.

use clap::Args;
use serde_json::{Value, json};

use crate::commands::workflow::items;
use crate::commands::workspace::WorkspaceFlag;
use crate::config::ClientFlags;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print::Column;
use crate::session::Global;

/// What `job list` is told.
#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    #[command(flatten)]
    workspace: WorkspaceFlag,
    /// In one of these: QUEUED, IN_PROGRESS, CANCELLING, SUCCEEDED, FAILED_FINAL, CANCELLED; of a
    /// workspace pending, queued, running, completed, failed, dead, canceled
    #[arg(long, value_delimiter = ',', value_name = "STATUS")]
    status: Vec<String>,
    /// Of this workflow
    #[arg(long)]
    workflow: Option<String>,
    /// Asked for as this
    #[arg(long = "type", value_name = "REQUEST_TYPE")]
    request_type: Option<String>,
    /// With this correlation id
    #[arg(long, value_name = "ID")]
    correlation_id: Option<String>,
    /// Of this tenant
    #[arg(long)]
    tenant: Option<String>,
    /// Created at or after this moment, such as 2026-08-01T00:00:00Z
    #[arg(long, value_name = "TIME")]
    created_from: Option<String>,
    /// Created before this moment
    #[arg(long, value_name = "TIME")]
    created_until: Option<String>,
    /// At most so many
    #[arg(long, default_value_t = 50, value_name = "N")]
    limit: usize,
    #[command(flatten)]
    client: ClientFlags,
}

const COLUMNS: [Column; 6] = [
    ("JOB", "job_id"),
    ("STATUS", "status"),
    ("WORKFLOW", "protocol_id"),
    ("STEP", "current_step_id"),
    ("TENANT", "tenant_id"),
    ("CREATED", "created_at"),
];

const OF_A_WORKSPACE: [Column; 6] = [
    ("JOB", "job_id"),
    ("STATUS", "status"),
    ("WORKFLOW", "workflow_id"),
    ("TRIGGER", "trigger_type"),
    ("CREDITS", "credits_estimate"),
    ("CREATED", "created_at"),
];

/// The most that the server gives at once.
const PAGE_MAX: usize = 200;

pub(super) async fn run(global: Global, arguments: ListArguments) -> Result<Exit, Failure> {
    let ListArguments { limit, client, .. } = &arguments;
    let session = global.session(client.0.clone())?;
    let api = session.api()?;
    let workspace = arguments.workspace.given();
    let (mut jobs, mut cursor) = (Vec::<Value>::new(), None::<String>);
    while jobs.len() < *limit {
        let page = (limit - jobs.len()).min(PAGE_MAX).to_string();
        let statuses = arguments.statuses();
        let mut query = arguments.query()?;
        query.push(("limit", page.as_str()));
        if !statuses.is_empty() {
            query.push(("status", statuses.as_str()));
        }
        query.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
        let answer = match &workspace {
            Some(workspace) => api.get(&["v1", "workspaces", workspace, "jobs"], &query).await?,
            None => api.get(&["v1", "jobs"], &query).await?,
        };
        jobs.extend_from_slice(items(&answer));
        cursor = answer["next_cursor"].as_str().map(str::to_owned);
        if cursor.is_none() {
            break;
        }
    }
    let answer = json!({ "items": jobs, "next_cursor": cursor });
    session.print.answer(&answer, |_| {
        let columns = if workspace.is_some() { &OF_A_WORKSPACE } else { &COLUMNS };
        session.print.list(&jobs, columns);
        if cursor.is_some() {
            session.print.note(&format!("there are more; these are the newest {limit} (--limit)"));
        }
    });
    Ok(Exit::Ok)
}

impl ListArguments {
    /// Statuses as the list that is asked writes them.
    fn statuses(&self) -> String {
        let statuses = self.status.join(",");
        if self.workspace.given().is_some() {
            statuses.to_lowercase()
        } else {
            statuses.to_uppercase()
        }
    }

    /// The filters as the list that is asked calls them.
    fn query(&self) -> Result<Vec<(&'static str, &str)>, Failure> {
        let of_a_workspace = self.workspace.given().is_some();
        let elsewhere = [
            ("request_type", "--type", &self.request_type),
            ("correlation_id", "--correlation-id", &self.correlation_id),
            ("tenant", "--tenant", &self.tenant),
        ];
        if let Some((_, flag, _)) = elsewhere.iter().find(|it| of_a_workspace && it.2.is_some()) {
            let message = format!("{flag} is not known of jobs of a workspace");
            return Err(Failure::usage(message)
                .next("leave it out, or do without --workspace and STEPWELL_WORKSPACE"));
        }
        let fields = [
            (if of_a_workspace { "workflow_id" } else { "workflow" }, &self.workflow),
            ("created_from", &self.created_from),
            ("created_until", &self.created_until),
        ];
        let fields = fields.into_iter().chain(elsewhere.map(|(key, _, value)| (key, value)));
        Ok(fields.filter_map(|(key, value)| Some((key, value.as_deref()?))).collect())
    }
}
