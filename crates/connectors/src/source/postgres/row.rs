//! A row as the server writes it in JSON.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio_postgres::types::Type;

use crate::source::error::SourceError;
use crate::source::value;

/// A column, and what its JSON needs.
pub(super) struct Column {
    pub(super) name: String,
    kind: Kind,
}

enum Kind {
    /// may have more digits than a reader of JSON keeps
    Number,
    /// has no zone, or another way to write UTC
    Moment,
    Other,
}

impl Column {
    pub(super) fn of(column: &tokio_postgres::Column) -> Self {
        let kind = match *column.type_() {
            Type::NUMERIC => Kind::Number,
            Type::TIMESTAMP | Type::TIMESTAMPTZ => Kind::Moment,
            _ => Kind::Other,
        };
        Self { name: column.name().to_owned(), kind }
    }
}

/// Reads a row.
pub(super) fn read(text: &str, columns: &[Column]) -> Result<Map<String, Value>, SourceError> {
    let unreadable =
        |error: serde_json::Error| SourceError::unreadable(format!("a row is not JSON ({error})"));
    let raw: BTreeMap<String, &RawValue> = serde_json::from_str(text).map_err(unreadable)?;
    let mut row = Map::new();
    for column in columns {
        let Some(raw) = raw.get(&column.name) else { continue };
        let is_number = raw.get().starts_with(|c: char| c == '-' || c.is_ascii_digit());
        let parsed = match column.kind {
            Kind::Number if is_number => value::decimal(raw.get()),
            Kind::Number | Kind::Moment | Kind::Other => {
                serde_json::from_str(raw.get()).map_err(unreadable)?
            }
        };
        let parsed = match (&column.kind, parsed) {
            (Kind::Moment, Value::String(text)) => value::moment(&text),
            (_, parsed) => parsed,
        };
        row.insert(column.name.clone(), parsed);
    }
    Ok(row)
}
