//! Connections to the server: each with its settings and the statements it has prepared.

use std::collections::HashMap;
use std::time::Duration;

use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error, Row, Statement};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::pipeline::{Pipeline, begun};
use super::place::Place;
use super::{Options, tls};
use crate::error::StoreError;

const SESSION: &str = include_str!("../../sql/postgres/session.sql");

/// Longer than anything takes.
const LEISURE: Duration = Duration::from_secs(7 * 24 * 3_600);

/// Makes connections.
#[derive(Clone)]
pub(super) struct Opener {
    pub(super) place: Place,
    pub(super) options: Options,
    pub(super) tls: MakeRustlsConnect,
}

/// What a connection is for, which decides how its statements are planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// commits: the same statements over and over, planned once
    Commit,
    /// everything else, planned for the values and the sizes of the moment
    Query,
}

/// A connection, and what it has prepared.
pub(super) struct Connection {
    client: Client,
    prepared: HashMap<&'static str, Statement>,
    /// how long an answer may take; the server's own limit comes before it
    patience: Duration,
}

impl Opener {
    /// For the server of a URL.
    pub(super) fn new(url: &str, options: Options) -> Result<Self, StoreError> {
        let place = Place::parse(url)?;
        let tls = tls::connector(&place.trust)?;
        Ok(Self { place, options, tls })
    }

    /// Opens a connection and gives it its settings.
    pub(super) async fn open(&self, purpose: Purpose) -> Result<Connection, Error> {
        let (client, driver) = self.place.config.connect(self.tls.clone()).await?;
        // It ends when the client is dropped, or the server goes away: either is seen by the client.
        tokio::spawn(driver);
        client.batch_execute(&self.settings(purpose)).await?;
        let patience = self.options.statement_timeout + self.options.lock_timeout;
        Ok(Connection { client, prepared: HashMap::new(), patience })
    }

    /// The settings of a session: those that never differ, then those that do.
    ///
    /// A hang becomes an error, and a transaction that its client has left behind ends by itself, so
    /// that nobody waits for a process that was stopped.
    fn settings(&self, purpose: Purpose) -> String {
        let Options { statement_timeout, lock_timeout, idle_timeout, .. } = &self.options;
        let plans = match purpose {
            Purpose::Commit => "force_generic_plan",
            Purpose::Query => "force_custom_plan",
        };
        format!(
            "{SESSION};
             SET search_path = {schema};
             SET statement_timeout = {statement};
             SET lock_timeout = {lock};
             SET idle_in_transaction_session_timeout = {idle};
             SET plan_cache_mode = {plans}",
            schema = self.place.schema,
            statement = statement_timeout.as_millis(),
            lock = lock_timeout.as_millis(),
            idle = idle_timeout.as_millis(),
        )
    }
}

impl Connection {
    /// Whether the server has gone away.
    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Takes all the time it needs from here on; for what is done once, on a connection that is not used
    /// for anything else after that.
    pub(super) async fn at_leisure(&mut self) -> Result<(), StoreError> {
        self.batch("SET statement_timeout = 0; SET lock_timeout = 0").await?;
        self.patience = LEISURE;
        Ok(())
    }

    /// Sees that statements are prepared, in one round trip for all that are not.
    pub(super) async fn prepare(&mut self, statements: &[&'static str]) -> Result<(), StoreError> {
        let missing: Vec<&'static str> =
            statements.iter().copied().filter(|it| !self.prepared.contains_key(it)).collect();
        let pending: Vec<_> = missing.iter().map(|it| begun(self.client.prepare(it))).collect();
        let mut prepared = Vec::with_capacity(missing.len());
        for statement in pending {
            prepared.push(self.waits_for(statement).await?);
        }
        self.prepared.extend(missing.into_iter().zip(prepared));
        Ok(())
    }

    /// A way to send statements that are prepared without waiting for each.
    pub(super) fn pipeline(&self) -> Pipeline<'_> {
        Pipeline::new(self)
    }

    /// Runs one statement and answers with its rows.
    pub(super) async fn query(
        &mut self,
        statement: &'static str,
        bound: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, StoreError> {
        self.prepare(&[statement]).await?;
        self.waits_for(self.client.query(self.prepared(statement), bound)).await
    }

    /// Runs one statement that is planned for these very values, and answers with its rows.
    pub(super) async fn query_planned(
        &self,
        statement: &str,
        bound: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<Vec<Row>, StoreError> {
        self.waits_for(self.client.query_typed(statement, bound)).await
    }

    /// Runs one statement and answers how many rows it changed.
    pub(super) async fn execute(
        &mut self,
        statement: &'static str,
        bound: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, StoreError> {
        self.prepare(&[statement]).await?;
        self.waits_for(self.client.execute(self.prepared(statement), bound)).await
    }

    /// Runs several statements as they stand.
    pub(super) async fn batch(&self, statements: &str) -> Result<(), StoreError> {
        self.waits_for(self.client.batch_execute(statements)).await
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    pub(super) fn prepared(&self, statement: &'static str) -> &Statement {
        self.prepared.get(statement).expect("a statement is prepared before it is sent")
    }

    /// Waits for the server, but not for ever: one that is frozen never says that it is.
    pub(super) async fn waits_for<T>(
        &self,
        answer: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, StoreError> {
        Ok(self.patiently(answer).await??)
    }

    /// The same, with the server's own words.
    pub(super) async fn patiently<T>(
        &self,
        answer: impl Future<Output = Result<T, Error>>,
    ) -> Result<Result<T, Error>, StoreError> {
        let answered = tokio::time::timeout(self.patience, answer).await;
        answered.map_err(|_| StoreError::unavailable("PostgreSQL does not answer"))
    }
}
