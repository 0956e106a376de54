//! The answers of the API, as far as they are read.

use serde::Deserialize;

/// A statement, and its result once it has one.
#[derive(Deserialize)]
pub(super) struct Statement {
    pub(super) statement_id: Option<String>,
    pub(super) status: Status,
    pub(super) manifest: Option<Manifest>,
    pub(super) result: Option<Chunk>,
}

#[derive(Deserialize)]
pub(super) struct Status {
    pub(super) state: State,
    error: Option<Failure>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum State {
    Pending,
    Running,
    Succeeded,
    Failed,
    Canceled,
    Closed,
}

/// Why something failed.
#[derive(Deserialize)]
pub(super) struct Failure {
    error_code: Option<String>,
    message: Option<String>,
}

impl Failure {
    pub(super) fn said(self) -> String {
        let parts = [self.error_code, self.message];
        parts.into_iter().flatten().collect::<Vec<_>>().join(": ")
    }
}

impl Status {
    /// Why it did not succeed.
    pub(super) fn said(self) -> String {
        match (self.error, self.state) {
            (Some(error), _) => error.said(),
            (None, State::Canceled) => "the statement was canceled".to_owned(),
            (None, State::Closed) => {
                "the statement was closed before its result was read".to_owned()
            }
            (None, State::Pending | State::Running | State::Succeeded | State::Failed) => {
                "no reason was given".to_owned()
            }
        }
    }
}

/// What a result looks like.
#[derive(Deserialize)]
pub(super) struct Manifest {
    schema: Option<Schema>,
    #[serde(default)]
    pub(super) truncated: bool,
    pub(super) total_row_count: Option<u64>,
}

#[derive(Deserialize)]
struct Schema {
    #[serde(default)]
    columns: Vec<Column>,
}

#[derive(Deserialize)]
pub(super) struct Column {
    pub(super) name: String,
    #[serde(default)]
    pub(super) type_name: String,
    #[serde(default)]
    position: u32,
}

impl Manifest {
    /// How many rows were announced.
    pub(super) fn rows(&self) -> u64 {
        self.total_row_count.unwrap_or(0)
    }

    /// The columns in the order of the values of a row.
    pub(super) fn columns(self) -> Vec<Column> {
        let mut columns = self.schema.map(|schema| schema.columns).unwrap_or_default();
        columns.sort_by_key(|column| column.position);
        columns
    }
}

/// A part of a result.
#[derive(Default, Deserialize)]
pub(super) struct Chunk {
    /// rows of values; every value is text or null
    pub(super) data_array: Option<Vec<Vec<Option<String>>>>,
    pub(super) next_chunk_internal_link: Option<String>,
}
