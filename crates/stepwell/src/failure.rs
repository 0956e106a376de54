//! What is shown when a command does not succeed: what happened, where, and what to do next.

use std::fmt;

use serde_json::{Value, json};
use stepwell_dialects::problem::Problems;

use crate::exit::Exit;

/// Why a command did not succeed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Failure {
    /// what the shell sees
    pub(crate) exit: Exit,
    /// a stable word for programs
    pub(crate) code: String,
    /// what happened, and where
    pub(crate) what: String,
    /// single faults, one a line
    pub(crate) details: Vec<String>,
    /// what to do next
    pub(crate) next: Option<Box<str>>,
    /// finds the request in the server's log
    pub(crate) request_id: Option<Box<str>>,
}

impl Failure {
    pub(crate) fn new(exit: Exit, code: &str, what: impl Into<String>) -> Self {
        Self {
            exit,
            code: code.to_owned(),
            what: what.into(),
            details: Vec::new(),
            next: None,
            request_id: None,
        }
    }

    /// The command line or the configuration makes no sense.
    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Self::new(Exit::Usage, "usage", what)
    }

    /// An input is not valid.
    pub(crate) fn invalid(what: impl Into<String>) -> Self {
        Self::new(Exit::Invalid, "invalid_input", what)
    }

    /// A file could not be read or written.
    pub(crate) fn file(path: &std::path::Path, doing: &str, cause: &std::io::Error) -> Self {
        let exit = match cause.kind() {
            std::io::ErrorKind::NotFound => Exit::NotFound,
            _ => Exit::Failure,
        };
        Self::new(exit, "file", format!("{} could not be {doing}: {cause}", path.display()))
    }

    /// A file is not valid: each problem is a line that an editor can jump to.
    pub(crate) fn problems(what: &str, file: &std::path::Path, problems: &Problems) -> Self {
        let name = file.display().to_string();
        let listing = problems.in_file(&name).to_string();
        let details = listing.lines().map(str::to_owned).collect();
        Self { details, ..Self::invalid(format!("{name} {what}")) }
    }

    /// The same failure of what a file holds: each detail is a line that an editor can jump to.
    pub(crate) fn in_file(mut self, file: &std::path::Path) -> Self {
        let name = file.display();
        self.what = format!("{name}: {}", self.what);
        for detail in &mut self.details {
            // A place follows its file without a blank.
            let gap = if detail.starts_with(|c: char| c.is_ascii_digit()) { "" } else { " " };
            *detail = format!("{name}:{gap}{detail}");
        }
        self
    }

    /// The same failure, with what to do next.
    pub(crate) fn next(mut self, next: impl Into<Box<str>>) -> Self {
        self.next = Some(next.into());
        self
    }

    /// The same failure, with better advice than the server could give if it ended like this.
    pub(crate) fn suggesting(self, exit: Exit, next: &str) -> Self {
        if self.exit == exit { self.next(next) } else { self }
    }

    /// The same failure, with better advice than the server could give to a person at a terminal.
    pub(crate) fn advising(self, code: &str, next: &str) -> Self {
        if self.code == code { self.next(next) } else { self }
    }

    /// The failure for programs.
    pub(crate) fn to_json(&self) -> Value {
        json!({ "error": {
            "code": self.code,
            "message": self.what,
            "details": self.details,
            "next": self.next,
            "request_id": self.request_id,
            "exit_code": self.exit.number(),
        }})
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.what)?;
        // A single fault is what happened: it is told once.
        for detail in self.details.iter().filter(|detail| **detail != self.what) {
            write!(f, "\n  {detail}")?;
        }
        if let Some(next) = &self.next {
            write!(f, "\n  next: {next}")?;
        }
        if let Some(request_id) = &self.request_id {
            write!(f, "\n  request: {request_id}")?;
        }
        Ok(())
    }
}
