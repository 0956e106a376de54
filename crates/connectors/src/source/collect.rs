//! Rows as they come in.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::error::SourceError;
use super::{Limits, Rows};

/// Gathers rows up to a limit.
pub(super) struct Collector {
    rows: Rows,
    rows_max: usize,
}

impl Collector {
    /// For rows that all have these columns.
    ///
    /// # Errors
    ///
    /// `Query` if two columns have the same name, or one has none: a row could not tell them apart.
    pub(super) fn new(columns: Vec<String>, limits: Limits) -> Result<Self, SourceError> {
        let mut names = BTreeSet::new();
        for name in &columns {
            let fault = if name.is_empty() {
                "a column has no name; give every column one".to_owned()
            } else if names.insert(name.as_str()) {
                continue;
            } else {
                format!("two columns are called {name:?}; give each a name of its own")
            };
            return Err(SourceError::Query { message: fault });
        }
        let rows = Rows { columns, rows: Vec::new() };
        Ok(Self { rows, rows_max: limits.rows_max })
    }

    pub(super) fn columns(&self) -> &[String] {
        &self.rows.columns
    }

    /// Adds a row of the values of all columns, in their order.
    pub(super) fn push_values(
        &mut self,
        values: impl IntoIterator<Item = Value>,
    ) -> Result<(), SourceError> {
        let row = self.rows.columns.iter().cloned().zip(values).collect();
        self.push(row)
    }

    /// Adds a row.
    pub(super) fn push(&mut self, row: Map<String, Value>) -> Result<(), SourceError> {
        if self.rows.rows.len() >= self.rows_max {
            return Err(SourceError::TooManyRows { rows_max: self.rows_max });
        }
        self.rows.rows.push(row);
        Ok(())
    }

    pub(super) fn len(&self) -> usize {
        self.rows.rows.len()
    }

    pub(super) fn finish(self) -> Rows {
        self.rows
    }
}
