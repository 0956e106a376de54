//! How the secret of a webhook is replaced, whether the server receives or sends.

use clap::Args;
use serde_json::json;

use crate::config::ClientFlags;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::session::Global;

/// How long the old secret stays valid.
#[derive(Debug, Args)]
pub(crate) struct GraceFlag {
    /// How long the old secret stays valid beside the new one; 0s ends every older one at once
    #[arg(long, default_value = "24h", value_name = "DURATION")]
    grace: String,
}

/// Replaces the secret of what has this address, and shows the new one, this once.
pub(super) async fn rotate_secret(
    global: Global,
    client: ClientFlags,
    mut path: Vec<String>,
    grace: &GraceFlag,
) -> Result<Exit, Failure> {
    if let Some(name) = path.last_mut() {
        name.push_str(":rotate-secret");
    }
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    let (print, answer) = global.post(client, &path, &json!({ "grace": grace.grace })).await?;
    print.answer(&answer, |answer| {
        print.note("the new secret, shown this once:");
        print.line(answer["secret"].as_str().unwrap_or_default());
        print.note(&match answer["previous_valid_until"].as_str() {
            Some(until) => format!("the old one stays valid until {until}"),
            None => "the old one is valid no more".to_owned(),
        });
    });
    Ok(Exit::Ok)
}
