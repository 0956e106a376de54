//! `rollbacks`, and the steps that name them.

use std::collections::BTreeSet;

use stepwell_core::template::near;

use super::Drafts;
use super::names::{LINE_CHARS_MAX, is_line};
use super::step::{self, Draft, Place, Surroundings};
use super::variables;
use super::warnings::Warnings;
use crate::fields::Field;
use crate::problem::quoted;
use crate::runbooks::document::RunbookStep;
use crate::yaml::Node;

const ROLLBACKS_MAX: usize = 100;

/// A rollback as it was read.
pub(super) struct Rollback<'n> {
    name: &'n str,
    field: Field<'n, Node>,
    /// its steps, in order
    pub(super) steps: Vec<Draft<'n>>,
}

impl Rollback<'_> {
    /// The name and the steps, without their places in the text.
    pub(super) fn into_steps(self) -> (String, Vec<RunbookStep>) {
        (self.name.to_owned(), super::steps(self.steps))
    }
}

/// Reads `rollbacks`.
pub(super) fn read<'n>(field: &Field<'n, Node>, around: Surroundings<'_>) -> Vec<Rollback<'n>> {
    let Some(entries) = field.entries() else { return Vec::new() };
    if entries.len() > ROLLBACKS_MAX {
        let message = format!("there are {} rollbacks", entries.len());
        field.report(field.problem("out_of_range", message).help("write at most 100"));
        return Vec::new();
    }
    let read = entries.into_iter().map(|(name, field)| {
        if !is_line(name) {
            let message = format!("{} cannot be the name of a rollback", quoted(name));
            let help = format!("write one line of 1 to {LINE_CHARS_MAX} characters");
            field.report(field.problem("bad_name", message).help(help));
        }
        let steps = step::list_of_some(&field, Place::Rollback, around);
        Rollback { name, field, steps }
    });
    read.collect()
}

/// Holds the names in `on_failure` against the rollbacks there are.
pub(super) fn check(drafts: &Drafts<'_>, warnings: &Warnings) {
    let rollbacks = &drafts.rollbacks;
    let of_phases = drafts.phases.iter().flat_map(|phase| &phase.steps);
    let mut named = BTreeSet::new();
    for draft in drafts.init.iter().chain(of_phases.clone()) {
        let (Some(field), Some(name)) = (&draft.on_failure, &draft.step.on_failure) else {
            continue;
        };
        named.insert(name.as_str());
        if !rollbacks.iter().any(|rollback| rollback.name == name) {
            report_unknown(field, name, rollbacks);
        }
    }
    for draft in &drafts.init {
        let name = draft.step.on_failure.as_deref();
        let rollback = rollbacks.iter().find(|rollback| Some(rollback.name) == name);
        if let (Some(field), Some(rollback)) = (&draft.on_failure, rollback) {
            check_without_member(field, rollback);
        }
    }
    for rollback in rollbacks.iter().filter(|rollback| !named.contains(rollback.name)) {
        let message = format!("no step names {} in its on_failure", quoted(rollback.name));
        let warning = rollback.field.problem("unused_rollback", message);
        warnings.add(warning.help("name it, or remove it"));
    }
}

fn report_unknown(field: &Field<'_, Node>, name: &str, rollbacks: &[Rollback<'_>]) {
    let near = near(name, rollbacks.iter().map(|rollback| rollback.name));
    let problem =
        field.problem("unknown_rollback", format!("there is no rollback {}", quoted(name)));
    field.report(match near {
        Some(near) => problem.did_you_mean(Some(near)),
        None => problem.help("add it under rollbacks"),
    });
}

/// Init runs once for a batch, so what undoes it knows no member either.
fn check_without_member(field: &Field<'_, Node>, rollback: &Rollback<'_>) {
    let Some(name) = variables::first_of_member(&rollback.steps) else { return };
    let message = format!(
        "init has no member, and the rollback {} uses {}",
        quoted(rollback.name),
        quoted(&name)
    );
    let problem = field.problem("unknown_variable", message);
    field.report(problem.help("write a rollback for init that uses special variables only"));
}
