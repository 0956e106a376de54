//! The data source of a world's runbook: rows that change, and answers that fail, are empty or late.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use stepwell_connectors::bus::Answer;
use stepwell_connectors::source::{Rows, Source, SourceError};
use stepwell_core::time::Timestamp;
use stepwell_dialects::runbooks::rows::MemberRow;

use crate::chance::Chance;
use crate::clock::NOON_MS;
use crate::faults::Kind;
use crate::life::Life;
use crate::plan::Plan;
use crate::runbooks::{KEY, START};
use crate::shared::Shared;

/// More rows than this a source never has, so that a world stays quick.
const ROWS_MAX: usize = 8;

/// What the source has at this moment.
#[derive(Clone, Debug, Default)]
pub struct Shelf {
    rows: BTreeMap<String, Row>,
    /// the moments that rows have
    slots: Vec<Timestamp>,
    /// how many keys were ever used
    keys: u32,
}

/// One row.
#[derive(Clone, Debug)]
struct Row {
    size: u64,
    slot: Timestamp,
}

impl Shelf {
    /// The rows that a world begins with.
    #[must_use]
    pub fn draw(plan: &Plan) -> Self {
        let chance = &mut Chance::of(plan.seed, "rows");
        let mut shelf = Self::default();
        for _ in 0..plan.batches {
            let minutes = chance.between(5, plan.chaos_ms / 60_000 + 20);
            let slot = Timestamp::from_millis(NOON_MS.saturating_add_unsigned(minutes * 60_000));
            shelf.slots.push(slot);
            for _ in 0..chance.between(1, 4) {
                shelf.join(slot);
            }
        }
        shelf
    }

    /// Somebody joins, leaves, comes back, changes, or moves to another moment.
    pub fn change(&mut self, chance: &mut Chance) {
        let slot = *chance.one_of(&self.slots);
        let keys: Vec<String> = self.rows.keys().cloned().collect();
        if keys.is_empty() || (chance.permille(400) && keys.len() < ROWS_MAX) {
            return self.join(slot);
        }
        let key = chance.one_of(&keys).clone();
        match chance.below(4) {
            0 => drop(self.rows.remove(&key)),
            1 if self.keys > 1 => {
                // Whoever left may come back; whoever is there stays as it is.
                let back = format!("m{}", 1 + chance.below(u64::from(self.keys)));
                self.rows.entry(back).or_insert(Row { size: 1, slot });
            }
            2 => drop(self.rows.insert(key, Row { size: 1, slot })),
            _ => {
                if let Some(row) = self.rows.get_mut(&key) {
                    row.size += 1;
                }
            }
        }
    }

    fn join(&mut self, slot: Timestamp) {
        self.keys += 1;
        self.rows.insert(format!("m{}", self.keys), Row { size: 1, slot });
    }

    fn answer(&self) -> Vec<Map<String, Value>> {
        let row = |(key, row): (&String, &Row)| data(key, row.size, Some(row.slot));
        self.rows.iter().map(row).collect()
    }

    /// Who has which moment.
    fn slots_by_key(&self) -> BTreeMap<String, Timestamp> {
        self.rows.iter().map(|(key, row)| (key.clone(), row.slot)).collect()
    }
}

/// A member as a person writes it into a list.
#[must_use]
pub fn by_hand(key: &str) -> MemberRow {
    MemberRow { key: key.to_owned(), data: data(key, 1, None) }
}

fn data(key: &str, size: u64, slot: Option<Timestamp>) -> Map<String, Value> {
    let mut data = Map::new();
    data.insert(KEY.to_owned(), json!(key));
    data.insert("size".to_owned(), json!(size));
    if let Some(slot) = slot {
        data.insert(START.to_owned(), json!(slot.to_string()));
    }
    data
}

/// The source as one instance reaches it.
pub struct SimSource {
    shared: Arc<Shared>,
    life: Arc<Life>,
}

impl SimSource {
    /// The way of one instance to the source.
    #[must_use]
    pub fn new(shared: &Arc<Shared>, life: &Arc<Life>) -> Self {
        Self { shared: Arc::clone(shared), life: Arc::clone(life) }
    }

    async fn ask(&self) -> Result<Rows, SourceError> {
        let Self { shared, life } = self;
        life.pass().await;
        if shared.strikes(Kind::SourceSlow, life) {
            let mut chance = Chance::of(shared.plan.seed, &format!("source {}", shared.now()));
            shared.clock.sleep_ms(chance.between(1_000, 240_000)).await;
            life.pass().await;
        }
        if life.is_dead() || shared.strikes(Kind::SourceFailed, life) {
            return Err(SourceError::Unreachable { reason: "told to be away".to_owned() });
        }
        if shared.strikes(Kind::SourceEmpty, life) {
            return Ok(Rows::default());
        }
        let shelf = shared.shelf().clone();
        let rows = shelf.answer();
        shared.note(life, format_args!("reads {} rows", rows.len()));
        shared.oracle().source_answered(shelf.slots_by_key());
        Ok(Rows { columns: Vec::new(), rows })
    }
}

impl Source for SimSource {
    fn rows(&self) -> Answer<'_, Result<Rows, SourceError>> {
        Box::pin(self.ask())
    }
}
