//! A trigger as it is stored and shown: its document with every default spelled out.

use serde_json::{Map, Value, json};

use super::kinds::{AFTER, CATCH_UP, OVERLAP};
use super::{FileDropKind, Kind, ScheduleKind, Trigger, WebhookKind};
use crate::amount::Amount;

impl Trigger {
    /// The document, such that it reads the same.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let fields = [
            ("name", Value::from(self.name.as_str())),
            ("description", self.description.as_str().into()),
            ("enabled", self.enabled.into()),
            ("kind", self.kind.trigger_type().word().into()),
            ("workflow_id", self.workflow_id.as_str().into()),
            ("user_id", self.user_id.clone().into()),
            ("input", self.input.clone()),
            ("references", self.references.clone().into()),
            ("max_attempts", self.max_attempts.into()),
            (
                "credits_estimate",
                self.credits_estimate.map_or(Value::Null, |it| Amount(it).to_json()),
            ),
            ("priority", self.priority.into()),
        ];
        let fields = fields.into_iter().chain(part(&self.kind));
        let given = fields.filter(|(_, value)| !value.is_null());
        given.map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>().into()
    }
}

fn part(kind: &Kind) -> Option<(&'static str, Value)> {
    let word = kind.trigger_type().word();
    match kind {
        Kind::Manual => None,
        Kind::Schedule(schedule) => Some((word, of_schedule(schedule))),
        Kind::Webhook(webhook) => Some((word, of_webhook(webhook))),
        Kind::FileDrop(files) => Some((word, of_files(files))),
    }
}

fn of_schedule(schedule: &ScheduleKind) -> Value {
    json!({
        "cron": schedule.cron,
        "time_zone": schedule.time_zone,
        "overlap": word(&OVERLAP, schedule.overlap),
        "catch_up": schedule.catch_up,
        "catch_up_mode": word(&CATCH_UP, schedule.catch_up_mode),
    })
}

fn of_webhook(webhook: &WebhookKind) -> Value {
    json!({"secret_env": webhook.secret_env, "tolerance": webhook.tolerance})
}

fn of_files(files: &FileDropKind) -> Value {
    json!({
        "directory": files.directory,
        "glob": files.glob,
        "settle": files.settle,
        "after": word(&AFTER, files.after),
        "processed": files.processed,
    })
}

/// Every value of a choice has its word; the readers and this share one table.
fn word<V: Copy + PartialEq>(choices: &[(&'static str, V)], value: V) -> &'static str {
    choices.iter().find(|(_, choice)| *choice == value).map_or("", |(word, _)| word)
}
