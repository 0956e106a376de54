//! `stepwell validate`: the check of workflow, runbook and trigger documents, as an editor or a pipeline wants it.

use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};
use stepwell_core::definition::Workflow;
use stepwell_dialects::problem::{Position, Problem, Problems};
use stepwell_dialects::runbooks::{self, Reading};
use stepwell_dialects::workflow;
use stepwell_dialects::workspaces::trigger::{self, Trigger};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::session::Global;

/// What `validate` is told.
#[derive(Debug, Args)]
#[command(
    after_help = "Every problem is one line, `file:line:column: field: what is wrong`, so that \
    editors can jump to it. Exit code 7 if there is any."
)]
pub(crate) struct ValidateArguments {
    /// The documents
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// What became of one file.
struct Checked {
    name: String,
    outcome: Outcome,
}

/// Which kind of document it means to be, told by its keys, and whether it is one.
enum Outcome {
    Workflow(Result<Workflow, Problems>),
    Runbook(Result<Reading, Problems>),
    Trigger(Result<Box<Trigger>, Problems>),
}

pub(crate) fn run(global: Global, arguments: &ValidateArguments) -> Result<Exit, Failure> {
    let session = global.session(crate::config::Given::default())?;
    let mut checked = Vec::new();
    for path in &arguments.files {
        let source = std::fs::read(path).map_err(|cause| Failure::file(path, "read", &cause))?;
        checked.push(Checked { name: path.display().to_string(), outcome: Outcome::of(&source) });
    }
    let problems: usize = checked.iter().map(Checked::problems).sum();
    if session.print.is_json() {
        let files: Vec<_> = checked.iter().map(Checked::to_json).collect();
        session.print.value(&json!({ "files": files, "problems": problems }));
    } else {
        for file in &checked {
            session.print.line(&file.listing());
        }
    }
    match problems {
        0 => Ok(Exit::Ok),
        1 => Err(Failure::invalid("there is 1 problem, listed above").next("correct it")),
        count => Err(Failure::invalid(format!("there are {count} problems, listed above"))
            .next("correct them")),
    }
}

impl Outcome {
    fn of(source: &[u8]) -> Self {
        if runbooks::is_runbook(source) {
            Self::Runbook(runbooks::read(source))
        } else if trigger::is_trigger(source) {
            Self::Trigger(trigger::read(source).map(Box::new))
        } else {
            Self::Workflow(workflow::read(source))
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Workflow(_) => "workflow",
            Self::Runbook(_) => "runbook",
            Self::Trigger(_) => "trigger",
        }
    }

    fn problems(&self) -> Option<&Problems> {
        match self {
            Self::Workflow(outcome) => outcome.as_ref().err(),
            Self::Runbook(outcome) => outcome.as_ref().err(),
            Self::Trigger(outcome) => outcome.as_ref().err(),
        }
    }

    /// What is accepted and was probably meant otherwise.
    fn warnings(&self) -> Vec<&Problem> {
        match self {
            Self::Runbook(Ok(reading)) => {
                reading.warnings.iter().flat_map(Problems::iter).collect()
            }
            Self::Workflow(_) | Self::Runbook(Err(_)) | Self::Trigger(_) => Vec::new(),
        }
    }
}

impl Checked {
    fn problems(&self) -> usize {
        self.outcome.problems().map_or(0, |problems| problems.iter().count())
    }

    fn listing(&self) -> String {
        let sound = match &self.outcome {
            Outcome::Workflow(Ok(workflow)) => {
                let steps = counted(workflow.steps.len(), "step");
                format!("{}: ok: workflow {:?}, {steps}", self.name, workflow.name)
            }
            Outcome::Runbook(Ok(reading)) => {
                format!("{}: ok: {}", self.name, timeline(reading))
            }
            Outcome::Trigger(Ok(trigger)) => {
                let (name, workflow) = (&trigger.name, &trigger.workflow_id);
                format!("{}: ok: trigger {name:?} of workflow {workflow:?}", self.name)
            }
            Outcome::Workflow(Err(problems))
            | Outcome::Runbook(Err(problems))
            | Outcome::Trigger(Err(problems)) => {
                return problems.in_file(&self.name).to_string();
            }
        };
        let warnings = self.outcome.warnings().into_iter().map(|warning| self.warning(warning));
        warnings.chain([sound]).collect::<Vec<_>>().join("\n")
    }

    /// A line that an editor can jump to, as for a problem.
    fn warning(&self, warning: &Problem) -> String {
        let place = warning
            .position
            .map_or_else(String::new, |Position { line, column }| format!("{line}:{column}:"));
        let what = warning.clone().on(None);
        format!("{}:{place} warning: {what}", self.name)
    }

    fn to_json(&self) -> Value {
        let (kind, warnings) = (self.outcome.kind(), self.outcome.warnings());
        match &self.outcome {
            Outcome::Workflow(Ok(workflow)) => json!({
                "file": self.name, "kind": kind, "valid": true, "name": workflow.name,
                "steps": workflow.steps.len(), "problems": [],
            }),
            Outcome::Runbook(Ok(reading)) => json!({
                "file": self.name, "kind": kind, "valid": true, "name": reading.runbook.name,
                "steps": steps(reading), "phases": reading.runbook.phases.len(),
                "problems": [], "warnings": warnings,
            }),
            Outcome::Trigger(Ok(trigger)) => json!({
                "file": self.name, "kind": kind, "valid": true, "name": trigger.name,
                "workflow": trigger.workflow_id, "problems": [],
            }),
            Outcome::Workflow(Err(problems))
            | Outcome::Runbook(Err(problems))
            | Outcome::Trigger(Err(problems)) => {
                json!({ "file": self.name, "kind": kind, "valid": false, "problems": problems })
            }
        }
    }
}

/// A runbook in one line, with its phases in the order in which they are due.
fn timeline(reading: &Reading) -> String {
    let runbook = &reading.runbook;
    let offsets: Vec<String> =
        runbook.phases.iter().map(|phase| phase.offset.to_string()).collect();
    let phases = counted(runbook.phases.len(), "phase");
    let steps = counted(steps(reading), "step");
    format!("runbook {:?}, {phases} ({}), {steps} a member", runbook.name, offsets.join(", "))
}

fn steps(reading: &Reading) -> usize {
    reading.runbook.phases.iter().map(|phase| phase.steps.len()).sum()
}

fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}
