//! `stepwell config`: what the settings are, and who said so.

use clap::Subcommand;
use serde_json::{Map, Value, json};

use crate::config::AllFlags;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::session::Global;

/// What to do about the configuration.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show every setting with its value and where that comes from
    ///
    /// A flag goes before an environment variable, that before stepwell.toml, and that before the
    /// default. Give the flags you would give to `serve` to see what they change.
    Show(AllFlags),
}

pub(crate) fn run(global: Global, command: ConfigCommand) -> Result<Exit, Failure> {
    let ConfigCommand::Show(flags) = command;
    let session = global.session(flags.0)?;
    let shown = session.config.iter().map(|(setting, value)| {
        let text = value.text.as_deref().map(|text| setting.shown(text));
        (setting.key, text, value.origin.to_string())
    });
    if session.print.is_json() {
        let entry = |(key, value, origin): (&str, Option<String>, String)| {
            (key.to_owned(), json!({ "value": value, "origin": origin }))
        };
        session.print.value(&Value::Object(shown.map(entry).collect::<Map<_, _>>()));
    } else {
        let rows = shown
            .map(|(key, value, origin)| vec![key.to_owned(), value.unwrap_or_default(), origin]);
        session.print.table(["SETTING", "VALUE", "FROM"], rows);
    }
    Ok(Exit::Ok)
}
