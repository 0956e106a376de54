//! A PostgreSQL for tests: one database a run of the tests, one schema a test.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use stepwell_store::postgres::{Options, PostgresStore};
use stepwell_testing::postgres::{self, Server};

/// A place in the database that nobody has used before.
pub(crate) struct Place {
    pub(crate) server: &'static Server,
    pub(crate) url: String,
    pub(crate) schema: String,
}

impl Place {
    /// `None` where there is no PostgreSQL; then the test is skipped, and it has been said why.
    pub(crate) fn fresh() -> Option<Self> {
        static DATABASE: OnceLock<String> = OnceLock::new();
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let server = postgres::server().ok()?;
        let database = DATABASE.get_or_init(|| server.database("store"));
        let schema = format!("t{}", COUNT.fetch_add(1, Ordering::Relaxed));
        Some(Self { server, url: with_schema(database, &schema), schema })
    }

    /// The store, opened.
    pub(crate) async fn open(&self) -> PostgresStore {
        PostgresStore::open(&self.url, Options::default()).await.unwrap()
    }

    /// Rows of a statement in the schema, as lines.
    pub(crate) fn query(&self, sql: &str) -> Vec<String> {
        let plain = self.url.split_once("schema=").unwrap().0.trim_end_matches(['?', '&']);
        self.server.query(plain, &format!("SET search_path = {}; {sql}", self.schema))
    }
}

/// A URL with a schema.
pub(crate) fn with_schema(url: &str, schema: &str) -> String {
    let separator = if url.contains('?') { '&' } else { '?' };
    format!("{url}{separator}schema={schema}")
}
