//! A step that is done once for each item of a list.
//!
//! When its turn comes, such a step is *expanded*: for each element of the list an **item** is added
//! behind the run's own steps. An item is a step like any other (attempts, lease, retries, polling,
//! result), follows its step's definition, and is called `resize[3]`. The step itself is never
//! dispatched; it ends when its items have. How far they have come is counted as they move, so that
//! the answer for one of ten thousand items costs no look at the others.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::definition::StepSpec;
use crate::id::StepIndex;
use crate::run::Run;
use crate::step::{Step, StepStatus};
use crate::steps::Steps;
use crate::template::{self, Scope};

/// The most items that any step may have, whatever its workflow says.
pub const ITEMS_MAX: u16 = 10_000;

/// The most items of a step whose workflow does not say.
pub const ITEMS_MAX_DEFAULT: u16 = 1_000;

/// The most steps and items that one run may have together.
pub const POSITIONS_MAX: usize = 65_535;

/// The name by which the templates of an item find its element of the list.
pub const ITEM: &str = "item";

/// The name by which they find its number, counted from 0.
pub const ITEM_INDEX: &str = "_item_index";

/// Where the items of a step stand, and how far they have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expansion {
    /// the step
    pub step: StepIndex,
    /// the position of its first item; the others follow
    pub first: u16,
    /// how many there are
    pub count: u16,
    /// the number of the first that has not begun; `count` if all have
    pub next: u16,
    /// how many have not begun
    pub waiting: u16,
    /// how many have begun and have not ended, those that are held included
    pub under_way: u16,
    /// how many wait for the next attempt of the whole run
    pub held: u16,
    /// how many failed for good
    pub failed: u16,
    /// how many were cancelled
    pub cancelled: u16,
}

/// An item of an expanded step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Item<'r> {
    /// its step
    pub step: StepIndex,
    /// which one, counted from 0
    pub number: u16,
    /// its element of the list
    pub value: &'r Value,
}

impl Expansion {
    /// Items that nothing has happened to yet.
    #[must_use]
    pub fn new(step: StepIndex, first: u16, count: u16) -> Self {
        let (next, under_way, held, failed, cancelled) = (0, 0, 0, 0, 0);
        Self { step, first, count, next, waiting: count, under_way, held, failed, cancelled }
    }

    /// The same, counted from the steps as they are: what a store reads back.
    #[must_use]
    pub fn counted(step: StepIndex, first: u16, count: u16, steps: &Steps) -> Self {
        let mut expansion = Self::new(step, first, count);
        for position in expansion.positions() {
            expansion.move_one(Place::Waiting, Place::of(&steps[position]));
        }
        expansion.pass_over_begun(steps);
        expansion
    }

    /// The positions of its items.
    #[must_use]
    pub fn positions(&self) -> std::ops::Range<usize> {
        let first = usize::from(self.first);
        first..first + usize::from(self.count)
    }

    /// The place of an item among the run's steps.
    #[must_use]
    pub fn item(&self, number: u16) -> StepIndex {
        StepIndex(self.first + number)
    }

    /// The places of all items.
    pub fn items(&self) -> impl Iterator<Item = StepIndex> + use<> {
        self.positions().map(StepIndex::at)
    }

    /// How many have not ended.
    #[must_use]
    pub fn open(&self) -> u16 {
        self.waiting + self.under_way
    }

    /// An item was somewhere and is somewhere else now.
    pub(crate) fn follow(&mut self, before: Place, after: Place, steps: &Steps) {
        self.move_one(before, after);
        if before == Place::Waiting {
            self.pass_over_begun(steps);
        }
    }

    fn move_one(&mut self, before: Place, after: Place) {
        for count in self.counts_of(before) {
            *count -= 1;
        }
        for count in self.counts_of(after) {
            *count += 1;
        }
    }

