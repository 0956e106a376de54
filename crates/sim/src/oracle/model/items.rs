//! Steps with conditions, and steps that are done once for each item of a list, a second time.

use serde_json::Value;
use stepwell_core::condition::{Condition, Operand, Operator};
use stepwell_core::entry::OperationKind;
use stepwell_core::id::StepIndex;
use stepwell_core::time::Timestamp;

use super::{Model, Stage, StepModel, Verdict};
use crate::oracle::rules::{ITEMS_MAKE_THE_STEP, ORDER_OF_STEPS};

impl Model {
    pub(super) fn is_item(&self, step: StepIndex) -> bool {
        step.position() >= self.header.specs().len()
    }

    /// The step that an item belongs to; any other step is its own.
    pub(super) fn own(&self, step: StepIndex) -> StepIndex {
        let around = self.items.iter().find(|(_, items)| items.contains(&step.position()));
        around.map_or(step, |(parent, _)| *parent)
    }

    fn items_of(&self, step: StepIndex) -> impl Iterator<Item = StepIndex> + use<> {
        let items = self.items.iter().find(|(parent, _)| *parent == step);
        items.map_or(0..0, |(_, items)| items.clone()).map(StepIndex::at)
    }

    /// The step makes its items: in its turn, or with the start of a run that takes some over.
    pub(super) fn expanded(&mut self, step: StepIndex, list: &Value, at: Timestamp) -> Verdict {
        let taken_over = self.starting && !self.may_start(step);
        if !taken_over {
            self.must_be_startable(step, at)?;
            // What an earlier run has judged is not judged again: its variables may have changed since.
            if !(self.starting && self.header.resumes.is_some()) {
                self.must_be_judged(step, Some(true))?;
            }
        }
        let count = list.as_array().map(Vec::len);
        let for_each = self.spec(step).for_each.as_ref();
        let allowed = for_each.map_or(0, |for_each| usize::from(for_each.items_max));
        let sound = !self.is_item(step) && count.is_some_and(|count| count <= allowed);
        ITEMS_MAKE_THE_STEP.check(sound, || {
            format!("step {} was expanded to {count:?} items of {allowed}", step.0)
        })?;
        let first = self.steps.len();
        self.steps.resize(first + count.unwrap_or(0), StepModel::default());
        self.items.push((step, first..self.steps.len()));
        self.set(step, Stage::Expanded);
        Ok(())
    }

    /// All its items ended well, or failed where that does not matter.
    pub(super) fn gathered(&mut self, step: StepIndex) -> Verdict {
        let lenient = self.spec(step).continue_on_failure;
        let well = self.items_of(step).all(|item| match self.stage(item) {
            Stage::Succeeded | Stage::Skipped { .. } => true,
            Stage::Failed => lenient,
            _ => false,
        });
        ITEMS_MAKE_THE_STEP.check(well && self.stage(step) == Stage::Expanded, || {
            format!("step {} succeeded while its items are {:?}", step.0, self.stages())
        })?;
        self.set_outputs(step, None);
        self.set(step, Stage::Succeeded);
        Ok(())
    }

    /// One of its items failed for good, and nothing of it is under way unless everything is lost.
    pub(super) fn failed_with_items(&self, step: StepIndex) -> Verdict {
        let failed = self.items_of(step).any(|item| self.stage(item) == Stage::Failed);
        let over = self.items_of(step).all(|item| self.stage(item).has_ended());
        let at_once = self.cancels_rest();
        let sound = failed && (over || at_once) && !self.spec(step).continue_on_failure;
        ITEMS_MAKE_THE_STEP.check(sound && self.stage(step) == Stage::Expanded, || {
            format!("step {} failed while its items are {:?}", step.0, self.stages())
        })
    }

    /// An item begins in the turn of its step, while fewer are under way than may be.
    pub(super) fn item_must_be_next(&self, item: StepIndex) -> Verdict {
        let step = self.own(item);
        let is_begun = |item: &StepIndex| {
            self.stage(*item) != Stage::Waiting && !self.stage(*item).has_ended()
        };
        let begun = self.items_of(step).filter(is_begun).count();
        let for_each = self.spec(step).for_each.as_ref();
        let parallel_max = for_each.and_then(|for_each| for_each.parallel_max);
        let in_turn = self.stage(step) == Stage::Expanded && self.may_start(step);
        let has_room = parallel_max.is_none_or(|max| begun < usize::from(max));
        let sound = in_turn && has_room && !self.is_lost_with_another(item);
        ORDER_OF_STEPS.check(sound, || format!("item {} began while {begun} were begun", item.0))
    }

