//! `phases`: the timeline.

use std::collections::BTreeMap;

use super::names::line;
use super::step::{self, Draft, Place, STEPS_MAX, Surroundings};
use super::warnings::Warnings;
use crate::fields::Field;
use crate::problem::{Position, quoted};
use crate::runbooks::document::PhaseSpec;
use crate::runbooks::offset::Offset;
use crate::yaml::Node;

const PHASES_MAX: usize = 100;

/// A phase as it was read.
pub(super) struct PhaseDraft<'n> {
    name: &'n str,
    offset: Option<Offset>,
    field: Field<'n, Node>,
    /// its steps, in order
    pub(super) steps: Vec<Draft<'n>>,
}

impl PhaseDraft<'_> {
    /// The phase without its places in the text.
    pub(super) fn into_spec(self) -> PhaseSpec {
        PhaseSpec {
            name: self.name.to_owned(),
            offset: self.offset.unwrap_or_default(),
            steps: super::steps(self.steps),
        }
    }
}

/// Reads the phases, and puts them into the order in which they are due.
pub(super) fn list<'n>(field: &Field<'n, Node>, around: Surroundings<'_>) -> Vec<PhaseDraft<'n>> {
    let Some(items) = field.items() else { return Vec::new() };
    if !(1..=PHASES_MAX).contains(&items.len()) {
        let message = format!("there are {} phases", items.len());
        field.report(field.problem("out_of_range", message).help("write 1 to 100"));
        return Vec::new();
    }
    let mut phases: Vec<PhaseDraft<'_>> =
        items.into_iter().filter_map(|item| read(item, around)).collect();
    check_names(&phases);
    warn_of_order(&phases, around.warnings);
    let steps: usize = phases.iter().map(|phase| phase.steps.len()).sum();
    if steps > STEPS_MAX {
        let message = format!("the phases have {steps} steps in all");
        let problem = field.problem("out_of_range", message);
        field.report(problem.help("a member goes through all of them; write at most 1000"));
    }
    phases.sort_by_key(|phase| phase.offset);
    phases
}

fn read<'n>(field: Field<'n, Node>, around: Surroundings<'_>) -> Option<PhaseDraft<'n>> {
    let mut fields = field.clone().fields()?;
    let name = fields.required("name").and_then(|field| line(&field));
    let offset = fields.required("offset").and_then(|field| offset(&field));
    let steps = fields.required("steps");
    around.warnings.unknown(&fields);
    let steps = steps.map(|steps| step::list_of_some(&steps, Place::Phase, around));
    let steps = steps.unwrap_or_default();
    Some(PhaseDraft { name: name.unwrap_or_default(), offset, field, steps })
}

fn offset(field: &Field<'_, Node>) -> Option<Offset> {
    let parsed = field.text()?.parse::<Offset>();
    parsed.map_err(|error| field.report(field.problem("bad_offset", error.to_string()))).ok()
}

fn check_names(phases: &[PhaseDraft<'_>]) {
    let mut places: BTreeMap<&str, Option<Position>> = BTreeMap::new();
    for phase in phases.iter().filter(|phase| !phase.name.is_empty()) {
        let field = phase.field.nearest("/name");
        let Some(first) = places.get(phase.name) else {
            places.insert(phase.name, field.position());
            continue;
        };
        let message = format!("two phases are called {}", quoted(phase.name));
        let problem = field.problem("duplicate_name", message);
        field.report(match first {
            Some(Position { line, column }) => {
                problem.help(format!("the first one is at {line}:{column}; rename one of them"))
            }
            None => problem.help("rename one of them"),
        });
    }
}

/// A document need not list its phases in order, but who reads it from top to bottom expects that.
fn warn_of_order(phases: &[PhaseDraft<'_>], warnings: &Warnings) {
    for pair in phases.windows(2) {
        let [above, below] = pair else { continue };
        let (Some(first), Some(second)) = (above.offset, below.offset) else { continue };
        if second < first {
            let message = format!(
                "{} is due at {second}, before {} at {first}, which is written above it",
                quoted(below.name),
                quoted(above.name)
            );
            let warning = below.field.nearest("/offset").problem("out_of_order", message);
            warnings.add(warning.help("they run in the order of their offsets; list them so"));
        }
    }
}
