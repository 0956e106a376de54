//! Reads a file that nobody uses, table by table, and changes nothing in it.

use std::path::{Path, PathBuf};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension, Row};
use stepwell_core::definition::Part;
use stepwell_core::id::RunId;
use uuid::Uuid;

use super::lock::Lock;
use super::{Options, connection, load, migrate};
use crate::error::StoreError;
use crate::model::StoredRun;
use crate::transfer::{Cell, Digest, HISTORY_TABLE, Origin, StepNames, TABLES, Table};

/// Rows that are handed on together.
const PAGE: usize = 1_000;

/// A file that is moved. As long as this lives, no server can start on it.
#[derive(Debug)]
pub(crate) struct Source {
    path: PathBuf,
    db: Connection,
    _lock: Lock,
}

/// What the steps of a run are called, in order.
struct Names {
    all: Vec<String>,
    /// a step without a name is no fault
    may_lack: bool,
}

impl Source {
    /// Takes the file, for reading only.
    ///
    /// # Errors
    /// `Refused` if there is no such file, somebody uses it, or another release wrote it.
    pub(crate) fn open(path: &Path) -> Result<Self, StoreError> {
        if !path.is_file() {
            return Err(StoreError::Refused {
                reason: format!("there is no store at {}; name its file", path.display()),
            });
        }
        let lock = Lock::take(path)?;
        let db = connection::open_reader(path, &Options::default())?;
        migrate::check_current(&db, path)?;
        Ok(Self { path: path.to_owned(), db, _lock: lock })
    }

    /// How many rows each table has, in the order of the tables.
    pub(crate) fn counts(&self) -> Result<Vec<u64>, StoreError> {
        TABLES.iter().map(|table| self.count(table.name)).collect()
    }

    fn count(&self, table: &str) -> Result<u64, StoreError> {
        let sql = format!("SELECT count(*) FROM {table}");
        let count: i64 = self.db.query_row(&sql, [], |row| row.get(0))?;
        u64::try_from(count).map_err(|_| StoreError::broken("a count is negative"))
    }

