//! Work that was given up.

use std::collections::BTreeMap;

use stepwell_core::id::RunId;

use super::Tables;
use crate::model::{DeadLetter, DeadLetterDepth, DeadLetterFilter, NewDeadLetter, Settlement};

impl Tables {
    /// Stores a dead letter of a run.
    pub(super) fn give_up(&mut self, run: RunId, letter: NewDeadLetter) {
        let Some(entry) = self.runs.get(&run) else { return };
        let header = &entry.run.header;
        self.keep_letter(DeadLetter {
            id: 0,
            run: Some(run),
            message: None,
            tenant: header.tenant.clone(),
            dialect: Some(header.dialect),
            workflow: header.workflow.name.clone(),
            letter,
            settlement: None,
        });
    }

    /// Stores a dead letter under the next number.
    pub(super) fn keep_letter(&mut self, letter: DeadLetter) {
        self.dead_letters_ever += 1;
        let id = self.dead_letters_ever;
        self.dead_letters.insert(id, DeadLetter { id, ..letter });
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

    /// How many nobody has settled, by reason.
    pub(super) fn depths(&self) -> Vec<DeadLetterDepth> {
        let mut depths: BTreeMap<&str, DeadLetterDepth> = BTreeMap::new();
        for found in self.dead_letters.values().filter(|found| found.settlement.is_none()) {
            let NewDeadLetter { reason, at, .. } = &found.letter;
            let depth = depths.entry(reason).or_insert_with(|| DeadLetterDepth {
                reason: reason.clone(),
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
