//! What handlers take from a request: bodies within limits, ids, parameters, preconditions.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::header::{CONTENT_TYPE, HeaderName, IF_MATCH};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use serde_json::Value;
use stepwell_core::id::RunId;
use stepwell_core::run::Dialect;
use stepwell_dialects::fields::{Field, Fields, parse_json};
use stepwell_dialects::problem::{Report, quoted};

use crate::error::{ApiError, Code};
use crate::job_id;

/// A sender slower than this is cut off.
const BODY_PATIENCE: Duration = Duration::from_secs(30);

/// The dialects by their words, for readers.
pub(crate) const DIALECTS: [(&str, Dialect); 4] = [
    ("runbooks", Dialect::Runbooks),
    ("platform", Dialect::Platform),
    ("workspaces", Dialect::Workspaces),
    ("commands", Dialect::Commands),
];

/// The bytes of a body that says it is JSON.
pub(crate) struct JsonBytes(pub(crate) Bytes);

/// A JSON body; [`Value::Null`] if there was none.
pub(crate) struct JsonBody(pub(crate) Value);

/// The text of a YAML document.
pub(crate) struct YamlText(pub(crate) String);

impl<S: Send + Sync> FromRequest<S> for JsonBytes {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        expect_kind(request.headers(), &["application/json"])?;
        Ok(Self(read(request, state).await?))
    }
}

impl<S: Send + Sync> FromRequest<S> for JsonBody {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let kind = expect_kind(request.headers(), &["application/json"]);
        let bytes = read(request, state).await?;
        if bytes.is_empty() {
            return Ok(Self(Value::Null));
        }
        kind?;
        let value = parse_json(&bytes)
            .map_err(|problem| ApiError::of_problems(Code::MalformedRequest, problem))?;
        Ok(Self(value))
    }
}

const YAML_KINDS: [&str; 5] =
    ["application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml", "text/plain"];

/// The bytes of a body, whatever it says it is.
pub(crate) struct RawBody(pub(crate) Bytes);

impl<S: Send + Sync> FromRequest<S> for RawBody {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        Ok(Self(read(request, state).await?))
    }
}

/// A document that says it is JSON or YAML.
pub(crate) enum Document {
    /// as JSON
    Json(Value),
    /// as YAML
    Yaml(Bytes),
}

impl<S: Send + Sync> FromRequest<S> for Document {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let is_json = expect_kind(request.headers(), &["application/json"]);
        if is_json.is_err() {
            // What says that it is any text may be either.
            let is_yaml = expect_kind(request.headers(), &YAML_KINDS[..4]);
            is_yaml.or(is_json)?;
            return read(request, state).await.map(Self::Yaml);
        }
        let bytes = read(request, state).await?;
        let json = parse_json(&bytes);
        json.map(Self::Json)
            .map_err(|problem| ApiError::of_problems(Code::MalformedRequest, problem))
    }
}

impl<S: Send + Sync> FromRequest<S> for YamlText {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        expect_kind(request.headers(), &YAML_KINDS)?;
        let bytes = read(request, state).await?;
        let text = stepwell_dialects::problem::utf8(&bytes)
            .map_err(|problem| ApiError::of_problems(Code::MalformedRequest, problem))?;
        Ok(Self(text.to_owned()))
    }
}

