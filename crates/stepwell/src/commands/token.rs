//! `stepwell token`: make, list and revoke access tokens.

use clap::Subcommand;
use clap::builder::PossibleValuesParser;
use serde_json::{Value, json};

use super::workflow::items;
use crate::config::ClientFlags;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print::Column;
use crate::session::Global;

/// What to do with tokens.
#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token; it is shown once and never again
    Create {
        /// What it is for, so that people know it in the list
        #[arg(long)]
        name: String,
        /// What it may do
        #[arg(long, value_parser = PossibleValuesParser::new(
            ["admin", "operator", "client", "viewer", "worker"]
        ))]
        role: String,
        /// The only tenant it may see; by default all
        #[arg(long)]
        tenant: Option<String>,
        /// After how many days it expires; by default 90
        #[arg(long, value_name = "DAYS")]
        expires_in_days: Option<u32>,
        #[command(flatten)]
        client: ClientFlags,
    },
    /// List tokens; the secrets themselves are not stored
    List {
        #[command(flatten)]
        client: ClientFlags,
    },
    /// Revoke a token; it is refused within seconds
    Revoke {
        /// Its id, the part between the underscores
        id: String,
        #[command(flatten)]
        client: ClientFlags,
    },
}

const COLUMNS: [Column; 7] = [
    ("ID", "id"),
    ("NAME", "name"),
    ("ROLE", "role"),
    ("TENANT", "tenant"),
    ("CREATED", "created_at"),
    ("EXPIRES", "expires_at"),
    ("REVOKED", "revoked_at"),
];

pub(crate) async fn run(global: Global, command: TokenCommand) -> Result<Exit, Failure> {
    match command {
        TokenCommand::Create { name, role, tenant, expires_in_days, client } => {
            let session = global.session(client.0)?;
            let mut body = json!({ "name": name, "role": role });
            body["tenant"] = tenant.map_or(Value::Null, Value::from);
            body["expires_in_days"] = expires_in_days.map_or(Value::Null, Value::from);
            let answer = session.api()?.post(&["v1", "tokens"], &without_null(body)).await?;
            session.print.answer(&answer, |answer| {
                session.print.note("The token, shown this once:");
                session.print.line(answer["token"].as_str().unwrap_or_default());
            });
        }
        TokenCommand::List { client } => {
            let session = global.session(client.0)?;
            let answer = session.api()?.get(&["v1", "tokens"], &[]).await?;
            session.print.answer(&answer, |answer| session.print.list(items(answer), &COLUMNS));
        }
        TokenCommand::Revoke { id, client } => {
            let session = global.session(client.0)?;
            let answer = session.api()?.delete(&["v1", "tokens", &id]).await;
            let answer = answer.map_err(|failure| {
                failure.suggesting(Exit::NotFound, "see `stepwell token list` for the ids")
            })?;
            session.print.answer(&answer, |_| session.print.line(&format!("revoked {id}")));
        }
    }
    Ok(Exit::Ok)
}

/// An object without the fields that have no value.
pub(super) fn without_null(mut object: Value) -> Value {
    if let Value::Object(fields) = &mut object {
        fields.retain(|_, value| !value.is_null());
    }
    object
}
