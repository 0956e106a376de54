//! References to what a job works on: what they may look like and where they may lead.

use std::collections::BTreeSet;

use crate::problem::{Problem, quoted};

/// Which references the installation accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReferencePolicy {
    /// the schemes that a reference may have, in lower case; then a path without a scheme is
    /// refused. `None`: any scheme, and paths
    pub allowed_schemes: Option<BTreeSet<String>>,
    /// what stands before a job's id in the reference of its workspace
    pub workspace_prefix: String,
}

impl Default for ReferencePolicy {
    fn default() -> Self {
        Self { allowed_schemes: None, workspace_prefix: "workspace/".to_owned() }
    }
}

impl ReferencePolicy {
    /// The problems of a pair of references, each at the name of its field.
    #[must_use]
    pub fn check(&self, input_ref: &str, output_ref: &str) -> Vec<Problem> {
        let fields = [("input_ref", input_ref), ("output_ref", output_ref)];
        let mut problems: Vec<Problem> = fields
            .into_iter()
            .filter_map(|(field, reference)| Some(self.refuse(reference)?.at(field)))
            .collect();
        if input_ref == output_ref {
            let problem = Problem::new("bad_reference", "input_ref and output_ref are the same")
                .at("output_ref")
                .help("the output would overwrite the input; write it elsewhere");
            problems.push(problem);
        }
        problems
    }

    /// What is wrong with one reference, if anything is.
    #[must_use]
    pub fn refuse(&self, reference: &str) -> Option<Problem> {
        let problem = |what: &str| {
            Problem::new("bad_reference", format!("{} {what}", quoted(reference)))
                .help("write a URI such as https://host/in.pdf, or a path such as in/1.pdf")
        };
        if reference.chars().any(char::is_control) || reference.trim() != reference {
            return Some(problem("has blanks around it or control characters in it"));
        }
        if reference.split(['/', '\\']).any(|part| part == "..") {
            return Some(problem("climbs with \"..\""));
        }
        let scheme = scheme(reference);
        if scheme.is_some_and(|scheme| reference[scheme.len() + 1..].trim_matches('/').is_empty()) {
            return Some(problem("names a scheme and nothing in it"));
        }
        if scheme.is_none() && reference.trim_matches('/').is_empty() {
            return Some(problem("names nothing"));
        }
        self.refuse_scheme(reference, scheme)
    }

    fn refuse_scheme(&self, reference: &str, scheme: Option<&str>) -> Option<Problem> {
        let allowed = self.allowed_schemes.as_ref()?;
        if scheme.is_some_and(|scheme| allowed.contains(&scheme.to_ascii_lowercase())) {
            return None;
        }
        let names: Vec<&str> = allowed.iter().map(String::as_str).collect();
        let message = format!("{} leads where it may not", quoted(reference));
        let help = format!("allowed schemes are {}", names.join(", "));
        Some(Problem::new("reference_not_allowed", message).help(help))
    }
}

/// What stands before the first colon, if it has the form of a scheme. One letter is a drive.
fn scheme(reference: &str) -> Option<&str> {
    let (scheme, _) = reference.split_once(':')?;
    let is_scheme = scheme.len() > 1
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '.' | '-'));
    is_scheme.then_some(scheme)
}
