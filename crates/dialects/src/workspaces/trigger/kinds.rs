//! What makes a trigger fire, kind by kind.

use stepwell_core::duration::Interval;
use stepwell_core::trigger::TriggerKind;

use super::super::schedule::{Schedule, SchedulePart};
use super::{AfterFile, CatchUp, FileDropKind, Kind, Overlap, ScheduleKind, WebhookKind};
use crate::fields::{Field, Fields, Tree};
use crate::name::Shape;
use crate::problem::quoted;

/// How long a firing may be late if nobody says.
pub(super) const CATCH_UP_DEFAULT: Interval = Interval::from_secs(60 * 60);
/// How old a signed request may be if nobody says.
pub(super) const TOLERANCE_DEFAULT: Interval = Interval::from_secs(5 * 60);
/// How long a file must rest if nobody says.
pub(super) const SETTLE_DEFAULT: Interval = Interval::from_secs(5);
/// Where files go that have made their job, if nobody says.
pub(super) const PROCESSED_DEFAULT: &str = "processed/";

const TOLERANCE_MAX: Interval = Interval::from_secs(60 * 60);
const SETTLE_MAX: Interval = Interval::from_secs(24 * 60 * 60);
const CRON_CHARS_MAX: usize = 256;
const ZONE_CHARS_MAX: usize = 64;
const PATH_CHARS_MAX: usize = 1_024;
const GLOB_CHARS_MAX: usize = 256;

/// Names of environment variables.
const ENVIRONMENT: Shape = Shape {
    chars_max: 128,
    begins: |c| c.is_ascii_uppercase() || c == '_',
    follows: |c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_',
    rule: "name an environment variable of the server, such as ORDERS_HOOK_SECRET",
};

pub(super) const OVERLAP: [(&str, Overlap); 3] =
    [("skip", Overlap::Skip), ("queue", Overlap::Queue), ("allow", Overlap::Allow)];

pub(super) const CATCH_UP: [(&str, CatchUp); 2] =
    [("latest", CatchUp::Latest), ("all", CatchUp::All)];

pub(super) const AFTER: [(&str, AfterFile); 2] =
    [("move", AfterFile::Move), ("remember", AfterFile::Remember)];

/// Reads the kind and the part of the document that belongs to it; parts of other kinds are refused.
pub(super) fn read<T: Tree>(fields: &mut Fields<'_, T>) -> Option<Kind> {
    let word = fields.required("kind").and_then(|field| field.word(&TriggerKind::WORDS));
    for (name, of) in TriggerKind::WORDS {
        // A manual trigger has no part of its own.
        if of == TriggerKind::Manual || Some(of) == word {
            continue;
        }
        if let Some(field) = fields.optional(name).filter(|_| word.is_some()) {
            let problem = field
                .problem("conflicting_fields", format!("only a trigger of kind {name} has this"))
                .help("remove it, or change the kind");
            field.report(problem);
        }
    }
    match word? {
        TriggerKind::Manual => Some(Kind::Manual),
        TriggerKind::Schedule => {
            fields.required("schedule")?.fields().and_then(schedule).map(Kind::Schedule)
        }
        TriggerKind::Webhook => match fields.optional("webhook") {
            Some(field) => field.fields().map(webhook).map(Kind::Webhook),
            None => {
                let kind = WebhookKind { secret_env: None, tolerance: TOLERANCE_DEFAULT };
                Some(Kind::Webhook(kind))
            }
        },
        TriggerKind::FileDrop => {
            fields.required("file_drop")?.fields().and_then(file_drop).map(Kind::FileDrop)
        }
    }
}

fn schedule<T: Tree>(mut fields: Fields<'_, T>) -> Option<ScheduleKind> {
    let cron = fields.required("cron");
    let zone = fields.optional("time_zone");
    let overlap = fields.optional("overlap").and_then(|field| field.word(&OVERLAP));
    let catch_up = fields.optional_interval("catch_up");
    let catch_up_mode = fields.optional("catch_up_mode").and_then(|field| field.word(&CATCH_UP));
    fields.finish();
    let cron = cron?;
    let expression = cron.text_within(1..=CRON_CHARS_MAX)?;
    let time_zone = match &zone {
        Some(zone) => zone.text_within(1..=ZONE_CHARS_MAX)?,
        None => "UTC",
    };
    let schedule = match Schedule::parse(expression, time_zone) {
        Ok(schedule) => schedule,
        Err(error) => {
            let field = match error.part {
                SchedulePart::Cron => &cron,
                SchedulePart::TimeZone => zone.as_ref().unwrap_or(&cron),
            };
            field.report(field.problem("bad_schedule", error.to_string()));
            return None;
        }
    };
    Some(ScheduleKind {
        schedule,
        cron: expression.to_owned(),
        time_zone: time_zone.to_owned(),
        overlap: overlap.unwrap_or_default(),
        catch_up: catch_up.unwrap_or(CATCH_UP_DEFAULT),
        catch_up_mode: catch_up_mode.unwrap_or_default(),
    })
}