    fn counts_of(&mut self, place: Place) -> impl Iterator<Item = &mut u16> {
        let counts = match place {
            Place::Waiting => [Some(&mut self.waiting), None],
            Place::UnderWay => [Some(&mut self.under_way), None],
            Place::Held => [Some(&mut self.under_way), Some(&mut self.held)],
            Place::Settled => [None, None],
            Place::Failed => [Some(&mut self.failed), None],
            Place::Cancelled => [Some(&mut self.cancelled), None],
        };
        counts.into_iter().flatten()
    }

    /// No item ever goes back to where nothing has happened to it, so this passes each of them once.
    fn pass_over_begun(&mut self, steps: &Steps) {
        let waits = |item: StepIndex| steps[item.position()].status == StepStatus::Waiting;
        while self.next < self.count && !waits(self.item(self.next)) {
            self.next += 1;
        }
    }
}

/// Where an item stands, as far as its step cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Waiting,
    UnderWay,
    Held,
    /// it succeeded, or was passed over
    Settled,
    Failed,
    Cancelled,
}

impl Place {
    pub(crate) fn of(item: &Step) -> Self {
        match item.status {
            StepStatus::Waiting => Self::Waiting,
            StepStatus::RetryWait if item.is_held() => Self::Held,
            StepStatus::Ready
            | StepStatus::Dispatched
            | StepStatus::Acked
            | StepStatus::Polling
            | StepStatus::RetryWait => Self::UnderWay,
            StepStatus::Succeeded | StepStatus::Skipped => Self::Settled,
            StepStatus::Failed | StepStatus::TimedOut => Self::Failed,
            StepStatus::Cancelled => Self::Cancelled,
            StepStatus::Expanded => unreachable!("an item has no items of its own"),
        }
    }
}

impl Run {
    /// The definition that a step or an item follows.
    #[must_use]
    pub fn spec(&self, step: StepIndex) -> &StepSpec {
        &self.header.specs()[self.own_step(step).position()]
    }

    /// The step itself, or the step that an item belongs to.
    #[must_use]
    pub fn own_step(&self, step: StepIndex) -> StepIndex {
        self.expansion_around(step).map_or(step, |expansion| expansion.step)
    }

    /// It is an item, and not one of the workflow's own steps.
    #[must_use]
    pub fn is_item(&self, step: StepIndex) -> bool {
        step.position() >= self.header.specs().len()
    }

