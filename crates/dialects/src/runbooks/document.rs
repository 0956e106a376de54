//! What a runbook document says, once it is known to be sound.
//!
//! Fields are named as in the document. Every step holds the retry settings that count for it: what
//! the document says for all steps has been applied by the reader.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use stepwell_core::definition::Poll;
use stepwell_core::duration::Interval;

use super::offset::Offset;

/// A timeline of phases for a batch of members.
#[derive(Clone, Debug, PartialEq)]
pub struct Runbook {
    /// versions are counted for each name
    pub name: String,
    /// for people
    pub description: String,
    /// where the members come from
    pub data_source: DataSource,
    /// done once for each batch, before any phase; may be empty
    pub init: Vec<RunbookStep>,
    /// in the order in which they are due; of equal offsets, in the order of the document
    pub phases: Vec<PhaseSpec>,
    /// done for a member that left its batch; may be empty
    pub on_member_removed: Vec<RunbookStep>,
    /// done for a member whose step failed for good and names one of them
    pub rollbacks: BTreeMap<String, Vec<RunbookStep>>,
}

/// Where the members come from, and which of them belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataSource {
    /// the system that is asked, and what it is asked
    pub kind: SourceKind,
    /// the environment variable that holds the connection string, URL or path
    pub connection: String,
    /// the column that identifies a member
    pub primary_key: String,
    /// how members are grouped into batches
    pub batch_time: BatchTime,
    /// columns that hold several values
    pub multi_valued_columns: Vec<MultiValuedColumn>,
    /// every column, if the document lists them; placeholders are then held against the list
    pub columns: Option<Vec<String>>,
}

/// The system that is asked, and what it is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceKind {
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
    /// a PostgreSQL database
    Postgres {
        /// SQL
        query: String,
    },
    /// a SQLite file
    Sqlite {
        /// SQL
        query: String,
    },
    /// a CSV file, or a directory of them, read whole
    Csv,
    /// a URL that answers with JSON
    Http {
        /// what follows the URL of the connection, if anything
        query: Option<String>,
        /// the dotted path of the list of rows in the answer, if the answer itself is not the list
        rows: Option<String>,
    },
}

/// How members are grouped into batches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BatchTime {
    /// members with the same moment in this column are a batch, and the moment is its T-0
    Column(String),
    /// whoever is new joins a batch that starts now
    Immediate,
}

impl BatchTime {
    /// The column that says which batch a member belongs to, if there is one.
    #[must_use]
    pub fn column(&self) -> Option<&str> {
        match self {
            Self::Column(name) => Some(name),
            Self::Immediate => None,
        }
    }
}

/// A column that holds several values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MultiValuedColumn {
    /// the column
    pub name: String,
    /// how its values are told apart
    pub format: MultiValueFormat,
}

/// How the values of one column are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MultiValueFormat {
    /// by semicolons
    SemicolonDelimited,
    /// by commas
    CommaDelimited,
    /// they are a JSON array
    JsonArray,
}

/// A phase as it is defined.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseSpec {
    /// unique in its runbook
    pub name: String,
    /// where it stands on the timeline
    pub offset: Offset,
    /// done one after another, for each member
    pub steps: Vec<RunbookStep>,
}

/// A step as it is defined.
#[derive(Clone, Debug, PartialEq)]
pub struct RunbookStep {
    /// for people; need not be unique
    pub name: String,
    /// the pool of workers
    pub worker_id: String,
    /// what the worker calls; may hold placeholders
    pub function: String,
    /// what the function is given; may hold placeholders
    pub params: Map<String, Value>,
    /// variable → where it stands in the result
    pub output_params: BTreeMap<String, String>,
    /// the rollback to run when it fails for good
    pub on_failure: Option<String>,
    /// how an unfinished result is asked for again
    pub poll: Option<Poll>,
    /// its own settings, or else those of the document
    pub retry: Retry,
    /// how long an attempt may take, if the document says so
    pub timeout: Option<Interval>,
}

/// How often a failed step is tried again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retry {
    /// beside the first attempt; 0 means that a failure is final
    pub max_retries: u32,
    /// from a failure to the next attempt
    pub interval: Interval,
}

impl Runbook {
    /// The name of a table for the members of a version. Nothing makes or reads such a table; the
    /// name is kept for whoever looks for it.
    #[must_use]
    pub fn data_table_name(&self, version: u32) -> String {
        let sanitize = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let name: String = self.name.chars().map(sanitize).collect();
        format!("runbook_{name}_v{version}")
    }
}
