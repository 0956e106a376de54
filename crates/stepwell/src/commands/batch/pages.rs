//! Lists that the server gives in pages.

use serde_json::{Value, json};

use crate::client::Api;
use crate::commands::workflow::items;
use crate::failure::Failure;

/// The most that the server gives at once.
pub(super) const PAGE_MAX: usize = 200;

/// A filter: the name of a parameter, and what it must be.
pub(super) type Filter<'a> = (&'static str, &'a str);

/// Reads a list by place: at most `limit` items, and how many there are in all.
pub(super) async fn by_place(
    api: &Api,
    path: &[&str],
    filters: &[Filter<'_>],
    limit: usize,
) -> Result<Value, Failure> {
    let (mut found, mut total) = (Vec::<Value>::new(), Value::Null);
    while found.len() < limit {
        let wanted = (limit - found.len()).min(PAGE_MAX);
        let (page, offset) = (wanted.to_string(), found.len().to_string());
        let mut query = filters.to_vec();
        query.extend([("limit", page.as_str()), ("offset", offset.as_str())]);
        let answer = api.get(path, &query).await?;
        let part = items(&answer);
        found.extend_from_slice(part);
        total = answer["total"].clone();
        if part.len() < wanted {
            break;
        }
    }
    Ok(json!({ "items": found, "total": total }))
}

/// Reads a list that goes on after the last item: at most `limit` items, and where the rest begins.
pub(super) async fn by_cursor(
    api: &Api,
    path: &[&str],
    filters: &[Filter<'_>],
    limit: usize,
) -> Result<Value, Failure> {
    let (mut found, mut next) = (Vec::<Value>::new(), Value::Null);
    while found.len() < limit {
        let page = (limit - found.len()).min(PAGE_MAX).to_string();
        let after = next.as_str().map_or_else(|| next.to_string(), str::to_owned);
        let mut query = filters.to_vec();
        query.push(("limit", page.as_str()));
        if !next.is_null() {
            query.push(("after", after.as_str()));
        }
        let answer = api.get(path, &query).await?;
        let part = items(&answer);
        found.extend_from_slice(part);
        next = answer["next"].clone();
        if part.is_empty() || next.is_null() {
            break;
        }
    }
    Ok(json!({ "items": found, "next": next }))
}
