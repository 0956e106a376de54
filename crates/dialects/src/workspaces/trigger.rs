//! Triggers: what makes jobs without being asked each time, as their documents say it.
//!
//! A document is YAML or JSON. [`read`] turns it into a [`Trigger`] or into all of its problems;
//! [`Trigger::to_json`] is the form in which it is stored, and [`of_json`] reads that back. What one
//! firing asks for is [`Trigger::request`]: the same for the same firing, so that a firing that is
//! repeated after a crash makes no second job.

mod firing;
mod kinds;
mod schema;
mod write;

use serde_json::{Map, Value};
use stepwell_core::credit::Credits;
use stepwell_core::duration::Interval;
use stepwell_core::template;
use stepwell_core::trigger::TriggerKind;

pub use self::firing::Firing;
pub use self::schema::schema;
use super::policy::ATTEMPTS_MAX;
use super::request::{self, ID_CHARS_MAX, PRIORITY_MAX};
use super::schedule::Schedule;
use crate::amount;
use crate::fields::{Field, Fields, Tree, parse_json};
use crate::name::Shape;
use crate::problem::{Problems, Report, quoted};
use crate::text::plain;
use crate::yaml;

const NAME: Shape = Shape {
    chars_max: 64,
    begins: |c| c.is_ascii_lowercase() || c.is_ascii_digit(),
    follows: |c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '_' | '-'),
    rule: "use lower-case letters, digits, '.', '_' and '-', and begin with a letter or a digit",
};

const WORKFLOW_ID_CHARS_MAX: usize = 64;
const DESCRIPTION_CHARS_MAX: usize = 4_096;

/// The variables that every firing provides to the templates of its document.
const VARIABLES: [&str; 3] = ["_trigger", "_key", "_fired_at"];

/// A trigger, once its document is known to be sound.
#[derive(Clone, Debug)]
pub struct Trigger {
    /// unique in its workspace
    pub name: String,
    /// for people
    pub description: String,
    /// it fires at present
    pub enabled: bool,
    /// the workflow of its jobs
    pub workflow_id: String,
    /// the user of its jobs; `None`: the trigger itself
    pub user_id: Option<String>,
    /// what the steps are given: an object whose texts may hold placeholders, or exactly one placeholder
    pub input: Value,
    /// where large data lies, by name; the texts may hold placeholders
    pub references: Map<String, Value>,
    /// attempts of a job in all
    pub max_attempts: Option<u32>,
    /// what a job will probably cost
    pub credits_estimate: Option<Credits>,
    /// 0 to 10, higher is more urgent
    pub priority: Option<u8>,
    /// what makes it fire
    pub kind: Kind,
}

/// What makes a trigger fire.
#[derive(Clone, Debug)]
pub enum Kind {
    /// somebody asks
    Manual,
    /// its time has come
    Schedule(ScheduleKind),
    /// a signed request arrives
    Webhook(WebhookKind),
    /// a file appears
    FileDrop(FileDropKind),
}

/// When a trigger fires by itself.
#[derive(Clone, Debug)]
pub struct ScheduleKind {
    /// when, ready to be asked
    pub schedule: Schedule,
    /// when, as it was written
    pub cron: String,
    /// the place whose clock counts, by its IANA name
    pub time_zone: String,
    /// what becomes of a firing while the job of the one before goes on
    pub overlap: Overlap,
    /// firings that were missed are made up for if they are not older than this
    pub catch_up: Interval,
    /// which of them
    pub catch_up_mode: CatchUp,
}

/// What becomes of a firing while the job of the one before goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overlap {
    /// it makes no job
    #[default]
    Skip,
    /// it waits for the end of that job
    Queue,
    /// it makes its job beside it
    Allow,
}

/// Which firings that were missed are made up for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CatchUp {
    /// the latest one
    #[default]
    Latest,
    /// every one
    All,
}

/// How requests that fire a trigger prove where they come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookKind {
    /// the environment variable that holds the secret; `None`: the server makes one
    pub secret_env: Option<String>,
    /// a request that is older, or newer, is refused
    pub tolerance: Interval,
}

/// Which files fire a trigger, and what becomes of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileDropKind {
    /// where they appear; the installation says which directories may be named
    pub directory: String,
    /// which names
    pub glob: String,
    /// a file counts when it has not changed for so long
    pub settle: Interval,
    /// what becomes of a file that has made its job
    pub after: AfterFile,
    /// where it is moved to, below the directory
    pub processed: String,
}

/// What becomes of a file that has made its job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AfterFile {
    /// it is moved away
    #[default]
    Move,
    /// it stays, and is known again by path, size and time of change
    Remember,
}

