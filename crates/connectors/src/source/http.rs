//! A URL that answers with JSON: a list of objects, or an object that holds one.
//!
//! An answer that says where the next page is, by a `Link` header or as OData does, is followed to
//! its end: half of a list would look like members that have left.

mod next;

use std::collections::BTreeSet;

use reqwest::Url;
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderValue};
use serde_json::{Map, Value};

use super::environment::Variables;
use super::error::SourceError;
use super::hidden::Hidden;
use super::web::{self, Reply, Web};
use super::{Limits, Rows, Source};
use crate::bus::Answer;

/// The URL of a variable, and where the list is in its answer.
pub(super) struct Http {
    web: Web,
    url: Url,
    authorization: Option<HeaderValue>,
    /// the way to the list
    path: Vec<String>,
    limits: Limits,
    /// what to look at if nobody is let in
    credential: String,
}

impl Http {
    pub(super) fn open(
        variables: &Variables<'_>,
        query: Option<&str>,
        rows: Option<&str>,
        limits: Limits,
    ) -> Result<Self, SourceError> {
        let base = variables.connection()?;
        let credential = format!("{}_AUTHORIZATION", variables.name());
        let authorization = variables.beside("AUTHORIZATION");
        let header =
            authorization.as_deref().map(|value| header(&credential, value)).transpose()?;
        let password = Url::parse(&base).ok().and_then(|url| url.password().map(str::to_owned));
        let token = authorization.as_deref().and_then(|it| it.split_whitespace().last());
        let secrets = [token.map(str::to_owned), authorization.clone(), password];
        let hidden = Hidden::new(secrets.into_iter().flatten().chain([base.clone()]));
        Ok(Self {
            web: Web::new(hidden, limits.bytes_max)?,
            url: url(variables, &base, query.unwrap_or_default())?,
            authorization: header,
            path: rows.into_iter().flat_map(|path| path.split('.')).map(str::to_owned).collect(),
            limits,
            credential,
        })
    }

    async fn read(&self) -> Result<Rows, SourceError> {
        let mut found =
            Found { rows: Rows::default(), names: BTreeSet::new(), limits: self.limits };
        let mut budget = self.limits.bytes_max;
        let mut page = Some(self.url.clone());
        while let Some(url) = page {
            let reply = self.ask(url.clone(), &mut budget).await?;
            let answer: Value = serde_json::from_slice(&reply.body)
                .map_err(|error| SourceError::unreadable(format!("it is not JSON ({error})")))?;
            page = next::page(&url, &reply.headers, &answer)?;
            for row in self.list(answer)? {
                found.push(row)?;
            }
        }
        Ok(found.rows)
    }

    async fn ask(&self, url: Url, budget: &mut usize) -> Result<Reply, SourceError> {
        let mut request = self.web.client().get(url).header(ACCEPT, "application/json");
        if let Some(authorization) = &self.authorization {
            request = request.header(AUTHORIZATION, authorization.clone());
        }
        let reply = self.web.send(request, budget).await?;
        if reply.status.is_success() {
            return Ok(reply);
        }
        Err(self.web.failure(&reply, &web::text(&reply.body), &self.credential))
    }

    /// The list in an answer.
    fn list(&self, answer: Value) -> Result<Vec<Value>, SourceError> {
        let mut value = answer;
        for key in &self.path {
            let Value::Object(mut object) = value else {
                let reason = format!("there is no {key:?}, because it stands in no object");
                return Err(SourceError::unreadable(reason));
            };
            value = object.remove(key).ok_or_else(|| {
                let keys: Vec<&str> = object.keys().map(String::as_str).take(20).collect();
                SourceError::unreadable(format!("there is no {key:?}; there are {keys:?}"))
            })?;
        }
        match value {
            Value::Array(list) => Ok(list),
            _ => {
                let reason = "it is not a list; say with `rows` where in it the list is";
                Err(SourceError::unreadable(reason))
            }
        }
    }
}

impl Source for Http {
    fn rows(&self) -> Answer<'_, Result<Rows, SourceError>> {
        Box::pin(self.read())
    }
}

/// Rows whose columns are known only when they are all there.
struct Found {
    rows: Rows,
    /// the columns once more, to be found quickly: rows may each have others
    names: BTreeSet<String>,
    limits: Limits,
}

impl Found {
    fn push(&mut self, row: Value) -> Result<(), SourceError> {
        let number = self.rows.rows.len() + 1;
        if number > self.limits.rows_max {
            return Err(SourceError::TooManyRows { rows_max: self.limits.rows_max });
        }
        let Value::Object(row) = row else {
            let reason = format!("row {number} is not an object");
            return Err(SourceError::unreadable(reason));
        };
        self.add_columns(&row);
        self.rows.rows.push(row);
        Ok(())
    }

    fn add_columns(&mut self, row: &Map<String, Value>) {
        for name in row.keys() {
            if !self.names.contains(name) {
                self.names.insert(name.clone());
                self.rows.columns.push(name.clone());
            }
        }
    }
}

fn header(name: &str, value: &str) -> Result<HeaderValue, SourceError> {
    let mut header = HeaderValue::from_str(value).map_err(|_| SourceError::BadVariable {
        name: name.to_owned(),
        reason: "it cannot stand in a header; write for example: Bearer <token>".to_owned(),
    })?;
    header.set_sensitive(true);
    Ok(header)
}

/// The URL with what the runbook puts behind it, which must not lead to another host.
fn url(variables: &Variables<'_>, base: &str, query: &str) -> Result<Url, SourceError> {
    let based = web::base_url(base).map_err(|reason| variables.bad(reason))?;
    let url = Url::parse(&format!("{base}{query}")).ok().filter(|url| {
        let user = |url: &Url| (url.username().to_owned(), url.password().map(str::to_owned));
        url.origin() == based.origin() && user(url) == user(&based)
    });
    url.ok_or_else(|| SourceError::Query {
        message: "it does not go on from the URL of the connection; begin it with / or ?"
            .to_owned(),
    })
}
