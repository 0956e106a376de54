//! A workspace of Databricks with its SQL statements API, and the token endpoint of Microsoft Entra.
//!
//! It follows the documentation to the letter and refuses whatever that does not allow: a request
//! that passes here has every field it must have. What a statement does is said by its text.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};
use stepwell_connectors::source::conformance::{COLUMNS, member};
use stepwell_connectors::source::{Limits, Source, SourceKind};
use tokio::sync::watch;

use super::{VARIABLE, opened};

/// Rows in a chunk.
const CHUNK: usize = 5_000;

const TYPES: [&str; 6] = ["STRING", "LONG", "DECIMAL", "BOOLEAN", "STRING", "TIMESTAMP"];

/// A running workspace.
#[derive(Clone)]
pub(super) struct Warehouse {
    pub(super) url: String,
    token: &'static str,
    canceled: watch::Receiver<Vec<String>>,
}

struct Api {
    token: &'static str,
    /// statement → its text, its row limit, and how often it was asked for
    statements: Mutex<BTreeMap<String, (String, usize, u32)>>,
    canceled: watch::Sender<Vec<String>>,
}

type Shared = State<Arc<Api>>;

impl Warehouse {
    /// A workspace that lets in whoever knows the token.
    pub(super) async fn start(token: &'static str) -> Self {
        let (sender, canceled) = watch::channel(Vec::new());
        let api = Api { token, statements: Mutex::default(), canceled: sender };
        let app = Router::new()
            .route("/api/2.0/sql/statements", post(submit))
            .route("/api/2.0/sql/statements/{id}", get(status))
            .route("/api/2.0/sql/statements/{id}/cancel", post(cancel))
            .route("/api/2.0/sql/statements/{id}/result/chunks/{index}", get(chunk))
            .route("/{tenant}/oauth2/v2.0/token", post(grant))
            .with_state(Arc::new(api));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { url, token, canceled }
    }

    /// A source that asks it something.
    pub(super) fn source(&self, query: &str, limits: Limits) -> Box<dyn Source> {
        let connection = format!("{};token={}", self.url, self.token);
        opened(asking(query), &[(VARIABLE, &connection), ("WAREHOUSE", "w-1")], limits).unwrap()
    }

    /// Waits until a statement was canceled.
    pub(super) async fn canceled(mut self) {
        self.canceled.wait_for(|canceled| !canceled.is_empty()).await.unwrap();
    }
}

pub(super) fn asking(query: &str) -> SourceKind {
    SourceKind::Databricks { query: query.to_owned(), warehouse_id: "WAREHOUSE".to_owned() }
}

fn refused(status: StatusCode, code: &str, message: &str) -> Response {
    (status, Json(json!({"error_code": code, "message": message}))).into_response()
}

/// The refusal of whoever does not know the token.
fn refusal(api: &Api, headers: &HeaderMap) -> Option<Response> {
    let sent = headers.get(header::AUTHORIZATION).map(|it| it.to_str().unwrap().to_owned());
    let sent = sent.unwrap_or_default();
    if sent == format!("Bearer {}", api.token) {
        return None;
    }
    let message = format!("Invalid access token: {sent}");
    Some(refused(StatusCode::FORBIDDEN, "PERMISSION_DENIED", &message))
}

/// What the documentation says about every field of a submission.
fn check_submission(body: &Value) -> Result<(String, usize), String> {
    let object = body.as_object().ok_or("the body is not an object")?;
    for (name, value) in object {
        let is_sound = match name.as_str() {
            "statement" => value.as_str().is_some_and(|text| text.len() <= 16 << 20),
            "warehouse_id" => value == "w-1",
            "disposition" => value == "INLINE" || value == "EXTERNAL_LINKS",
            "format" => value == "JSON_ARRAY",
            "on_wait_timeout" => value == "CONTINUE" || value == "CANCEL",
            "wait_timeout" => {
                let text = value.as_str().and_then(|text| text.strip_suffix('s'));
                let seconds = text.and_then(|text| text.parse::<u64>().ok());
                seconds.is_some_and(|seconds| seconds == 0 || (5..=50).contains(&seconds))
            }
            "row_limit" => value.as_u64().is_some(),
            _ => false,
        };
        if !is_sound {
            return Err(format!("{name} must not be {value}"));
        }
    }
    let text = object.get("statement").and_then(Value::as_str).ok_or("statement is missing")?;
    object.get("warehouse_id").ok_or("warehouse_id is missing")?;
    let limit = object.get("row_limit").and_then(Value::as_u64).unwrap_or(u64::MAX);
    Ok((text.to_owned(), usize::try_from(limit).unwrap()))
}

async fn submit(State(api): Shared, headers: HeaderMap, Json(body): Json<Value>) -> Response {
    if let Some(response) = refusal(&api, &headers) {
        return response;
    }
    let (text, limit) = match check_submission(&body) {
        Ok(submission) => submission,
        Err(why) => return refused(StatusCode::BAD_REQUEST, "INVALID_PARAMETER_VALUE", &why),
    };
    let id = {
        let mut statements = api.statements.lock().unwrap();
        let id = format!("01f0-{:04}", statements.len());
        let asked = if text.starts_with("fast") { 9 } else { 0 };
        statements.insert(id.clone(), (text, limit, asked));
        id
    };
    answer(&api, &id)
}