fn webhook<T: Tree>(mut fields: Fields<'_, T>) -> WebhookKind {
    let secret_env = fields.optional("secret_env").and_then(|field| ENVIRONMENT.read(&field));
    let tolerance = fields
        .optional("tolerance")
        .and_then(|field| within(&field, Interval::from_secs(1), TOLERANCE_MAX));
    fields.finish();
    WebhookKind {
        secret_env: secret_env.map(str::to_owned),
        tolerance: tolerance.unwrap_or(TOLERANCE_DEFAULT),
    }
}

fn file_drop<T: Tree>(mut fields: Fields<'_, T>) -> Option<FileDropKind> {
    let directory = fields.required("directory").and_then(|field| directory(&field));
    let glob = fields.optional("glob").and_then(|field| glob(&field));
    let settle =
        fields.optional("settle").and_then(|field| within(&field, Interval::ZERO, SETTLE_MAX));
    let after = fields.optional("after").and_then(|field| field.word(&AFTER));
    let processed = fields.optional("processed").and_then(|field| processed(&field));
    fields.finish();
    Some(FileDropKind {
        directory: directory?,
        glob: glob.unwrap_or_else(|| "*".to_owned()),
        settle: settle.unwrap_or(SETTLE_DEFAULT),
        after: after.unwrap_or_default(),
        processed: processed.unwrap_or_else(|| PROCESSED_DEFAULT.to_owned()),
    })
}

fn within<T: Tree>(field: &Field<'_, T>, least: Interval, most: Interval) -> Option<Interval> {
    let interval = field.interval()?;
    if (least..=most).contains(&interval) {
        return Some(interval);
    }
    let problem = field
        .problem("out_of_range", format!("{interval} is out of range"))
        .help(format!("use {least} to {most}"));
    field.report(problem);
    None
}

/// Whether the directory may be watched, the installation says; here it must only be one.
fn directory<T: Tree>(field: &Field<'_, T>) -> Option<String> {
    let text = path(field)?;
    let windows = text
        .as_bytes()
        .get(1..3)
        .is_some_and(|rest| rest[0] == b':' && matches!(rest[1], b'\\' | b'/'));
    if text.starts_with('/') || windows {
        return Some(text.to_owned());
    }
    let problem = field
        .problem("bad_path", format!("{} depends on where the server was started", quoted(text)))
        .help("write the whole path, such as /srv/incoming");
    field.report(problem);
    None
}

fn processed<T: Tree>(field: &Field<'_, T>) -> Option<String> {
    let text = path(field)?;
    if !text.starts_with(['/', '\\']) && !text.contains(':') {
        return Some(text.to_owned());
    }
    let problem = field
        .problem("bad_path", format!("{} does not lie below the directory", quoted(text)))
        .help("write a name, such as processed/");
    field.report(problem);
    None
}

fn glob<T: Tree>(field: &Field<'_, T>) -> Option<String> {
    let text = field.text_within(1..=GLOB_CHARS_MAX)?;
    if !text.contains(['/', '\\']) && !text.contains(char::is_control) {
        return Some(text.to_owned());
    }
    let problem = field
        .problem("bad_pattern", format!("{} is not a pattern of names", quoted(text)))
        .help("write a pattern of the file's name alone, such as *.csv");
    field.report(problem);
    None
}

fn path<'n, T: Tree>(field: &Field<'n, T>) -> Option<&'n str> {
    let text = field.text_within(1..=PATH_CHARS_MAX)?;
    let climbs = text.split(['/', '\\']).any(|part| part == "..");
    if !climbs && !text.contains(char::is_control) {
        return Some(text);
    }
    let problem = field
        .problem("bad_path", format!("{} climbs, or has control characters", quoted(text)))
        .help("write the path without \"..\"");
    field.report(problem);
    None
}