impl JsonBody {
    /// Reads the fields of the body, and reports everything that is wrong with them at once.
    pub(crate) fn read<V>(
        &self,
        read: impl FnOnce(&mut Fields<'_, Value>) -> Option<V>,
    ) -> Result<V, ApiError> {
        let empty = Value::Object(serde_json::Map::new());
        let root = if self.0.is_null() { &empty } else { &self.0 };
        let report = Report::new();
        let value = Field::root(root, &report).fields().and_then(|mut fields| {
            let value = read(&mut fields);
            fields.finish();
            value
        });
        report
            .finish(value)
            .map_err(|problems| ApiError::of_problems(Code::InvalidRequest, problems))
    }
}

fn expect_kind(headers: &HeaderMap, kinds: &[&str]) -> Result<(), ApiError> {
    let given = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let kind = given.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    if kinds.iter().any(|known| known.eq_ignore_ascii_case(kind)) {
        return Ok(());
    }
    let detail = match given {
        Some(given) => format!("the Content-Type is {}; send {}", quoted(given), kinds[0]),
        None => format!("there is no Content-Type; send {}", kinds[0]),
    };
    Err(ApiError::new(Code::UnsupportedMediaType, detail))
}

async fn read<S: Send + Sync>(request: Request, state: &S) -> Result<Bytes, ApiError> {
    let read = tokio::time::timeout(BODY_PATIENCE, Bytes::from_request(request, state)).await;
    let late = |_| ApiError::new(Code::BodyTimeout, "the body did not arrive within 30 seconds");
    read.map_err(late)?.map_err(|rejection| match rejection.into_response().status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            ApiError::new(Code::BodyTooLarge, "the body is larger than this address takes")
        }
        _ => ApiError::new(Code::MalformedRequest, "the body ended before it was complete"),
    })
}

/// Path parameters as text, in the order of the path.
pub(crate) async fn path<P>(parts: &mut Parts) -> Result<P, ApiError>
where
    P: serde::de::DeserializeOwned + Send,
{
    let path = Path::<P>::from_request_parts(parts, &()).await;
    let refused = |_| ApiError::new(Code::RouteNotFound, "the address cannot be read");
    path.map(|Path(path)| path).map_err(refused)
}

/// The job in the path. What is no id names no job.
pub(crate) struct JobId(pub(crate) RunId);

/// The job, and the step or gate in the path.
pub(crate) struct JobPart(pub(crate) RunId, pub(crate) String);

impl<S: Sync> FromRequestParts<S> for JobId {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let id: String = path(parts).await?;
        run_id(&id).map(Self)
    }
}

impl<S: Sync> FromRequestParts<S> for JobPart {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let (id, part): (String, String) = path(parts).await?;
        Ok(Self(run_id(&id)?, part))
    }
}

fn run_id(text: &str) -> Result<RunId, ApiError> {
    let missing = || ApiError::new(Code::JobNotFound, "there is no such job");
    let id = job_id::read(text).ok_or_else(missing)?;
    tracing::Span::current().record("job_id", tracing::field::display(id));
    Ok(id)
}

/// A name in the path, whatever it names.
pub(crate) struct Name(pub(crate) String);

impl<S: Sync> FromRequestParts<S> for Name {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        path(parts).await.map(Self)
    }
}

/// The version that the caller last saw, from `If-Match`; any will do if it says nothing or `*`.
pub(crate) struct IfMatch(Option<Vec<u64>>);

impl<S: Sync> FromRequestParts<S> for IfMatch {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let Some(given) = header(&parts.headers, &IF_MATCH)? else { return Ok(Self(None)) };
        if given.trim() == "*" {
            return Ok(Self(None));
        }
        Ok(Self(Some(given.split(',').filter_map(version).collect())))
    }
}

impl IfMatch {
    /// The version that the job must still have when it is changed; `None` if any will do.
    ///
    /// # Errors
    /// When the job has moved on since the caller saw it.
    pub(crate) fn bind(&self, version_now: u64) -> Result<Option<u64>, ApiError> {
        match &self.0 {
            Some(seen) if !seen.contains(&version_now) => {
                Err(ApiError::version_mismatch(version_now))
            }
            Some(_) => Ok(Some(version_now)),
            None => Ok(None),
        }
    }
}

/// The tag of a job at a version.
pub(crate) fn etag(version: u64) -> String {
    format!("\"{version}\"")
}