    /// The highest number that a table has ever given, also if its row is gone.
    pub(crate) fn last_number(&self, table: &Table) -> Result<i64, StoreError> {
        let sql = format!(
            "SELECT max(coalesce((SELECT max(id) FROM {0}), 0),
                        coalesce((SELECT seq FROM sqlite_sequence WHERE name = '{0}'), 0))",
            table.name
        );
        Ok(self.db.query_row(&sql, [], |row| row.get(0))?)
    }

    /// Hands the rows of a table on, page by page; `names` knows what steps are called.
    pub(crate) fn read(
        &self,
        table: &Table,
        names: &mut StepNames,
        mut page: impl FnMut(Vec<Vec<Cell>>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let columns: Vec<&str> =
            table.columns.iter().map(|it| source_of(it.origin, it.name)).collect();
        let (columns, order) = (columns.join(", "), table.order);
        let sql = format!("SELECT {columns} FROM {} ORDER BY {order}", table.name);
        let mut statement = self.db.prepare(&sql)?;
        let mut rows = statement.query([])?;
        let mut kept = Vec::with_capacity(PAGE);
        while let Some(row) = rows.next()? {
            kept.push(cells(row, table.columns.len())?);
            if kept.len() == PAGE {
                self.name_steps(table, &mut kept, names)?;
                page(std::mem::replace(&mut kept, Vec::with_capacity(PAGE)))?;
            }
        }
        self.name_steps(table, &mut kept, names)?;
        if kept.is_empty() { Ok(()) } else { page(kept) }
    }

    /// Fills in what steps are called, which stands in the workflow of their run.
    fn name_steps(
        &self,
        table: &Table,
        rows: &mut [Vec<Cell>],
        names: &mut StepNames,
    ) -> Result<(), StoreError> {
        let place = |origin: Origin| table.columns.iter().position(|it| it.origin == origin);
        let Some(name_at) = place(Origin::StepName) else { return Ok(()) };
        let column = |name: &str| {
            let found = table.columns.iter().position(|it| it.name == name);
            found.expect("a table with names of steps has a run and positions")
        };
        let (run_at, position_at) = (column("run_id"), column("position"));
        let mut known: Option<(RunId, Names)> = None;
        for row in rows {
            let run = run_of(&row[run_at])?;
            if known.as_ref().is_none_or(|(of, _)| *of != run) {
                known = Some((run, self.names_of(run, names)?));
            }
            let position = match &row[position_at] {
                Cell::Number(position) => usize::try_from(*position).ok(),
                Cell::Null | Cell::Text(_) | Cell::Bytes(_) => None,
            };
            let names = known.as_ref().map(|(_, names)| names);
            let name = names.zip(position).and_then(|(names, at)| names.all.get(at));
            match name {
                Some(name) => row[name_at] = Cell::Text(name.clone()),
                None if names.is_some_and(|names| names.may_lack) => {}
                None => {
                    let fault = format!("{run} has a step that its workflow does not have");
                    return Err(StoreError::broken(fault));
                }
            }
        }
        Ok(())
    }

    fn names_of(&self, run: RunId, names: &mut StepNames) -> Result<Names, StoreError> {
        let absent = || StoreError::broken(format!("steps of {run} are there without the run"));
        let stored: StoredRun =
            load::load(&self.db, &[run], load::Depth::Whole)?.pop().ok_or_else(absent)?;
        if stored.header.membership.is_some() {
            return self.names_in_batch(&stored);
        }
        let source: Option<String> = self
            .db
            .prepare_cached("SELECT source FROM workflow WHERE name = ?1 AND version = ?2")?
            .query_row((&stored.workflow, stored.workflow_version), |row| row.get(0))
            .optional()?;
        let source = source.ok_or_else(|| {
            StoreError::broken(format!("the workflow {} of {run} is not there", stored.workflow))
        })?;
        let all = names(stored, &source).map_err(StoreError::broken)?;
        Ok(Names { all, may_lack: false })
    }

    /// What the steps of a batch's run are called, without reading its runbook. What undoes a step is
    /// asked for by its place only, and has no names here.
    fn names_in_batch(&self, run: &StoredRun) -> Result<Names, StoreError> {
        if run.header.part != Part::Main {
            return Ok(Names { all: Vec::new(), may_lack: true });
        }
        let sql = "SELECT step FROM step_spec WHERE workflow = ?1 AND workflow_version = ?2
                    ORDER BY position";
        let mut statement = self.db.prepare_cached(sql)?;
        let found = statement
            .query_map((&run.workflow, run.workflow_version), |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        Ok(Names { all: found, may_lack: false })
    }

    /// The hash over the whole history.
    pub(crate) fn digest(&self) -> Result<Digest, StoreError> {
        let sql = format!(
            "SELECT run_id, version, at, entries FROM {HISTORY_TABLE} ORDER BY run_id, version"
        );
        let mut statement = self.db.prepare(&sql)?;
        let mut rows = statement.query([])?;
        let mut digest = Digest::default();
        while let Some(row) = rows.next()? {
            let run: [u8; 16] = row.get(0)?;
            let entries = row.get_ref(3)?.as_str().map_err(unreadable)?;
            digest.add(&run, row.get(1)?, row.get(2)?, entries);
        }
        Ok(digest)
    }

    /// Marks the file as moved, so that no server starts on it by mistake.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(crate) fn mark_as_moved(self) -> Result<(), StoreError> {
        drop(self.db);
        let db = connection::open_writer(&self.path, &Options::default())?;
        migrate::mark_as_moved(&db)
    }
}

/// Where the values of a column are read from.
fn source_of(origin: Origin, name: &'static str) -> &'static str {
    match origin {
        Origin::Same => name,
        Origin::Nobody => "0",
        Origin::StepName => "NULL",
    }
}

fn cells(row: &Row<'_>, count: usize) -> Result<Vec<Cell>, StoreError> {
    let cell = |column: usize| {
        Ok(match row.get_ref(column)? {
            ValueRef::Null => Cell::Null,
            ValueRef::Integer(number) => Cell::Number(number),
            ValueRef::Text(text) => {
                Cell::Text(std::str::from_utf8(text).map_err(unreadable)?.to_owned())
            }
            ValueRef::Blob(bytes) => Cell::Bytes(bytes.to_vec()),
            ValueRef::Real(_) => return Err(StoreError::broken("no column holds fractions")),
        })
    };
    (0..count).map(cell).collect()
}

fn run_of(cell: &Cell) -> Result<RunId, StoreError> {
    let bytes = match cell {
        Cell::Bytes(bytes) => <[u8; 16]>::try_from(bytes.as_slice()).ok(),
        Cell::Null | Cell::Number(_) | Cell::Text(_) => None,
    };
    let bytes = bytes.ok_or_else(|| StoreError::broken("the id of a run has not 16 bytes"))?;
    Ok(RunId(Uuid::from_bytes(bytes)))
}

fn unreadable(cause: impl std::error::Error + Send + Sync + 'static) -> StoreError {
    StoreError::broken_by("a text is not readable", cause)
}