    /// The item at this place, if it is one.
    #[must_use]
    pub fn item(&self, step: StepIndex) -> Option<Item<'_>> {
        let expansion = self.expansion_around(step)?;
        let number = step.0 - expansion.first;
        let list = self.steps[expansion.step.position()].params.as_deref();
        let value = list.and_then(|list| list.get(usize::from(number))).unwrap_or(&Value::Null);
        Some(Item { step: expansion.step, number, value })
    }

    /// The items of a step, if it was expanded.
    #[must_use]
    pub fn expansion(&self, step: StepIndex) -> Option<&Expansion> {
        self.expansions.iter().find(|expansion| expansion.step == step)
    }

    /// The items among which this one is.
    fn expansion_around(&self, item: StepIndex) -> Option<&Expansion> {
        self.expansions.get(self.expansion_number(item)?)
    }

    /// Expansions stand in the order of their first items; none has a gap before it.
    pub(crate) fn expansion_number(&self, item: StepIndex) -> Option<usize> {
        if !self.is_item(item) {
            return None;
        }
        self.expansions.partition_point(|expansion| expansion.first <= item.0).checked_sub(1)
    }

    /// The workflow's own steps, each with its place. Items are not among them.
    pub fn own_steps(&self) -> impl Iterator<Item = (StepIndex, &Step)> {
        self.indexed().take(self.header.specs().len())
    }

    /// Every step and item with its place, the items of a step right after it.
    pub fn in_order(&self) -> impl Iterator<Item = (StepIndex, &Step)> {
        self.own_steps().flat_map(|(index, step)| {
            let items = self.expansion(index).into_iter().flat_map(Expansion::items);
            let items = items.map(|item| (item, &self.steps[item.position()]));
            std::iter::once((index, step)).chain(items)
        })
    }

    /// What people and wires call a step: its id, and for an item `resize[3]`. A history may be newer
    /// than the run it is shown with; an item that this run does not know yet is called by its place.
    #[must_use]
    pub fn step_id(&self, step: StepIndex) -> Cow<'_, str> {
        if step.position() >= self.steps.len() {
            return Cow::Owned(format!("#{}", step.0));
        }
        let id = self.spec(step).id.as_str();
        match self.expansion_around(step) {
            Some(expansion) => Cow::Owned(format!("{id}[{}]", step.0 - expansion.first)),
            None => Cow::Borrowed(id),
        }
    }

    /// The step or item that is called so.
    #[must_use]
    pub fn step_named(&self, id: &str) -> Option<StepIndex> {
        let own =
            |id: &str| self.header.specs().iter().position(|spec| spec.id == id).map(StepIndex::at);
        let Some((id, number)) = id.strip_suffix(']').and_then(|id| id.rsplit_once('[')) else {
            return own(id);
        };
        let expansion = self.expansion(own(id)?)?;
        // One name for each item: neither `resize[03]` nor `resize[+3]`.
        let number = number.parse::<u16>().ok().filter(|parsed| parsed.to_string() == number)?;
        (number < expansion.count).then(|| expansion.item(number))
    }

    /// What came of a step: the worker's result, or the list of its items' results, null for an item
    /// that has none.
    #[must_use]
    pub fn result(&self, step: StepIndex) -> Option<Cow<'_, Value>> {
        let state = &self.steps[step.position()];
        if let Some(result) = state.result.as_deref() {
            return Some(Cow::Borrowed(result));
        }
        let expansion = self.expansion(step).filter(|_| state.status == StepStatus::Succeeded)?;
        let results = self.item_results(expansion);
        Some(Cow::Owned(results.map(|result| result.cloned().unwrap_or(Value::Null)).collect()))
    }

    /// What came of each item, in order.
    pub(crate) fn item_results(
        &self,
        expansion: &Expansion,
    ) -> impl Iterator<Item = Option<&Value>> {
        expansion.positions().map(|position| self.steps[position].result.as_deref())
    }

    /// Where the templates of the step or item look for names.
    pub(crate) fn scope<'r>(&'r self, special: &'r Map<String, Value>) -> Scope<'r> {
        Scope { special, outputs: &self.outputs, input: &self.header.input }
    }

    /// The special variables of a step; those of an item know the item too.
    pub(crate) fn special(&self, step: StepIndex) -> Cow<'_, Map<String, Value>> {
        let Some(item) = self.item(step) else { return Cow::Borrowed(&self.header.special) };
        let mut special = self.header.special.clone();
        special.insert(ITEM.to_owned(), item.value.clone());
        special.insert(ITEM_INDEX.to_owned(), item.number.into());
        Cow::Owned(special)
    }

    /// The variables that a step sets with its result, each with its value if the result holds it.
    /// An item sets none: its step does, when all of them have ended.
    pub(crate) fn outputs_of<'r>(
        &'r self,
        step: StepIndex,
        result: Option<&'r Value>,
    ) -> impl Iterator<Item = (&'r str, Option<Value>)> {
        let outputs = (!self.is_item(step)).then(|| &self.spec(step).outputs);
        outputs
            .into_iter()
            .flatten()
            .map(move |(name, path)| (name.as_str(), self.output_of(step, result, path)))
    }

    fn output_of(&self, step: StepIndex, result: Option<&Value>, path: &str) -> Option<Value> {
        match (result, self.expansion(step)) {
            (Some(Value::Array(results)), _) if self.spec(step).for_each.is_some() => {
                template::output_of_items(results.iter().map(Some), path)
            }
            (Some(result), _) => template::output(result, path).cloned(),
            (None, Some(expansion)) => {
                template::output_of_items(self.item_results(expansion), path)
            }
            (None, None) => None,
        }
    }
}
