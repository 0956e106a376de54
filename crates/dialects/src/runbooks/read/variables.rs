//! Placeholders in a runbook: which names they may use.
//!
//! The columns of the members are known only when the data source has been asked, unless the
//! document lists them. So a name is judged strictly in `init`, where there is no member; if it
//! begins with `_`, because such names are the system's own; and if the columns are listed.

use stepwell_core::template::{self, near};

use super::Drafts;
use super::step::Draft;
use super::warnings::Warnings;
use crate::fields::Field;
use crate::problem::{Problem, Report, quoted};
use crate::runbooks::folded::Folded;
use crate::yaml::Node;

/// The variables that the system provides to every step of a runbook.
pub const SPECIALS: [&str; 2] = ["_batch_id", "_batch_start_time"];

/// Where the check puts what it finds.
#[derive(Clone, Copy)]
pub(super) struct Reports<'r> {
    /// what makes the document unsound
    pub(super) problems: &'r Report,
    /// what does not
    pub(super) warnings: &'r Warnings,
}

/// Reports every placeholder that no value can be found for.
pub(super) fn check(drafts: &Drafts<'_>, columns: Option<&[String]>, reports: Reports<'_>) {
    let columns: Option<Folded<'_, ()>> =
        columns.map(|columns| columns.iter().map(|name| (name.as_str(), ())).collect());
    for draft in &drafts.init {
        each_name(draft, |field, name| {
            if !is_special(name) {
                field.report(without_member(field, name));
            }
        });
    }
    let of_phases: Vec<&Draft<'_>> = drafts.phases.iter().flat_map(|phase| &phase.steps).collect();
    let set_in_phases = outputs(&of_phases);
    let nothing = outputs(&[]);
    let columns = columns.as_ref();
    Check { columns, given: &nothing, reports }.steps(&of_phases);
    // What undoes something knows whatever was set until then; how much that is, nobody knows yet.
    let after = Check { columns, given: &set_in_phases, reports };
    after.steps(&drafts.removal.iter().collect::<Vec<_>>());
    for rollback in &drafts.rollbacks {
        after.steps(&rollback.steps.iter().collect::<Vec<_>>());
    }
}

/// The first name in some steps that only a member could give a value to.
pub(super) fn first_of_member(steps: &[Draft<'_>]) -> Option<String> {
    let templates = steps.iter().flat_map(|draft| &draft.templates);
    let names = templates.filter_map(|field| template::variables(&field.json()).ok());
    names.flatten().find(|name| !is_special(name))
}

/// Special variables are found by their whole name: there is nothing inside them.
fn is_special(name: &str) -> bool {
    SPECIALS.iter().any(|special| special.eq_ignore_ascii_case(name))
}

/// Each variable that steps set, with the position of the first step that sets it.
fn outputs<'d>(steps: &[&'d Draft<'_>]) -> Folded<'d, usize> {
    let numbered = steps.iter().enumerate();
    let named = numbered.flat_map(|(index, draft)| {
        draft.step.output_params.keys().map(move |name| (name.as_str(), index))
    });
    named.collect()
}

/// Calls `judge` with every name in the placeholders of a step; what is no placeholder is reported.
fn each_name(draft: &Draft<'_>, mut judge: impl FnMut(&Field<'_, Node>, &str)) {
    for field in &draft.templates {
        match template::variables(&field.json()) {
            Ok(names) => names.iter().for_each(|name| judge(field, name)),
            Err(error) => field.report(field.problem("bad_template", error.fault.to_string())),
        }
    }
}

/// What is known where some steps run.
struct Check<'c> {
    /// the columns, if the document lists them
    columns: Option<&'c Folded<'c, ()>>,
    /// what other steps may have set before
    given: &'c Folded<'c, usize>,
    reports: Reports<'c>,
}

/// A step, and what it and the steps around it set.
struct Here<'s, 'n> {
    index: usize,
    steps: &'s [&'s Draft<'n>],
    own: &'s Folded<'s, usize>,
}

impl Check<'_> {
    fn steps(&self, steps: &[&Draft<'_>]) {
        let own = outputs(steps);
        for (index, draft) in steps.iter().enumerate() {
            let here = Here { index, steps, own: &own };
            each_name(draft, |field, name| self.judge(field, name, &here));
        }
    }

    fn judge(&self, field: &Field<'_, Node>, name: &str, here: &Here<'_, '_>) {
        if name.starts_with('_') {
            if !is_special(name) {
                field.report(reserved(field, name));
            }
            return;
        }
        let set_by = here.own.find(name).copied();
        let is_known = self.given.has(name)
            || set_by.is_some_and(|step| step < here.index)
            || self.columns.is_some_and(|columns| columns.has(name));
        // Looking for the name that was meant is the only slow thing here, and is done in vain then.
        if is_known || self.reports.problems.is_full() {
            return;
        }
        match (set_by, self.columns) {
            (Some(step), Some(_)) => field.report(too_early(field, name, here, step)),
            (Some(step), None) => {
                let warning = too_early(field, name, here, step);
                let help = "the step will fail unless a column has this name";
                self.reports.warnings.add(warning.help(help));
            }
            (None, Some(columns)) => field.report(self.unknown(field, name, columns, here)),
            (None, None) => {}
        }
    }

    fn unknown(
        &self,
        field: &Field<'_, Node>,
        name: &str,
        columns: &Folded<'_, ()>,
        here: &Here<'_, '_>,
    ) -> Problem {
        let problem = no_variable(field, name);
        let known = columns.names().chain(self.given.names()).chain(here.own.names());
        match near(name, known) {
            Some(near) => problem.did_you_mean(Some(near)),
            None => {
                problem.help("list it in the columns of data_source, or set it in output_params")
            }
        }
    }
}

fn no_variable(field: &Field<'_, Node>, name: &str) -> Problem {
    field.problem("unknown_variable", format!("there is no variable {}", quoted(name)))
}

fn too_early(field: &Field<'_, Node>, name: &str, here: &Here<'_, '_>, setter: usize) -> Problem {
    let name = quoted(name);
    if setter == here.index {
        let message = format!("{name} is set by this step itself, after it has ended");
        return field.problem("unknown_variable", message).help("set it in a step before");
    }
    let step = quoted(&here.steps[setter].step.name);
    let message = format!("{name} is set by step {step}, which is not before this one");
    field.problem("unknown_variable", message).help("move that step before this one")
}

fn reserved(field: &Field<'_, Node>, name: &str) -> Problem {
    let problem = no_variable(field, name);
    match near(name, SPECIALS) {
        Some(near) => problem.did_you_mean(Some(near)),
        None => problem.help(format!(
            "names that begin with '_' are the system's own: {}; give a column another name in the \
             query",
            SPECIALS.join(" and ")
        )),
    }
}

fn without_member(field: &Field<'_, Node>, name: &str) -> Problem {
    if name.starts_with('_') {
        return reserved(field, name);
    }
    let message = format!("init has no member, so there is no variable {}", quoted(name));
    field.problem("unknown_variable", message).help(format!("use {}", SPECIALS.join(" and ")))
}
