//! The turn of a step has come: is it worth doing, and once or once for each item of a list?

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use super::draft::Draft;
use crate::definition::ForEach;
use crate::entry::Entry;
use crate::expansion::{ITEMS_MAX, POSITIONS_MAX};
use crate::id::StepIndex;
use crate::step::{SkipReason, StepError};
use crate::template;

impl Draft<'_, '_> {
    /// Asks the condition of a step that has never been tried, and expands it if it has a list.
    /// `false` if that was all: the step was passed over, has failed, or has its items to do.
    pub(super) fn is_to_be_dispatched(&mut self, step: StepIndex) -> bool {
        // Its step was asked, once for all items; a later attempt is not asked again.
        if self.run.is_item(step) || self.step(step).attempt > 0 {
            return true;
        }
        match self.is_wanted(step) {
            Ok(true) => {}
            Ok(false) => {
                self.push(Entry::StepSkipped { step, reason: SkipReason::Condition });
                return false;
            }
            Err(error) => {
                self.fail(step, Entry::StepFailed { step, error });
                return false;
            }
        }
        match self.items_for(step) {
            Ok(None) => return true,
            Ok(Some(items)) => {
                self.push(Entry::StepExpanded { step, items: Arc::new(items) });
                self.go_on_with_items(step);
            }
            Err(error) => self.fail(step, Entry::StepFailed { step, error }),
        }
        false
    }

    fn is_wanted(&self, step: StepIndex) -> Result<bool, StepError> {
        let Some(when) = &self.spec(step).when else { return Ok(true) };
        let scope = self.run.scope(&self.run.header.special);
        when.holds(&scope).map_err(|error| StepError::new("condition_failed", error.to_string()))
    }

    /// The list that the step is done for; `None` if it is done once.
    fn items_for(&self, step: StepIndex) -> Result<Option<Value>, StepError> {
        let Some(for_each) = &self.spec(step).for_each else { return Ok(None) };
        let list = self.list(for_each)?;
        self.place_for(step, &list)?;
        Ok(Some(list.into_owned()))
    }

    /// A list behind a placeholder is taken as it is, however large; one in the document has its
    /// placeholders filled in.
    fn list<'a>(&'a self, for_each: &'a ForEach) -> Result<Cow<'a, Value>, StepError> {
        let scope = self.run.scope(&self.run.header.special);
        let list = match for_each.list.as_str().and_then(template::sole_name) {
            Some(name) => template::value_of(name, &scope).map(Cow::Borrowed),
            None => template::resolve(&for_each.list, &scope).map(Cow::Owned),
        };
        list.map_err(|problem| StepError::new("template_unresolved", problem.to_string()))
    }

    /// The position that the first of these items would have, if the step may have them.
    pub(super) fn place_for(&self, step: StepIndex, list: &Value) -> Result<usize, StepError> {
        let Value::Array(items) = list else {
            return Err(StepError::new(
                "for_each_not_a_list",
                format!("for_each needs a list, and was given {}", kind(list)),
            ));
        };
        let allowed = self.spec(step).for_each.as_ref().map_or(0, |it| it.items_max.min(ITEMS_MAX));
        let too_many = |limit: String| {
            let message = format!("for_each was given {} items; {limit}", items.len());
            StepError::new("for_each_too_many", message)
        };
        if items.len() > usize::from(allowed) {
            return Err(too_many(format!("this step may have {allowed}")));
        }
        let first = self.run.steps.len();
        if first + items.len() > POSITIONS_MAX {
            return Err(too_many(format!(
                "with them the run would have more than {POSITIONS_MAX} steps and items"
            )));
        }
        Ok(first)
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
