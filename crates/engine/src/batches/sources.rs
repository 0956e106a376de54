//! Where the rows of a runbook come from.

use std::fmt;
use std::sync::Arc;

use stepwell_connectors::source::{
    self, Limits, Rows, SourceError, SourceKind as Kind, SourceSpec,
};
use stepwell_dialects::runbooks::document::{DataSource, SourceKind};

/// How the data source of a runbook is opened.
type Open = dyn Fn(&DataSource) -> Result<Box<dyn source::Source>, SourceError> + Send + Sync;

/// Opens data sources. Whoever needs no real ones puts their own rows in their place.
#[derive(Clone)]
pub struct Sources(Arc<Open>);

impl Sources {
    /// Opens sources in this way.
    pub fn new(
        open: impl Fn(&DataSource) -> Result<Box<dyn source::Source>, SourceError>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        Self(Arc::new(open))
    }

    /// Real ones, within limits, with connections from the process's environment.
    #[must_use]
    pub fn real(limits: Limits) -> Self {
        Self::new(move |wanted| {
            let variable = |name: &str| std::env::var(name).ok();
            source::open(&spec(wanted), &variable, limits)
        })
    }

    /// Every row that the source of a runbook has now.
    pub(super) async fn rows(&self, wanted: &DataSource) -> Result<Rows, SourceError> {
        let source = (self.0)(wanted)?;
        source.rows().await
    }
}

impl Default for Sources {
    fn default() -> Self {
        Self::real(Limits::default())
    }
}

impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sources")
    }
}

fn spec(wanted: &DataSource) -> SourceSpec {
    let kind = match wanted.kind.clone() {
        SourceKind::Dataverse { query } => Kind::Dataverse { query },
        SourceKind::Databricks { query, warehouse_id } => Kind::Databricks { query, warehouse_id },
        SourceKind::Postgres { query } => Kind::Postgres { query },
        SourceKind::Sqlite { query } => Kind::Sqlite { query },
        SourceKind::Csv => Kind::Csv,
        SourceKind::Http { query, rows } => Kind::Http { query, rows },
    };
    SourceSpec { connection: wanted.connection.clone(), kind }
}
