//! Databricks, through its SQL statements API: submit, ask until it is done, fetch chunk by chunk.
//!
//! The connection is the URL of the workspace, with `;token=…` behind it or the token in
//! `<connection>_TOKEN`; without either, Microsoft Entra gives a token to the application of the
//! environment. A result is fetched inline, which Databricks limits to 25 MiB: a larger one fails
//! with its own words.

mod statement;
mod value;

use std::time::Duration;

use reqwest::{Client, RequestBuilder, Url};
use serde::de::DeserializeOwned;
use serde_json::json;

use self::statement::{Chunk, Failure, Manifest, State, Statement};
use super::collect::Collector;
use super::entra::{self, Application};
use super::environment::Variables;
use super::error::SourceError;
use super::hidden::Hidden;
use super::web::{self, Web};
use super::{Limits, Rows, Source};
use crate::bus::Answer;

/// The application that Azure Databricks is to Microsoft Entra, the same in every tenant.
const SCOPE: &str = "2ff814a6-3304-4ab8-85cb-cd0e6f879c1d/.default";

const STATEMENTS: &str = "/api/2.0/sql/statements";

/// Between two questions whether it is done; doubled each time.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// A workspace, and what it is asked.
pub(super) struct Databricks {
    web: Web,
    workspace: Url,
    credential: Credential,
    warehouse_id: String,
    query: String,
    limits: Limits,
    /// what to look at if nobody is let in
    looked_at: String,
}

enum Credential {
    Token(String),
    Entra(Application),
}

impl Databricks {
    pub(super) fn open(
        variables: &Variables<'_>,
        query: &str,
        warehouse_id: &str,
        limits: Limits,
    ) -> Result<Self, SourceError> {
        let connection = variables.connection()?;
        let (url, token) = split(&connection).map_err(|reason| variables.bad(reason))?;
        let workspace = web::base_url(url).map_err(|reason| variables.bad(reason))?;
        let beside = format!("{}_TOKEN", variables.name());
        let (credential, looked_at) = match token.or_else(|| variables.beside("TOKEN")) {
            Some(token) => (Credential::Token(token), beside),
            None => match Application::of(variables)? {
                Some(application) => (Credential::Entra(application), entra::NEEDED.to_owned()),
                None => {
                    let name = format!("{beside} (or {})", entra::NEEDED);
                    return Err(SourceError::MissingVariable { name });
                }
            },
        };
        let secret = match &credential {
            Credential::Token(token) => token.clone(),
            Credential::Entra(application) => application.secret(),
        };
        Ok(Self {
            web: Web::new(Hidden::new([connection, secret]), limits.bytes_max)?,
            workspace,
            credential,
            warehouse_id: variables.named(warehouse_id)?,
            query: query.to_owned(),
            limits,
            looked_at,
        })
    }

    async fn read(&self) -> Result<Rows, SourceError> {
        let token = match &self.credential {
            Credential::Token(token) => token.clone(),
            Credential::Entra(application) => application.token(&self.web, SCOPE).await?,
        };
        let session = Session { source: self, token };
        let mut budget = self.limits.bytes_max;
        let (manifest, first) = session.run(&mut budget).await?;
        if manifest.truncated || manifest.rows() > self.limits.rows_max as u64 {
            return Err(SourceError::TooManyRows { rows_max: self.limits.rows_max });
        }
        session.fetch(manifest, first, &mut budget).await
    }
}

impl Source for Databricks {
    fn rows(&self) -> Answer<'_, Result<Rows, SourceError>> {
        Box::pin(self.read())
    }
}

/// The URL of a workspace, and the token behind it if there is one.
fn split(connection: &str) -> Result<(&str, Option<String>), &'static str> {
    let (url, rest) = connection.split_once(';').unwrap_or((connection, ""));
    let mut token = None;
    for part in rest.split(';').filter(|part| !part.trim().is_empty()) {
        match part.split_once('=') {
            Some((name, value)) if name.trim().eq_ignore_ascii_case("token") => {
                token = Some(value.trim().to_owned());
            }
            _ => return Err("write https://workspace, or https://workspace;token=…"),
        }
    }
    Ok((url.trim(), token))
}

/// One question, with the token that it is asked with.
struct Session<'s> {
    source: &'s Databricks,
    token: String,
}

