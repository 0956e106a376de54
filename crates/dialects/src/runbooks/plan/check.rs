//! Which steps could not be dispatched, as the data of the members are.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};
use stepwell_core::template::{self, Scope};

use crate::runbooks::document::{Runbook, RunbookStep};
use crate::runbooks::read::SPECIALS;
use crate::runbooks::rows::MemberRow;

/// More different faults than this help nobody.
const FAULTS_MAX: usize = 100;

/// A step that could not be dispatched for some members.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unresolved {
    /// its phase
    pub phase: String,
    /// the step
    pub step: String,
    /// why, for people
    pub message: String,
    /// for how many members
    pub members: usize,
    /// the first of them
    pub first_member: String,
}

/// Fills in the templates of every step of every phase for every member, as far as it can be known
/// before anything ran, and reports the first fault of each member.
#[must_use]
pub fn check(runbook: &Runbook, members: impl Iterator<Item = MemberRow>) -> Vec<Unresolved> {
    let special: Map<String, Value> =
        SPECIALS.iter().map(|name| ((*name).to_owned(), Value::from("known later"))).collect();
    let steps = Steps::of(runbook);
    let mut faults: BTreeMap<(usize, String), Unresolved> = BTreeMap::new();
    for member in members {
        let Some((place, message)) = steps.first_fault(&special, &member.data) else { continue };
        let known = faults.len();
        let step = &steps.all[place];
        let fault = (place, message);
        if known >= FAULTS_MAX && !faults.contains_key(&fault) {
            continue;
        }
        let found = faults.entry(fault.clone()).or_insert_with(|| Unresolved {
            phase: step.phase.to_owned(),
            step: step.step.name.clone(),
            message: fault.1,
            members: 0,
            first_member: member.key,
        });
        found.members += 1;
    }
    faults.into_values().collect()
}

struct Steps<'r> {
    all: Vec<Placed<'r>>,
}

struct Placed<'r> {
    phase: &'r str,
    step: &'r RunbookStep,
    /// what the steps before it set, with values that nobody knows yet
    outputs: Map<String, Value>,
}

impl<'r> Steps<'r> {
    fn of(runbook: &'r Runbook) -> Self {
        let mut outputs = Map::new();
        let mut all = Vec::new();
        for phase in &runbook.phases {
            for step in &phase.steps {
                all.push(Placed { phase: &phase.name, step, outputs: outputs.clone() });
                let names = step.output_params.keys();
                outputs.extend(names.map(|name| (name.clone(), Value::from("known later"))));
            }
        }
        Self { all }
    }

    fn first_fault(
        &self,
        special: &Map<String, Value>,
        input: &Map<String, Value>,
    ) -> Option<(usize, String)> {
        self.all.iter().enumerate().find_map(|(place, placed)| {
            let scope = Scope { special, outputs: &placed.outputs, input };
            let function = template::resolve_text(&placed.step.function, &scope).map(drop);
            let params = || {
                let mut params = placed.step.params.iter();
                params.try_for_each(|(_, value)| resolvable(value, placed, &scope))
            };
            let fault = function.and_then(|()| params()).err()?;
            Some((place, fault.to_string()))
        })
    }
}

/// Whether a value can be filled in. A path into what a worker will return cannot be judged yet.
fn resolvable(
    value: &Value,
    placed: &Placed<'_>,
    scope: &Scope<'_>,
) -> Result<(), template::TemplateError> {
    let is_later = |name: &String| {
        name.contains('.') && template::is_known(name, placed.outputs.keys().map(String::as_str))
    };
    if template::variables(value)?.iter().any(is_later) {
        return Ok(());
    }
    template::resolve(value, scope).map(drop)
}
