//! A data source says who is to be worked on: the trait, and the contract behind it.
//!
//! What a source promises, and the conformance suite holds it to:
//!
//! - **All or nothing.** It answers with every row, or with an error. A list that was cut short would
//!   look like members that have left, so a limit that is reached is an error too.
//! - **Values keep their types.** Numbers, truth values and nulls stay what they are; a time is text in
//!   RFC 3339, in UTC where the source says which moment it is; a number with more digits than JSON
//!   readers keep is text.
//! - **It only reads**, as far as the other side lets us say so.
//! - **It keeps secrets.** What an environment variable holds appears in no error.
//!
//! [`open`] makes the source of a [`SourceSpec`]. Opening touches nothing but the environment: whether
//! the other side answers is seen when the rows are asked for.

mod blocking;
mod collect;
#[cfg(feature = "conformance")]
pub mod conformance;
mod csv;
mod databricks;
#[cfg(feature = "dataverse")]
mod dataverse;
mod entra;
mod environment;
mod error;
mod hidden;
mod http;
#[cfg(feature = "postgres")]
mod postgres;
mod sqlite;
mod value;
mod web;

use std::time::Duration;

use serde_json::{Map, Value};

pub use self::environment::Environment;
use self::environment::Variables;
pub use self::error::SourceError;
use crate::bus::Answer;

/// Where rows come from.
pub trait Source: Send + Sync {
    /// Every row there is now.
    fn rows(&self) -> Answer<'_, Result<Rows, SourceError>>;
}

/// Rows, and the columns they have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// in the order of the source
    pub columns: Vec<String>,
    /// in the order of the source; column → value
    pub rows: Vec<Map<String, Value>>,
}

/// Which source, and what it is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceSpec {
    /// the environment variable that holds the connection string, URL or path
    pub connection: String,
    /// the system that is asked
    pub kind: SourceKind,
}

/// The system that is asked, and what it is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// a CSV file, or all of a directory
    Csv,
    /// a SQLite file
    Sqlite {
        /// SQL
        query: String,
    },
    /// a PostgreSQL database
    Postgres {
        /// SQL
        query: String,
    },
    /// a URL that answers with JSON
    Http {
        /// what follows the URL of the connection
        query: Option<String>,
        /// the dotted path of the list in the answer
        rows: Option<String>,
    },
    /// Dataverse, through its TDS endpoint
    Dataverse {
        /// SQL
        query: String,
    },
    /// Databricks, through its SQL statements API
    Databricks {
        /// SQL
        query: String,
        /// the environment variable that holds the id of the warehouse
        warehouse_id: String,
    },
}

/// How much is too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// rows of an answer
    pub rows_max: usize,
    /// bytes of an answer, where it is read as bytes
    pub bytes_max: usize,
    /// from the question to the last row
    pub time_max: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            rows_max: 200_000,
            bytes_max: 256 * 1024 * 1024,
            time_max: Duration::from_secs(4 * 60),
        }
    }
}

/// The source of a description. Variables are read once, here.
///
/// # Errors
///
/// `MissingVariable` and `BadVariable` for what the environment lacks, `NotBuilt` for a kind that this
/// program was built without.
pub fn open(
    spec: &SourceSpec,
    environment: &Environment<'_>,
    limits: Limits,
) -> Result<Box<dyn Source>, SourceError> {
    let variables = Variables::new(&spec.connection, environment);
    let source: Box<dyn Source> = match &spec.kind {
        SourceKind::Csv => Box::new(csv::Csv::open(&variables, limits)?),
        SourceKind::Sqlite { query } => Box::new(sqlite::Sqlite::open(&variables, query, limits)?),
        SourceKind::Postgres { query } => postgres(&variables, query, limits)?,
        SourceKind::Http { query, rows } => {
            Box::new(http::Http::open(&variables, query.as_deref(), rows.as_deref(), limits)?)
        }
        SourceKind::Dataverse { query } => dataverse(&variables, query, limits)?,
        SourceKind::Databricks { query, warehouse_id } => {
            Box::new(databricks::Databricks::open(&variables, query, warehouse_id, limits)?)
        }
    };
    Ok(Box::new(Timed { source, time_max: limits.time_max }))
}

#[cfg(feature = "postgres")]
fn postgres(
    variables: &Variables<'_>,
    query: &str,
    limits: Limits,
) -> Result<Box<dyn Source>, SourceError> {
    Ok(Box::new(postgres::Postgres::open(variables, query, limits)?))
}

#[cfg(not(feature = "postgres"))]
fn postgres(_: &Variables<'_>, _: &str, _: Limits) -> Result<Box<dyn Source>, SourceError> {
    Err(SourceError::NotBuilt { kind: "postgres", feature: "postgres" })
}

#[cfg(feature = "dataverse")]
fn dataverse(
    variables: &Variables<'_>,
    query: &str,
    limits: Limits,
) -> Result<Box<dyn Source>, SourceError> {
    Ok(Box::new(dataverse::Dataverse::open(variables, query, limits)?))
}

#[cfg(not(feature = "dataverse"))]
fn dataverse(_: &Variables<'_>, _: &str, _: Limits) -> Result<Box<dyn Source>, SourceError> {
    Err(SourceError::NotBuilt { kind: "dataverse", feature: "dataverse" })
}

/// A source that is not waited for without end. What it does when it is given up is its own business:
/// each stops the other side as well as it can when its answer is dropped.
struct Timed {
    source: Box<dyn Source>,
    time_max: Duration,
}

impl Source for Timed {
    fn rows(&self) -> Answer<'_, Result<Rows, SourceError>> {
        Box::pin(async {
            let rows = tokio::time::timeout(self.time_max, self.source.rows()).await;
            rows.unwrap_or(Err(SourceError::TimedOut { after: self.time_max }))
        })
    }
}
