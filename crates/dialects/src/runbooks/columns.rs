//! The columns that a list of members must have.

use serde_json::Value;
use stepwell_core::template;

use super::document::{Runbook, RunbookStep};
use super::folded::Folded;

/// The columns of a CSV file with members of this runbook: the primary key, then every variable of
/// a member that a phase, a rollback or a removal uses, then the columns of several values.
///
/// What a step sets for the steps after it, and what the system provides, is nobody's to fill in.
#[must_use]
pub fn template_columns(runbook: &Runbook) -> Vec<String> {
    let mut columns = Columns { names: needed_columns(runbook) };
    for column in &runbook.data_source.multi_valued_columns {
        columns.add(&column.name);
    }
    columns.names
}

/// The columns without which a step could not be dispatched: the primary key and what is used.
#[must_use]
pub fn needed_columns(runbook: &Runbook) -> Vec<String> {
    let phases: Vec<&RunbookStep> = runbook.phases.iter().flat_map(|phase| &phase.steps).collect();
    let set_in_phases = outputs(&phases);
    let mut columns = Columns { names: vec![runbook.data_source.primary_key.clone()] };
    columns.add_used(&phases, &outputs(&[]));
    for steps in runbook.rollbacks.values().chain([&runbook.on_member_removed]) {
        columns.add_used(&steps.iter().collect::<Vec<_>>(), &set_in_phases);
    }
    columns.names
}

/// An empty CSV file with these columns, to be filled in.
#[must_use]
pub fn template_csv(runbook: &Runbook) -> String {
    let mut writer =
        csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    writer.write_record(template_columns(runbook)).expect("a list in memory takes everything");
    let bytes = writer.into_inner().expect("a list in memory takes everything");
    String::from_utf8(bytes).expect("names are text, and so is what stands between them")
}

struct Columns {
    names: Vec<String>,
}

impl Columns {
    /// Adds what some steps use and nobody has set before them.
    fn add_used(&mut self, steps: &[&RunbookStep], given: &Folded<'_, usize>) {
        let own = outputs(steps);
        for (index, step) in steps.iter().enumerate() {
            for name in variables(step) {
                let is_set = own.find(&name).is_some_and(|setter| *setter < index);
                if !is_set && !given.has(&name) && !name.starts_with('_') {
                    self.add(&name);
                }
            }
        }
    }

    fn add(&mut self, name: &str) {
        if !template::is_known(name, self.names.iter().map(String::as_str)) {
            self.names.push(name.to_owned());
        }
    }
}

/// The names in the placeholders of a step, in the order of the parameters.
fn variables(step: &RunbookStep) -> Vec<String> {
    let function = Value::String(step.function.clone());
    let texts = std::iter::once(&function).chain(step.params.values());
    texts.filter_map(|text| template::variables(text).ok()).flatten().collect()
}

fn outputs<'s>(steps: &[&'s RunbookStep]) -> Folded<'s, usize> {
    let numbered = steps.iter().enumerate();
    let named = numbered.flat_map(|(index, step)| {
        step.output_params.keys().map(move |name| (name.as_str(), index))
    });
    named.collect()
}
