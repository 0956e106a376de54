//! A PostgreSQL database, asked in a transaction that cannot write.
//!
//! The server turns its rows into JSON itself: it knows all of its types, also those that somebody
//! has made. What JSON readers would spoil is put right by the type of the column.

mod place;
mod row;

use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error, IsolationLevel};

use self::place::Place;
use self::row::Column;
use super::collect::Collector;
use super::environment::Variables;
use super::error::{SourceError, innermost, tls_cause};
use super::hidden::Hidden;
use super::{Limits, Rows, Source};
use crate::bus::Answer;

/// Rows that are fetched at a time, so that a limit is noticed before all of them are here.
const FETCHED: i32 = 5_000;

/// A database, and what it is asked.
pub(super) struct Postgres {
    place: Place,
    query: String,
    limits: Limits,
    hidden: Hidden,
}

impl Postgres {
    pub(super) fn open(
        variables: &Variables<'_>,
        query: &str,
        limits: Limits,
    ) -> Result<Self, SourceError> {
        let url = variables.connection()?;
        let place = Place::parse(&url).map_err(|reason| variables.bad(reason))?;
        let hidden = Hidden::new([Some(url), place.password()].into_iter().flatten());
        // What ends a statement would end it within ours.
        let query = query.trim_end_matches(|c: char| c.is_whitespace() || c == ';').to_owned();
        Ok(Self { place, query, limits, hidden })
    }

    async fn read(&self) -> Result<Rows, SourceError> {
        let mut client = self.connect().await?;
        self.ask(&mut client).await
    }

    async fn connect(&self) -> Result<Client, SourceError> {
        let tls = self.place.connector()?;
        let connected = self.place.config.connect(tls).await;
        let (client, driver) = connected.map_err(|error| self.no_connection(&error))?;
        // It ends when the client is dropped, or the server goes away: either is seen by the client.
        tokio::spawn(driver);
        Ok(client)
    }

    async fn ask(&self, client: &mut Client) -> Result<Rows, SourceError> {
        let sorted = |error: Error| self.sorted(&error);
        let transaction = client
            .build_transaction()
            .isolation_level(IsolationLevel::RepeatableRead)
            .read_only(true)
            .start()
            .await
            .map_err(sorted)?;
        let settings = format!(
            "SET LOCAL statement_timeout = {}; SET LOCAL TimeZone = 'UTC'",
            self.limits.time_max.as_millis().max(1)
        );
        transaction.batch_execute(&settings).await.map_err(sorted)?;
        // The plain query says what its columns are called, and complains in the author's own words.
        let plain = transaction.prepare(&self.query).await.map_err(sorted)?;
        let columns: Vec<Column> = plain.columns().iter().map(Column::of).collect();
        if columns.is_empty() {
            let message = "it returns no columns; write a SELECT".to_owned();
            return Err(SourceError::Query { message });
        }
        let names = columns.iter().map(|column| column.name.clone()).collect();
        let mut collector = Collector::new(names, self.limits)?;
        let asked = format!("SELECT row_to_json(source)::text FROM (\n{}\n) source", self.query);
        let statement = transaction.prepare(&asked).await.map_err(sorted)?;
        let portal = transaction.bind(&statement, &[]).await.map_err(sorted)?;
        loop {
            let rows = transaction.query_portal(&portal, FETCHED).await.map_err(sorted)?;
            for row in &rows {
                let text: &str = row.try_get(0).map_err(sorted)?;
                collector.push(row::read(text, &columns)?)?;
            }
            if rows.len() < FETCHED.unsigned_abs() as usize {
                return Ok(collector.finish());
            }
        }
    }

    /// A connection that did not come about.
    fn no_connection(&self, error: &Error) -> SourceError {
        if let Some(tls) = tls_cause(error) {
            let reason = self.hidden.shown(&tls);
            let reason = format!("{reason}; name the authority of its certificate by sslrootcert");
            return SourceError::Untrusted { reason };
        }
        // The server said that it does not encrypt, which is an error of no type of its own.
        if error.to_string().starts_with("error performing TLS handshake") {
            let reason = "the server does not encrypt; let it, or write sslmode=disable";
            return SourceError::Untrusted { reason: reason.to_owned() };
        }
        match error.as_db_error() {
            Some(said) if matches!(&said.code().code()[..2], "28" | "3D" | "42") => {
                let said = self.hidden.shown(said.message());
                let reason = format!("{said}; check user, password and database");
                SourceError::AccessDenied { reason }
            }
            Some(said) => SourceError::Unreachable { reason: self.hidden.shown(said.message()) },
            None => SourceError::Unreachable { reason: self.hidden.shown(&innermost(error)) },
        }
    }

    /// A statement that did not succeed.
    fn sorted(&self, error: &Error) -> SourceError {
        let Some(said) = error.as_db_error() else {
            return SourceError::Unreachable { reason: self.hidden.shown(&innermost(error)) };
        };
        let message = self.hidden.shown(said.message());
        match said.code() {
            &SqlState::QUERY_CANCELED => SourceError::TimedOut { after: self.limits.time_max },
            &SqlState::INSUFFICIENT_PRIVILEGE => SourceError::AccessDenied {
                reason: format!("{message}; grant the right to read it"),
            },
            code if matches!(&code.code()[..2], "08" | "53" | "57" | "58") => {
                SourceError::Unreachable { reason: message }
            }
            _ => SourceError::Query { message },
        }
    }
}

impl Source for Postgres {
    fn rows(&self) -> Answer<'_, Result<Rows, SourceError>> {
        Box::pin(self.read())
    }
}