/// The version in a tag; a weak tag says the same here.
pub(crate) fn version(tag: &str) -> Option<u64> {
    let tag = tag.trim();
    tag.strip_prefix("W/").unwrap_or(tag).strip_prefix('"')?.strip_suffix('"')?.parse().ok()
}

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The idempotency key of a request: that of its body, or else of its header.
///
/// # Errors
/// When they name different keys, or the header's is too long.
pub(crate) fn idempotency_key(
    headers: &HeaderMap,
    in_body: Option<String>,
    chars_max: usize,
) -> Result<Option<String>, ApiError> {
    let Some(given) = header(headers, &IDEMPOTENCY_KEY)? else { return Ok(in_body) };
    if !(1..=chars_max).contains(&given.len()) {
        let message = format!("write 1 to {chars_max} characters");
        return Err(ApiError::parameter(IDEMPOTENCY_KEY.as_str(), message));
    }
    match in_body {
        Some(key) if key != given => {
            let detail = "the Idempotency-Key header and the body name different keys";
            Err(ApiError::new(Code::KeyConflict, detail))
        }
        Some(key) => Ok(Some(key)),
        None => Ok(Some(given.to_owned())),
    }
}

/// A header as text.
pub(crate) fn header<'h>(
    headers: &'h HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'h str>, ApiError> {
    let Some(value) = headers.get(name) else { return Ok(None) };
    let text = value.to_str();
    text.map(Some).map_err(|_| ApiError::parameter(name.as_str(), "this header is not plain text"))
}

/// The query of a request, by name.
pub(crate) struct Query(Vec<(String, String)>);

impl<S: Sync> FromRequestParts<S> for Query {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let pairs = axum::extract::Query::try_from_uri(&parts.uri);
        let axum::extract::Query(pairs) = pairs
            .map_err(|_| ApiError::new(Code::MalformedParameter, "the query cannot be read"))?;
        Ok(Self(pairs))
    }
}

impl Query {
    /// Takes a parameter out, whoever reads the rest.
    pub(crate) fn take(&mut self, name: &str) -> Option<String> {
        let place = self.0.iter().position(|(known, _)| known == name)?;
        Some(self.0.remove(place).1)
    }

    /// The parameters, if each of them is one of these: a misspelled filter must not widen a list.
    pub(crate) fn known(self, names: &[&'static str]) -> Result<Parameters, ApiError> {
        for (name, _) in &self.0 {
            if !names.contains(&name.as_str()) {
                let near = stepwell_core::template::near(name, names.iter().copied());
                let message = match near {
                    Some(near) => format!("there is no such parameter; did you mean {near:?}?"),
                    None => format!("there is no such parameter; there are {}", names.join(", ")),
                };
                return Err(ApiError::parameter(&quoted(name), message));
            }
        }
        Ok(Parameters(self.0))
    }
}

/// Parameters that are all known.
pub(crate) struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Every value of a parameter, whether repeated or separated by commas.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let values = self.0.iter().filter(move |(known, _)| known == name);
        values.flat_map(|(_, value)| value.split(',')).filter(|value| !value.is_empty())
    }

    /// Every value of a parameter that is repeated; commas are part of it.
    pub(crate) fn each(&self, name: &str) -> impl Iterator<Item = &str> {
        let values = self.0.iter().filter(move |(known, _)| known == name);
        values.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// The value of a parameter that is given once.
    pub(crate) fn one(&self, name: &str) -> Result<Option<&str>, ApiError> {
        let mut values = self.0.iter().filter(|(known, _)| known == name);
        match (values.next(), values.next()) {
            (Some(_), Some(_)) => Err(ApiError::parameter(name, "this parameter is given twice")),
            (first, _) => Ok(first.map(|(_, value)| value.as_str())),
        }
    }

    /// The value of a parameter, read by its own rules.
    pub(crate) fn read<V>(
        &self,
        name: &str,
        expected: &str,
        read: impl FnOnce(&str) -> Option<V>,
    ) -> Result<Option<V>, ApiError> {
        let Some(text) = self.one(name)? else { return Ok(None) };
        let message = || format!("{} cannot be used; write {expected}", quoted(text));
        read(text).map(Some).ok_or_else(|| ApiError::parameter(name, message()))
    }

    /// How many items a page shall have.
    pub(crate) fn limit(&self, default: usize, most: usize) -> Result<usize, ApiError> {
        let read = |text: &str| text.parse().ok().filter(|limit| (1..=most).contains(limit));
        Ok(self.read("limit", &format!("1 to {most}"), read)?.unwrap_or(default))
    }
}
