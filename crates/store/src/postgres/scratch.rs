//! A schema for measurements and tests: made empty, and gone in the end.

use super::connection::Connection;
use super::direct::connect;
use crate::error::StoreError;

/// Only schemas that begin like this are ever dropped.
const PREFIX: &str = "stepwell_scratch_";

/// A schema of its own in a database that may have others.
pub struct Scratch {
    url: String,
    schema: String,
    connection: Connection,
}

impl Scratch {
    /// Names a schema that does not exist yet; whoever opens a store at [`Scratch::url`] makes it.
    ///
    /// # Errors
    /// If the database cannot be reached.
    pub async fn new(url: &str, name: &str) -> Result<Self, StoreError> {
        let schema = format!("{PREFIX}{name}");
        let mark = if url.contains('?') { '&' } else { '?' };
        let url = format!("{url}{mark}schema={schema}");
        let connection = connect(&url).await?;
        let scratch = Self { url, schema, connection };
        scratch.clear().await?;
        Ok(scratch)
    }

    /// Where a store in this schema is opened.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// How many statements this database has run so far, this one not counted: exactly where the
    /// extension `pg_stat_statements` is loaded, else as many as there were transactions.
    ///
    /// # Errors
    /// If the database cannot be reached.
    pub async fn statements(&self) -> Result<i64, StoreError> {
        let client = self.connection.client();
        let exact = "SELECT coalesce(sum(calls), 0)::bigint FROM public.pg_stat_statements
                      WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
                        AND query NOT LIKE '%pg_stat_statements%'";
        let install = "CREATE EXTENSION IF NOT EXISTS pg_stat_statements SCHEMA public";
        if client.batch_execute(install).await.is_ok()
            && let Ok(row) = client.query_one(exact, &[]).await
        {
            return Ok(row.try_get(0)?);
        }
        let transactions = "SELECT xact_commit + xact_rollback FROM pg_stat_database
                             WHERE datname = current_database()";
        Ok(client.query_one(transactions, &[]).await?.try_get(0)?)
    }

    /// Drops the schema with everything in it.
    ///
    /// # Errors
    /// If the database cannot be reached, or somebody still uses the schema.
    pub async fn drop(self) -> Result<(), StoreError> {
        self.clear().await
    }

    async fn clear(&self) -> Result<(), StoreError> {
        let drop = format!("DROP SCHEMA IF EXISTS {} CASCADE", self.schema);
        // A large schema takes its time.
        let client = self.connection.client();
        client.batch_execute("SET statement_timeout = 0").await?;
        client.batch_execute(&drop).await?;
        Ok(())
    }
}
