//! `stepwell automation`: whether batches of a runbook are made by themselves.

use clap::Subcommand;
use serde_json::{Value, json};

use super::advice::advised;
use super::runbook::NameArguments;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::print::{Column, Printer};
use crate::session::Global;

/// What to do about the automation of a runbook.
#[derive(Debug, Subcommand)]
pub(crate) enum AutomationCommand {
    /// Show whether batches of a runbook are made by themselves
    Status(NameArguments),
    /// Ask the data source of a runbook regularly, and make batches of what it returns
    ///
    /// See beforehand what that would be with `stepwell query preview`.
    Enable(NameArguments),
    /// Make no more batches of a runbook; those under way go on
    Disable(NameArguments),
}

const FIELDS: [Column; 6] = [
    ("runbook", "runbook_name"),
    ("automation", "automation"),
    ("enabled", "enabled_at"),
    ("enabled by", "enabled_by"),
    ("disabled", "disabled_at"),
    ("disabled by", "disabled_by"),
];

pub(crate) async fn run(global: Global, command: AutomationCommand) -> Result<Exit, Failure> {
    let (NameArguments { name, client }, switch) = match command {
        AutomationCommand::Status(arguments) => (arguments, None),
        AutomationCommand::Enable(arguments) => (arguments, Some(true)),
        AutomationCommand::Disable(arguments) => (arguments, Some(false)),
    };
    let (session, api) = global.connected(client)?;
    let path = ["api", "runbooks", &name, "automation"];
    let answer = match switch {
        None => api.get(&path, &[]).await,
        Some(enabled) => api.put(&path, &json!({ "enabled": enabled })).await,
    };
    show(session.print, &answer.map_err(advised)?);
    Ok(Exit::Ok)
}

fn show(print: Printer, answer: &Value) {
    print.answer(answer, |answer| {
        let mut answer = answer.clone();
        let is_on = answer["automation_enabled"] == true;
        answer["automation"] = if is_on { "on" } else { "off" }.into();
        print.object(&answer, &FIELDS);
    });
}
