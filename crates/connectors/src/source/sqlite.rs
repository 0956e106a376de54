//! A SQLite file, opened to be read only.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, OpenFlags, Statement};
use serde_json::Value;

use super::blocking::{self, Stop};
use super::collect::Collector;
use super::environment::Variables;
use super::error::SourceError;
use super::hidden::Hidden;
use super::{Limits, Rows, Source, value};
use crate::bus::Answer;

/// How long somebody who writes is waited for.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// The file of a variable, and what it is asked.
#[derive(Clone)]
pub(super) struct Sqlite {
    variable: String,
    path: PathBuf,
    query: String,
    limits: Limits,
    hidden: Hidden,
}

impl Sqlite {
    pub(super) fn open(
        variables: &Variables<'_>,
        query: &str,
        limits: Limits,
    ) -> Result<Self, SourceError> {
        let path = variables.connection()?;
        Ok(Self {
            variable: variables.name().to_owned(),
            hidden: Hidden::new([path.clone()]),
            path: path.into(),
            query: query.to_owned(),
            limits,
        })
    }

    fn read(&self, stop: &Stop) -> Result<Rows, SourceError> {
        let connection = connect(&self.path).map_err(|error| self.sorted(&error))?;
        let interrupt = connection.get_interrupt_handle();
        stop.interrupt_by(move || interrupt.interrupt());
        let mut statement = connection.prepare(&self.query).map_err(|error| self.sorted(&error))?;
        let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
        // Only what returns columns is a question; ATTACH and the like would reach other files.
        if columns.is_empty() || !statement.readonly() {
            let message = "it returns no columns; write a SELECT".to_owned();
            return Err(SourceError::Query { message });
        }
        let mut collector = Collector::new(columns, self.limits)?;
        self.collect(&mut statement, &mut collector, stop)?;
        Ok(collector.finish())
    }

    fn collect(
        &self,
        statement: &mut Statement<'_>,
        collector: &mut Collector,
        stop: &Stop,
    ) -> Result<(), SourceError> {
        let count = collector.columns().len();
        let mut rows = statement.query([]).map_err(|error| self.sorted(&error))?;
        while let Some(row) = rows.next().map_err(|error| self.sorted(&error))? {
            let values = (0..count).map(|index| {
                let value = row.get_ref(index).map_err(|error| self.sorted(&error))?;
                of(value).ok_or_else(|| {
                    let column = row.as_ref().column_name(index).unwrap_or_default();
                    SourceError::unreadable(format!("a text in column {column:?} is not UTF-8"))
                })
            });
            let values: Vec<Value> = values.collect::<Result<_, _>>()?;
            collector.push_values(values)?;
            if stop.is_stopped() {
                return Err(SourceError::TimedOut { after: self.limits.time_max });
            }
        }
        Ok(())
    }

    fn sorted(&self, error: &rusqlite::Error) -> SourceError {
        let said = self.hidden.shown(&error.to_string());
        match error.sqlite_error_code() {
            Some(ErrorCode::CannotOpen) => SourceError::Unreachable {
                reason: format!("the file that {} names cannot be opened", self.variable),
            },
            Some(ErrorCode::PermissionDenied) => SourceError::AccessDenied {
                reason: format!("the file that {} names may not be read", self.variable),
            },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => SourceError::Unreachable {
                reason: "somebody else holds the file locked".to_owned(),
            },
            Some(ErrorCode::OperationInterrupted) => {
                SourceError::TimedOut { after: self.limits.time_max }
            }
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => SourceError::unreadable(
                format!("the file that {} names is no SQLite database", self.variable),
            ),
            _ => SourceError::Query { message: said },
        }
    }
}

impl Source for Sqlite {
    fn rows(&self) -> Answer<'_, Result<Rows, SourceError>> {
        let source = self.clone();
        Box::pin(blocking::run(move |stop| source.read(stop)))
    }
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    Ok(connection)
}

/// A value as JSON; `None` if it is text that is none.
fn of(value: ValueRef<'_>) -> Option<Value> {
    Some(match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::from(number),
        ValueRef::Real(number) => value::float(number),
        ValueRef::Text(text) => Value::from(std::str::from_utf8(text).ok()?),
        ValueRef::Blob(bytes) => value::bytes(bytes),
    })
}
