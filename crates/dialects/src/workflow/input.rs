//! What an input lets one foresee: lists that no step can be done for.
//!
//! A list that comes with the input is at hand before anything is created. One that is none, or is
//! longer than its step allows, would fail the run for certain, so it is refused with the input.

use serde_json::{Map, Value};
use stepwell_core::definition::{StepSpec, Workflow};
use stepwell_core::expansion::ITEMS_MAX;
use stepwell_core::template::{self, Scope, is_known};

use crate::fields::Tree as _;
use crate::problem::{Problem, quoted};

/// Refuses an input with a list that a step with `for_each` could not be done for.
///
/// # Errors
///
/// The first such list, and how long it may be.
pub fn check_input(workflow: &Workflow, input: &Map<String, Value>) -> Result<(), Problem> {
    let lists = InputList::of(workflow);
    lists.iter().find_map(|list| list.problem(input)).map_or(Ok(()), Err)
}

/// A list that a step finds in the input.
#[derive(Debug)]
pub(super) struct InputList {
    name: String,
    step: String,
    items_max: usize,
    /// the step may be passed over, so what stands there may be something else than a list
    conditional: bool,
}

impl InputList {
    /// The lists that the steps of a workflow find in its input.
    pub(super) fn of(workflow: &Workflow) -> Vec<Self> {
        // An output overrules the input, and its value is not known yet.
        let outputs: Vec<&str> = workflow
            .steps
            .iter()
            .flat_map(|step| step.outputs.keys())
            .map(String::as_str)
            .collect();
        let lists = workflow.steps.iter().filter_map(Self::of_step);
        lists.filter(|list| !is_known(&list.name, outputs.iter().copied())).collect()
    }

    fn of_step(step: &StepSpec) -> Option<Self> {
        let for_each = step.for_each.as_ref()?;
        let name = template::sole_name(for_each.list.as_str()?)?;
        Some(Self {
            name: name.to_owned(),
            step: step.id.clone(),
            items_max: usize::from(for_each.items_max.min(ITEMS_MAX)),
            conditional: step.when.is_some(),
        })
    }

    /// What is wrong with the list that this input holds.
    pub(super) fn problem(&self, input: &Map<String, Value>) -> Option<Problem> {
        let nothing = Map::new();
        let scope = Scope { special: &nothing, outputs: &nothing, input };
        let value = template::value_of(&self.name, &scope).ok()?;
        let (code, message) = match value.as_array() {
            Some(items) if items.len() > self.items_max => {
                let message = format!("the list has {} items", items.len());
                ("for_each_too_many", message)
            }
            Some(_) => return None,
            None if self.conditional => return None,
            None => ("for_each_not_a_list", format!("this must be a list, not {}", value.kind())),
        };
        let help = format!(
            "step {} is done for each of its items, and may have {}",
            quoted(&self.step),
            self.items_max
        );
        Some(Problem::new(code, message).at(format!("payload.{}", self.name)).help(help))
    }
}