impl Kind {
    /// What its jobs say made them.
    #[must_use]
    pub fn trigger_type(&self) -> TriggerKind {
        match self {
            Self::Manual => TriggerKind::Manual,
            Self::Schedule(_) => TriggerKind::Schedule,
            Self::Webhook(_) => TriggerKind::Webhook,
            Self::FileDrop(_) => TriggerKind::FileDrop,
        }
    }

    /// The variables that its firings provide, beside those that all do.
    fn variables(&self) -> &'static [&'static str] {
        match self {
            Self::Manual => &[],
            Self::Schedule(_) => &["_scheduled_for"],
            Self::Webhook(_) => &["_body", "_headers"],
            Self::FileDrop(_) => &["_file"],
        }
    }

    /// What the steps are given if the document does not say it.
    fn input(&self) -> Value {
        match self {
            Self::Manual | Self::Schedule(_) => Value::Object(Map::new()),
            Self::Webhook(_) => "{{_body}}".into(),
            Self::FileDrop(_) => "{{_file}}".into(),
        }
    }
}

/// Whether a document that may be a workflow or a trigger means to be a trigger.
#[must_use]
pub fn is_trigger(source: &[u8]) -> bool {
    let node = yaml::read(source);
    node.is_ok_and(|node| ["kind", "workflow_id"].iter().any(|key| node.get(key).is_some()))
}

/// Reads the document of a trigger: JSON if it begins as JSON does, else YAML.
///
/// # Errors
///
/// Every problem of the document.
pub fn read(source: &[u8]) -> Result<Trigger, Problems> {
    let inside = source.trim_ascii_start().strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
    if inside.is_some_and(|inside| inside.starts_with(b"\"")) {
        return of_json(&parse_json(source)?);
    }
    of_tree(&yaml::read(source)?)
}

/// Reads the document of a trigger that is JSON already.
///
/// # Errors
///
/// Every problem of the document.
pub fn of_json(document: &Value) -> Result<Trigger, Problems> {
    of_tree(document)
}

fn of_tree<T: Tree>(node: &T) -> Result<Trigger, Problems> {
    let report = Report::new();
    let trigger = Field::root(node, &report).fields().and_then(document);
    report.finish(trigger)
}

fn document<T: Tree>(mut fields: Fields<'_, T>) -> Option<Trigger> {
    let name = fields.required("name").and_then(|field| NAME.read(&field));
    let description = fields
        .optional("description")
        .and_then(|field| field.text_within(0..=DESCRIPTION_CHARS_MAX));
    let enabled = fields.optional_bool("enabled");
    let workflow_id =
        fields.required("workflow_id").and_then(|field| plain(&field, WORKFLOW_ID_CHARS_MAX));
    let user_id = fields.optional("user_id").and_then(|field| plain(&field, ID_CHARS_MAX));
    let max_attempts = fields.optional_integer("max_attempts", 1..=ATTEMPTS_MAX);
    let credits_estimate =
        fields.optional("credits_estimate").and_then(|field| amount::read_positive(&field));
    let priority = fields.optional_integer("priority", 0..=PRIORITY_MAX);
    let input = fields.optional("input");
    let references_field = fields.optional("references");
    let references = references_field.as_ref().map(request::references).unwrap_or_default();
    let kind = kinds::read(&mut fields);
    fields.finish();
    let kind = kind?;
    for field in input.iter().chain(&references_field) {
        check_templates(field, &kind);
    }
    Some(Trigger {
        name: name?.to_owned(),
        description: description.unwrap_or_default().to_owned(),
        enabled: enabled.unwrap_or(true),
        workflow_id: workflow_id?,
        user_id,
        input: input.and_then(|field| input_of(&field)).unwrap_or_else(|| kind.input()),
        references,
        max_attempts,
        credits_estimate,
        priority,
        kind,
    })
}

/// What the steps are given is an object in the end, so its template is one, or stands for one.
fn input_of<T: Tree>(field: &Field<'_, T>) -> Option<Value> {
    let input = field.json();
    let stands_for_one = input.as_str().is_some_and(|text| template::sole_name(text).is_some());
    if input.is_object() || stands_for_one {
        return Some(input);
    }
    let message = "this must be an object, or exactly one placeholder such as {{_body}}";
    field.report(field.problem("wrong_type", message));
    None
}

fn check_templates<T: Tree>(field: &Field<'_, T>, kind: &Kind) {
    let known: Vec<&str> = VARIABLES.iter().chain(kind.variables()).copied().collect();
    for leaf in field.leaves() {
        let names = match template::variables(&leaf.json()) {
            Ok(names) => names,
            Err(error) => {
                leaf.report(leaf.problem("bad_template", error.fault.to_string()));
                continue;
            }
        };
        for name in names.iter().filter(|name| !template::is_known(name, known.iter().copied())) {
            let problem = leaf
                .problem("unknown_variable", format!("there is no variable {}", quoted(name)))
                .help(format!("known here are {}", known.join(", ")));
            leaf.report(problem);
        }
    }
}
