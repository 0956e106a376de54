//! What a run of a batch is given on its way: fresh values, and further steps.

use std::sync::Arc;

use serde_json::{Map, Value};
use stepwell_core::command::Adopted;
use stepwell_core::id::StepIndex;

use super::{Model, StepModel, Verdict};
use crate::oracle::rules::ORDER_OF_STEPS;

impl Model {
    pub(super) fn carry_outputs(&mut self, outputs: &Map<String, Value>) {
        self.outputs.extend(outputs.iter().map(|(name, value)| (name.clone(), value.clone())));
    }

    pub(super) fn refresh(
        &mut self,
        input: Option<&Map<String, Value>>,
        special: Option<&Map<String, Value>>,
    ) {
        let header = Arc::make_mut(&mut self.header);
        if let Some(input) = input {
            header.input.clone_from(input);
        }
        if let Some(special) = special {
            header.special.clone_from(special);
        }
    }

    /// The steps so far stay, and others come behind them. Of a stored history the header may know
    /// the longer workflow from the start.
    pub(super) fn adopt(&mut self, workflow: &Adopted) -> Verdict {
        self.adopting = true;
        let Some(definition) = &workflow.definition else { return Ok(()) };
        let known = self.header.specs();
        if definition.steps.len() <= known.len() {
            return Ok(());
        }
        let goes_on = definition.steps.starts_with(known) && self.items.is_empty();
        ORDER_OF_STEPS.check(goes_on, || "a newer version moved steps of a run".to_owned())?;
        self.steps.resize(definition.steps.len(), StepModel::default());
        Arc::make_mut(&mut self.header).workflow = Arc::clone(definition);
        Ok(())
    }

    /// Whole phases are passed over, and only when a run begins or goes over to a newer version.
    pub(super) fn may_be_passed_over(&self, step: StepIndex) -> bool {
        (self.starting || self.adopting) && self.spec(step).gate.is_some()
    }
}
