//! From the rows of a data source to batches: which members belong together, and when they start.
//!
//! A row that cannot be used is left out and reported, and never spoils the others. Nothing
//! here knows which batches exist: that is for whoever compares the answer with the store.

mod key;
mod split;
mod time;

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};
use stepwell_core::time::Timestamp;

use super::document::{BatchTime, DataSource};
use crate::problem::quoted;

pub(super) use self::key::key_of_text;
pub(super) use self::split::split;
pub use self::time::nearest_mark;

/// How many rows a summary names; the others are counted.
const NAMED_MAX: usize = 3;

/// The rows of a source, sorted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grouping {
    /// members that belong together, the earliest start first; none is empty
    pub groups: Vec<Group>,
    /// rows that could not be used, in their order
    pub skipped: Vec<SkippedRow>,
    /// what the author of the query should look at
    pub warnings: Vec<String>,
    /// how many rows there were
    pub rows: usize,
}

/// Members that belong to one batch.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// T-0
    pub start: Timestamp,
    /// in the order of the rows
    pub members: Vec<MemberRow>,
}

/// A member as its source describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberRow {
    /// what identifies it
    pub key: String,
    /// every column, the key too, because templates may use it
    pub data: Map<String, Value>,
}

/// A row that could not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedRow {
    /// counted from 1
    pub row: usize,
    /// whose row it is, if it says so. The source still returns this member: it has not left.
    pub key: Option<String>,
    /// what is wrong with it
    pub reason: SkipReason,
}

/// What is wrong with a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkipReason {
    /// the row has no such column, and the source should
    NoColumn {
        /// the column
        column: String,
    },
    /// the key is null or empty
    NoKey {
        /// the key column
        column: String,
    },
    /// the key is neither a text nor a number, or cannot stand in a list
    BadKey {
        /// the key column
        column: String,
        /// why
        why: &'static str,
    },
    /// an earlier row has the same key
    DuplicateKey {
        /// that row
        first: usize,
    },
    /// the column that says when is null or empty
    NoTime {
        /// the column
        column: String,
    },
    /// the column that says when holds no moment
    BadTime {
        /// the column
        column: String,
        /// what it holds, shortened
        value: String,
    },
    /// a column of several values does not hold a list
    NotAList {
        /// the column
        column: String,
    },
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoColumn { column } => write!(f, "there is no column {}", quoted(column)),
            Self::NoKey { column } => write!(f, "{} is empty", quoted(column)),
            Self::BadKey { column, why } => write!(f, "{} {why}", quoted(column)),
            Self::DuplicateKey { first } => write!(f, "row {first} has the same key"),
            Self::NoTime { column } => write!(f, "{} is empty", quoted(column)),
            Self::BadTime { column, value } => {
                let column = quoted(column);
                write!(f, "{column} is no time: {value}; write it as 2026-03-15T08:00:00Z")
            }
            Self::NotAList { column } => write!(f, "{} is not a JSON array", quoted(column)),
        }
    }
}

impl fmt::Display for SkippedRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "row {}", self.row)?;
        if let Some(key) = &self.key {
            write!(f, " ({})", quoted(key))?;
        }
        write!(f, ": {}", self.reason)
    }
}

impl Grouping {
    /// Why nothing can be concluded from this answer, if so: not one of its rows can be used.
    ///
    /// A view that is broken, or has lost its key column, must not look like members that have left
    ///
    #[must_use]
    pub fn unusable(&self) -> Option<String> {
        if !self.groups.is_empty() {
            return None;
        }
        let skipped = self.skipped_summary();
        Some(skipped.unwrap_or_else(|| "the source returned no rows".to_owned()))
    }

    /// What was skipped, in one line for `last_error`; nothing if every row was used.
    #[must_use]
    pub fn skipped_summary(&self) -> Option<String> {
        let skipped = self.skipped.len();
        if skipped == 0 {
            return None;
        }
        let named: Vec<String> =
            self.skipped.iter().take(NAMED_MAX).map(ToString::to_string).collect();
        let more = match skipped.saturating_sub(NAMED_MAX) {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        Some(format!("{skipped} of {} rows skipped: {}{more}", self.rows, named.join("; ")))
    }
}

/// Sorts the rows of a source into batches.
///
/// `now` counts only for a source whose members start at once: they are one group, at the closest
/// mark of five minutes.
#[must_use]
pub fn group(source: &DataSource, rows: Vec<Map<String, Value>>, now: Timestamp) -> Grouping {
    let mut sorter = Sorter {
        source,
        now: nearest_mark(now),
        first_rows: BTreeMap::new(),
        groups: BTreeMap::new(),
    };
    let mut grouping =
        Grouping { rows: rows.len(), warnings: warnings(source, &rows), ..Grouping::default() };
    for (index, row) in rows.into_iter().enumerate() {
        if let Err(skipped) = sorter.take(index + 1, row) {
            grouping.skipped.push(skipped);
        }
    }
    let groups = sorter.groups.into_iter();
    grouping.groups = groups.map(|(start, members)| Group { start, members }).collect();
    grouping
}

struct Sorter<'s> {
    source: &'s DataSource,
    now: Timestamp,
    /// key → the row that has it
    first_rows: BTreeMap<String, usize>,
    groups: BTreeMap<Timestamp, Vec<MemberRow>>,
}

