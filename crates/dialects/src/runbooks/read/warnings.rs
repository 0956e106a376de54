//! What is accepted in a document and was probably meant otherwise.

use crate::fields::Fields;
use crate::problem::{Problem, Problems, Report};
use crate::yaml::Node;

/// Keys that belong to the request that publishes a runbook.
const OF_PUBLISHING: [&str; 2] = ["overdue_behavior", "rerun_init"];

/// Where the reader puts what does not make a document unsound.
#[derive(Debug, Default)]
pub(super) struct Warnings {
    report: Report,
}

impl Warnings {
    /// Adds a warning.
    pub(super) fn add(&self, warning: Problem) {
        self.report.add(warning);
    }

    /// Adds a warning for each key that nobody has asked for: unknown keys are ignored, so that a
    /// document may be newer than we are, but most of them are slips of the pen.
    pub(super) fn unknown(&self, fields: &Fields<'_, Node>) {
        for problem in fields.unknown() {
            if self.report.is_full() {
                return;
            }
            self.report.add(ignored(problem));
        }
    }

    /// Everything that was added, in the order of the text.
    pub(super) fn finish(self) -> Option<Problems> {
        self.report.finish(Some(())).err()
    }
}

fn ignored(mut problem: Problem) -> Problem {
    problem.message.push_str(", and it is ignored");
    if OF_PUBLISHING.contains(&problem.path.as_str()) {
        return problem.help("say it when you publish the runbook; it is stored with the version");
    }
    problem
}
