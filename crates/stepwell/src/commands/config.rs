//! `stepwell config`: what the settings are, who said so, and how to say otherwise.

use clap::Subcommand;
use serde_json::{Map, Value, json};
use stepwell_core::template::near;

use crate::config::{AllFlags, Given, SETTINGS, Setting, Surroundings, set};
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
    /// Write a setting into the configuration file
    ///
    /// The rest of the file stays as it is. A file that is made for it can be read by nobody else.
    #[command(after_help = "Example:\n  stepwell config set server https://stepwell.example.com")]
    Set {
        /// Name of the setting
        #[arg(value_name = "SETTING")]
        key: String,
        /// Its value; lists with commas between
        value: String,
    },
    /// Print where the configuration file is, or would be
    Path,
}

pub(crate) fn run(global: Global, command: ConfigCommand) -> Result<Exit, Failure> {
    match command {
        ConfigCommand::Show(flags) => show(global, flags),
        ConfigCommand::Set { key, value } => change(global, &key, &value),
        ConfigCommand::Path => {
            let path = Surroundings::of_process().file_path(global.file.as_deref());
            let print = global.session(Given::default())?.print;
            let answer = json!({ "path": path.display().to_string(), "exists": path.is_file() });
            print.answer(&answer, |_| print.line(&path.display().to_string()));
            Ok(Exit::Ok)
        }
    }
}

fn show(global: Global, flags: AllFlags) -> Result<Exit, Failure> {
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

fn change(global: Global, key: &str, value: &str) -> Result<Exit, Failure> {
    let setting = Setting::meant(key).ok_or_else(|| unknown(key))?;
    let path = Surroundings::of_process().file_path(global.file.as_deref());
    set(&path, setting, value)?;
    // Only what can be read again is worth having been written.
    let print = global.session(Given::default())?.print;
    let shown = setting.shown(value);
    let answer =
        json!({ "setting": setting.key, "value": shown, "path": path.display().to_string() });
    print.answer(&answer, |_| {
        print.line(&format!("{} = {shown} in {}", setting.key, path.display()))
    });
    Ok(Exit::Ok)
}

fn unknown(key: &str) -> Failure {
    let failure = Failure::usage(format!("there is no setting {key:?}"));
    let plain = key.replace('-', "_");
    match near(&plain, SETTINGS.iter().map(|setting| setting.key)) {
        Some(near) => failure.next(format!("did you mean {near:?}?")),
        None => failure.next("see `stepwell config show` for all settings"),
    }
}
