//! `stepwell validate`: the check of a workflow document, as an editor or a pipeline wants it.

use std::path::PathBuf;

use clap::Args;
use serde_json::json;
use stepwell_core::definition::Workflow;
use stepwell_dialects::problem::Problems;
use stepwell_dialects::workflow;

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
    outcome: Result<Workflow, Problems>,
}

pub(crate) fn run(global: Global, arguments: &ValidateArguments) -> Result<Exit, Failure> {
    let session = global.session(crate::config::Given::default())?;
    let mut checked = Vec::new();
    for path in &arguments.files {
        let source = std::fs::read(path).map_err(|cause| Failure::file(path, "read", &cause))?;
        let outcome = workflow::read(&source);
        checked.push(Checked { name: path.display().to_string(), outcome });
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

impl Checked {
    fn problems(&self) -> usize {
        self.outcome.as_ref().err().map_or(0, |problems| problems.iter().count())
    }

    fn listing(&self) -> String {
        match &self.outcome {
            Ok(workflow) => {
                let steps = workflow.steps.len();
                let steps = if steps == 1 { "1 step".to_owned() } else { format!("{steps} steps") };
                format!("{}: ok: workflow {:?}, {steps}", self.name, workflow.name)
            }
            Err(problems) => problems.in_file(&self.name).to_string(),
        }
    }

    fn to_json(&self) -> serde_json::Value {
        match &self.outcome {
            Ok(workflow) => json!({
                "file": self.name, "valid": true, "name": workflow.name,
                "steps": workflow.steps.len(), "problems": [],
            }),
            Err(problems) => json!({ "file": self.name, "valid": false, "problems": problems }),
        }
    }
}