    /// Another item of the same step failed for good, and that matters.
    pub(super) fn is_lost_with_another(&self, item: StepIndex) -> bool {
        let step = self.own(item);
        let failed = self.items_of(step).any(|other| self.stage(other) == Stage::Failed);
        self.is_item(item) && failed && !self.spec(step).continue_on_failure
    }

    /// A person has just passed over, or taken as done, the step that the item belongs to.
    pub(super) fn step_was_taken_over(&self, item: StepIndex) -> bool {
        let taken_over = |(step, operation): (StepIndex, OperationKind)| {
            step == self.own(item) && operation != OperationKind::Retry
        };
        self.is_item(item) && self.operated.is_some_and(taken_over)
    }

    /// With a list only the items are done; and a first attempt is made only if it is wanted.
    pub(super) fn must_be_done_itself(&self, step: StepIndex) -> Verdict {
        let has_list = self.spec(step).for_each.is_some();
        ITEMS_MAKE_THE_STEP.check(has_list == self.is_item(step), || {
            format!("step {} was dispatched, and has a list: {has_list}", step.0)
        })?;
        let first = self.model(step).attempt == 0 && !self.is_item(step);
        if first { self.must_be_judged(step, Some(true)) } else { Ok(()) }
    }

    /// The condition of a step says so; `None`: nobody can say.
    pub(super) fn must_be_judged(&self, step: StepIndex, expected: Option<bool>) -> Verdict {
        let when = self.spec(step).when.as_ref();
        let judged = when.map_or(Some(true), |condition| self.judge(condition));
        ORDER_OF_STEPS.check(judged == expected, || {
            format!("step {} was taken for {expected:?}, and its condition says {judged:?}", step.0)
        })
    }

    /// Judges what the workload draws, and nothing else.
    fn judge(&self, condition: &Condition) -> Option<bool> {
        match condition {
            Condition::Value(operand) => Some(self.value(operand) != Value::Null),
            Condition::Comparison { left, operator, right } => {
                let (left, right) = (self.value(left), self.value(right));
                match operator {
                    Operator::Equal => Some(left == right),
                    Operator::NotEqual => Some(left != right),
                    // Drawn only between a text and a number, which have no order.
                    _ => None,
                }
            }
            Condition::Not(_) | Condition::All(_) | Condition::Any(_) => {
                unreachable!("no such condition is drawn")
            }
        }
    }

    fn value(&self, operand: &Operand) -> Value {
        let found = match operand {
            Operand::Variable(name) => {
                self.outputs.get(name).or_else(|| self.header.input.get(name))
            }
            Operand::Literal(value) => Some(value),
            Operand::List(_) => unreachable!("no list is drawn"),
        };
        found.cloned().unwrap_or(Value::Null)
    }

    /// What a step sets with its result, or with what its items have set in theirs.
    pub(super) fn set_outputs(&mut self, step: StepIndex, result: Option<&Value>) {
        if self.is_item(step) {
            if let Some(result) = result {
                self.model_mut(step).result = Some(result.clone());
            }
            return;
        }
        for (name, path) in self.spec(step).outputs.clone() {
            let value = match result {
                // Taken over whole from another run, where it had items.
                Some(Value::Array(results)) if self.spec(step).for_each.is_some() => {
                    gathered(results.iter().map(|result| result.get(&path).cloned()))
                }
                Some(result) => result.get(&path).cloned(),
                None => gathered(
                    self.items_of(step)
                        .map(|item| self.model(item).result.as_ref()?.get(&path).cloned()),
                ),
            };
            if let Some(value) = value {
                self.outputs.insert(name, value);
            }
        }
    }
}

/// The list of what was found, if anything was, or nothing was asked.
fn gathered(found: impl Iterator<Item = Option<Value>>) -> Option<Value> {
    let found: Vec<Option<Value>> = found.collect();
    let any = found.is_empty() || found.iter().any(Option::is_some);
    any.then(|| found.into_iter().map(Option::unwrap_or_default).collect())
}
