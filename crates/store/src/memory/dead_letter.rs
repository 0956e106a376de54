//! Work that was given up.

use std::collections::BTreeMap;

use stepwell_core::id::RunId;
use stepwell_core::run::Dialect;

use super::Tables;
use crate::model::{
    DeadLetter, DeadLetterDepth, DeadLetterFilter, GivenUp, NewDeadLetter, Origin, Settlement,
};

impl Tables {
    /// Gives work up: the letter, and what others are told of it.
    pub(super) fn give_up(&mut self, origin: Origin, given_up: GivenUp) {
        let GivenUp { letter, told } = given_up;
        self.events.append(told.events);
        self.promise(&origin, told.messages);
        self.dead_letters_ever += 1;
        let id = self.dead_letters_ever;
        let Origin { run, message, tenant, dialect, workflow } = origin;
        let dialect = Some(dialect);
        let settlement = None;
        let letter = DeadLetter { id, run, message, tenant, dialect, workflow, letter, settlement };
        self.dead_letters.insert(id, letter);
    }

    /// Whose work it is that is given up with a run.
    pub(super) fn origin(&self, run: RunId) -> Option<Origin> {
        let header = &self.runs.get(&run)?.run.header;
        Some(Origin {
            run: Some(run),
            message: None,
            tenant: header.tenant.clone(),
            dialect: header.dialect,
            workflow: header.workflow.name.clone(),
        })
    }

    pub(super) fn dead_letters(&self, filter: &DeadLetterFilter) -> Vec<DeadLetter> {
        let newest_first = self.dead_letters.values().rev();
        let found = newest_first.filter(|letter| matches(letter, filter));
        found.take(filter.limit_or_own()).cloned().collect()
    }

    pub(super) fn settle_dead_letter(&mut self, id: i64, settlement: Settlement) -> bool {
        let known = self.dead_letters.get_mut(&id);
        let unsettled = known.filter(|letter| letter.settlement.is_none());
        unsettled.map(|letter| letter.settlement = Some(settlement)).is_some()
    }

    pub(super) fn settle_dead_letters(&mut self, settlements: Vec<(i64, Settlement)>) -> Vec<bool> {
        let each = settlements.into_iter();
        each.map(|(id, settlement)| self.settle_dead_letter(id, settlement)).collect()
    }

    /// How many nobody has settled, by reason and dialect.
    pub(super) fn depths(&self) -> Vec<DeadLetterDepth> {
        let mut depths: BTreeMap<_, DeadLetterDepth> = BTreeMap::new();
        for found in self.dead_letters.values().filter(|found| found.settlement.is_none()) {
            let NewDeadLetter { reason, at, .. } = &found.letter;
            let key = (reason.as_str(), found.dialect.map(Dialect::word));
            let depth = depths.entry(key).or_insert_with(|| DeadLetterDepth {
                reason: reason.clone(),
                dialect: found.dialect,
                count: 0,
                oldest_at: *at,
            });
            depth.count += 1;
        }
        depths.into_values().collect()
    }
}

fn matches(letter: &DeadLetter, filter: &DeadLetterFilter) -> bool {
    let NewDeadLetter { reason, error, at, .. } = &letter.letter;
    filter.tenant.as_ref().is_none_or(|tenant| letter.tenant == *tenant)
        && (filter.dialect.is_none() || letter.dialect == filter.dialect)
        && filter.workflow.as_ref().is_none_or(|workflow| letter.workflow == *workflow)
        && filter.reason.as_ref().is_none_or(|wanted| reason == wanted)
        && filter.error_code.as_ref().is_none_or(|code| error.code == *code)
        && filter.from.is_none_or(|from| *at >= from)
        && filter.until.is_none_or(|until| *at < until)
        && filter.run.is_none_or(|run| letter.run == Some(run))
        && filter.id.is_none_or(|id| letter.id == id)
        && (filter.with_settled || letter.settlement.is_none())
        && filter.before.is_none_or(|before| letter.id < before)
}