impl Sorter<'_> {
    fn take(&mut self, row: usize, mut data: Map<String, Value>) -> Result<(), SkippedRow> {
        let skip = |key: Option<&String>, reason| SkippedRow { row, key: key.cloned(), reason };
        let column = &self.source.primary_key;
        let key = key::key(column, find(&data, column)).map_err(|reason| skip(None, reason))?;
        if let Some(&first) = self.first_rows.get(&key) {
            return Err(skip(Some(&key), SkipReason::DuplicateKey { first }));
        }
        let start = self.start(&data).map_err(|reason| skip(Some(&key), reason))?;
        self.split(&mut data).map_err(|reason| skip(Some(&key), reason))?;
        self.first_rows.insert(key.clone(), row);
        self.groups.entry(start).or_default().push(MemberRow { key, data });
        Ok(())
    }

    fn start(&self, data: &Map<String, Value>) -> Result<Timestamp, SkipReason> {
        match &self.source.batch_time {
            BatchTime::Column(column) => time::start(column, find(data, column)),
            BatchTime::Immediate => Ok(self.now),
        }
    }

    /// Turns columns of several values into lists.
    fn split(&self, data: &mut Map<String, Value>) -> Result<(), SkipReason> {
        for column in &self.source.multi_valued_columns {
            let Some(name) = find_name(data, &column.name).map(str::to_owned) else { continue };
            let Some(value) = data.get_mut(&name) else { continue };
            let list = split(column.format, value.take());
            *value = list.ok_or(SkipReason::NotAList { column: name })?;
        }
        Ok(())
    }
}

fn find<'d>(data: &'d Map<String, Value>, column: &str) -> Option<&'d Value> {
    find_name(data, column).and_then(|name| data.get(name))
}

/// The column as the row spells it: some databases fold the names in a query to one case.
fn find_name<'d>(data: &'d Map<String, Value>, column: &str) -> Option<&'d str> {
    let exact = data.get_key_value(column).map(|(name, _)| name.as_str());
    exact.or_else(|| {
        let mut alike = data.keys().filter(|name| is_alike(name, column));
        alike.next().filter(|_| alike.next().is_none()).map(String::as_str)
    })
}

fn is_alike(left: &str, right: &str) -> bool {
    let fold = |text: &str| text.chars().flat_map(char::to_lowercase).collect::<String>();
    left.len() == right.len() && fold(left) == fold(right)
}

/// What is wrong with the columns as a whole, so that it is said once and not for every row.
fn warnings(source: &DataSource, rows: &[Map<String, Value>]) -> Vec<String> {
    let Some(row) = rows.first() else { return Vec::new() };
    let multi_valued = source.multi_valued_columns.iter().map(|column| column.name.as_str());
    let named = [Some(source.primary_key.as_str()), source.batch_time.column()];
    let named = named.into_iter().flatten().chain(multi_valued);
    let is_missing = |column: &&str| rows.iter().all(|row| find_name(row, column).is_none());
    let missing: Vec<String> = named.filter(is_missing).map(quoted).collect();
    let mut warnings = Vec::new();
    if !missing.is_empty() {
        let has: Vec<&str> = row.keys().map(String::as_str).collect();
        let (missing, has) = (missing.join(", "), listed(&has));
        warnings.push(format!("the source returns no column {missing}; its columns are {has}"));
    }
    let reserved: Vec<&str> =
        row.keys().map(String::as_str).filter(|name| name.starts_with('_')).collect();
    if !reserved.is_empty() {
        let reserved = listed(&reserved);
        warnings.push(format!(
            "no placeholder reaches {reserved}: names that begin with _ are the system's own"
        ));
    }
    warnings
}

/// Names in quotes, the first twenty of them.
pub(super) fn listed(names: &[&str]) -> String {
    const SHOWN_MAX: usize = 20;
    let mut shown: Vec<String> = names.iter().take(SHOWN_MAX).map(|name| quoted(name)).collect();
    if names.len() > SHOWN_MAX {
        shown.push(format!("and {} more", names.len() - SHOWN_MAX));
    }
    shown.join(", ")
}