async fn status(State(api): Shared, headers: HeaderMap, Path(id): Path<String>) -> Response {
    if let Some(response) = refusal(&api, &headers) {
        return response;
    }
    answer(&api, &id)
}

async fn cancel(State(api): Shared, headers: HeaderMap, Path(id): Path<String>) -> Response {
    if let Some(response) = refusal(&api, &headers) {
        return response;
    }
    api.canceled.send_modify(|canceled| canceled.push(id));
    Json(json!({})).into_response()
}

async fn chunk(
    State(api): Shared,
    headers: HeaderMap,
    Path((id, index)): Path<(String, usize)>,
) -> Response {
    if let Some(response) = refusal(&api, &headers) {
        return response;
    }
    let (text, limit, _) = api.statements.lock().unwrap()[&id].clone();
    Json(part(&id, index, count(&text).min(limit))).into_response()
}

/// How many members a statement asks for.
fn count(text: &str) -> usize {
    text.rsplit(' ').next().and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// A statement as it stands: pending at first, then running, then whatever its text says.
fn answer(api: &Api, id: &str) -> Response {
    let (text, limit, asked) = {
        let mut statements = api.statements.lock().unwrap();
        let statement = statements.get_mut(id).unwrap();
        statement.2 += 1;
        statement.clone()
    };
    let failed = |state: &str, message: &str| {
        let error = json!({"error_code": "BAD_REQUEST", "message": message});
        json!({"statement_id": id, "status": {"state": state, "error": error}})
    };
    let bare = |state: &str| json!({"statement_id": id, "status": {"state": state}});
    Json(match (text.split(' ').next().unwrap_or_default(), asked) {
        ("never", _) | (_, 1) => bare("PENDING"),
        (_, 2) => bare("RUNNING"),
        ("members" | "fast", _) => succeeded(id, count(&text), limit),
        ("lost", _) => {
            let mut answer = succeeded(id, 3, limit);
            answer["result"]["data_array"].as_array_mut().unwrap().pop();
            answer
        }
        ("elsewhere", _) => {
            let mut answer = succeeded(id, 1, limit);
            answer["result"]["next_chunk_internal_link"] = json!("//evil.example/api/2.0/");
            answer
        }
        ("canceled", _) => bare("CANCELED"),
        ("closed", _) => bare("CLOSED"),
        _ => failed("FAILED", &format!("[TABLE_OR_VIEW_NOT_FOUND] asked with {}", api.token)),
    })
    .into_response()
}

fn succeeded(id: &str, count: usize, limit: usize) -> Value {
    let rows = count.min(limit);
    let columns: Vec<Value> = COLUMNS
        .iter()
        .zip(TYPES)
        .enumerate()
        .map(|(position, (name, type_name))| {
            json!({"name": name, "type_text": type_name, "type_name": type_name, "position": position})
        })
        .collect();
    json!({
        "statement_id": id,
        "status": {"state": "SUCCEEDED"},
        "manifest": {
            "format": "JSON_ARRAY",
            "schema": {"column_count": columns.len(), "columns": columns},
            "total_chunk_count": rows.div_ceil(CHUNK),
            "total_row_count": rows,
            "truncated": count > limit,
        },
        "result": part(id, 0, rows),
    })
}

/// A chunk of so many rows in all; every value is text or null.
fn part(id: &str, index: usize, rows: usize) -> Value {
    if rows == 0 {
        return json!({});
    }
    let (first, end) = (index * CHUNK, rows.min((index + 1) * CHUNK));
    let text = |value: &Value| match value {
        Value::Null => Value::Null,
        Value::String(text) => json!(text),
        other => json!(other.to_string()),
    };
    let row = |number: usize| {
        let member = member(number);
        Value::Array(COLUMNS.iter().map(|name| text(&member[*name])).collect())
    };
    let data: Vec<Value> = (first..end).map(row).collect();
    let mut part = json!({
        "chunk_index": index, "row_offset": first, "row_count": data.len(), "data_array": data,
    });
    if end < rows {
        let next = index + 1;
        let link = format!("/api/2.0/sql/statements/{id}/result/chunks/{next}?row_offset={end}");
        part["next_chunk_index"] = json!(next);
        part["next_chunk_internal_link"] = json!(link);
    }
    part
}

/// The token endpoint: client credentials, as a form.
async fn grant(
    State(api): Shared,
    headers: HeaderMap,
    Path(tenant): Path<String>,
    body: Bytes,
) -> Response {
    let form = String::from_utf8(body.to_vec()).unwrap();
    let expected = "grant_type=client_credentials&client_id=app&client_secret=p%26ss+word&\
                    scope=2ff814a6-3304-4ab8-85cb-cd0e6f879c1d%2F.default";
    let is_form = headers[header::CONTENT_TYPE] == "application/x-www-form-urlencoded";
    if tenant == "contoso.example" && is_form && form == expected {
        let token = json!({"token_type": "Bearer", "expires_in": 3599, "access_token": api.token});
        return Json(token).into_response();
    }
    let sent = form.split('&').find(|pair| pair.starts_with("client_secret")).unwrap_or_default();
    let said = format!("AADSTS7000215: Invalid client secret provided: {sent}");
    let error = json!({"error": "invalid_client", "error_description": said});
    (StatusCode::UNAUTHORIZED, Json(error)).into_response()
}