impl Session<'_> {
    /// Submits the statement and waits until it is done.
    async fn run(&self, budget: &mut usize) -> Result<(Manifest, Chunk), SourceError> {
        let submitted = self.source.web.client().post(self.url(STATEMENTS)?).json(&self.body());
        let mut statement: Statement = self.call(submitted, budget).await?;
        let mut running = Running::of(self, &statement)?;
        let mut pause = PAUSE_MIN;
        loop {
            match statement.status.state {
                State::Succeeded => break,
                State::Pending | State::Running => {}
                State::Failed | State::Canceled | State::Closed => {
                    running.is_done = true;
                    let message = self.source.web.shown(&statement.status.said());
                    return Err(SourceError::Query { message });
                }
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(PAUSE_MAX);
            statement =
                self.call(self.source.web.client().get(running.url.clone()), budget).await?;
        }
        running.is_done = true;
        let manifest = statement.manifest.ok_or_else(|| missing("manifest"))?;
        Ok((manifest, statement.result.unwrap_or_default()))
    }

    fn body(&self) -> serde_json::Value {
        // The server answers as soon as it is done, and at the latest when half of our time is over.
        let wait_s = (self.source.limits.time_max / 2).as_secs().clamp(5, 30);
        json!({
            "statement": self.source.query,
            "warehouse_id": self.source.warehouse_id,
            "wait_timeout": format!("{wait_s}s"),
            "on_wait_timeout": "CONTINUE",
            "disposition": "INLINE",
            "format": "JSON_ARRAY",
            "row_limit": self.source.limits.rows_max + 1,
        })
    }

    /// Fetches every chunk of a result.
    async fn fetch(
        &self,
        manifest: Manifest,
        first: Chunk,
        budget: &mut usize,
    ) -> Result<Rows, SourceError> {
        let expected = manifest.total_row_count;
        let columns = manifest.columns();
        let names = columns.iter().map(|column| column.name.clone()).collect();
        let mut collector = Collector::new(names, self.source.limits)?;
        let mut chunk = first;
        loop {
            for row in chunk.data_array.unwrap_or_default() {
                if row.len() != columns.len() {
                    return Err(SourceError::unreadable("a row has not as many values as columns"));
                }
                let typed = columns.iter().zip(row);
                collector
                    .push_values(typed.map(|(column, it)| value::of(&column.type_name, it)))?;
            }
            let Some(next) = chunk.next_chunk_internal_link else { break };
            if !next.starts_with(&format!("{STATEMENTS}/")) {
                return Err(SourceError::unreadable("its next chunk is no result of a statement"));
            }
            let asked = self.source.web.client().get(self.url(&next)?);
            chunk = self.call(asked, budget).await?;
        }
        match expected {
            Some(expected) if expected != collector.len() as u64 => {
                let found = collector.len();
                let reason = format!("{expected} rows were announced and {found} came");
                Err(SourceError::unreadable(reason))
            }
            _ => Ok(collector.finish()),
        }
    }

    /// Calls the API.
    async fn call<T: DeserializeOwned>(
        &self,
        request: RequestBuilder,
        budget: &mut usize,
    ) -> Result<T, SourceError> {
        let web = &self.source.web;
        let reply = web.send(request.bearer_auth(&self.token), budget).await?;
        if reply.status.is_success() {
            return serde_json::from_slice(&reply.body).map_err(|error| {
                SourceError::unreadable(
                    web.shown(&format!("it is not what is documented ({error})")),
                )
            });
        }
        let failure: Option<Failure> = serde_json::from_slice(&reply.body).ok();
        let said = failure.map_or_else(|| web::text(&reply.body), |failure| failure.said());
        Err(web.failure(&reply, &said, &self.source.looked_at))
    }

    fn url(&self, path: &str) -> Result<Url, SourceError> {
        let url = self.source.workspace.join(path).ok();
        // A path that begins with two slashes would be another host.
        let url = url.filter(|url| url.origin() == self.source.workspace.origin());
        url.ok_or_else(|| SourceError::unreadable("it leads to another host"))
    }
}

/// A statement that is canceled if nobody waits for it any more: a warehouse costs money.
struct Running {
    client: Client,
    url: Url,
    token: String,
    is_done: bool,
}

impl Running {
    fn of(session: &Session<'_>, statement: &Statement) -> Result<Self, SourceError> {
        let id = statement.statement_id.as_deref().ok_or_else(|| missing("statement_id"))?;
        if !id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
            return Err(SourceError::unreadable("its statement_id is none"));
        }
        Ok(Self {
            client: session.source.web.client().clone(),
            url: session.url(&format!("{STATEMENTS}/{id}"))?,
            token: session.token.clone(),
            is_done: false,
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let runtime = tokio::runtime::Handle::try_current();
        if let (false, Ok(runtime)) = (self.is_done, runtime) {
            let url = format!("{}/cancel", self.url);
            let cancel = self.client.post(url).bearer_auth(&self.token).timeout(PAUSE_MAX);
            runtime.spawn(async move {
                // Nothing more can be done about one that is not heard; it ends by itself in time.
                let _ = cancel.send().await;
            });
        }
    }
}

fn missing(field: &str) -> SourceError {
    SourceError::unreadable(format!("{field} is missing"))
}
