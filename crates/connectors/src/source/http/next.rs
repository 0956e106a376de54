//! Where the next page of a list is.

use reqwest::Url;
use reqwest::header::{HeaderMap, LINK};
use serde_json::Value;

use crate::source::error::SourceError;

/// The next page, if the answer names one.
///
/// # Errors
///
/// `Unreadable` if it is on another host: the call carries a credential that is not for others.
pub(super) fn page(
    current: &Url,
    headers: &HeaderMap,
    answer: &Value,
) -> Result<Option<Url>, SourceError> {
    let linked =
        headers.get_all(LINK).iter().filter_map(|link| link.to_str().ok()).find_map(linked);
    let Some(next) = linked.or_else(|| answer.get("@odata.nextLink").and_then(Value::as_str))
    else {
        return Ok(None);
    };
    let url = current.join(next).ok().filter(|url| url.origin() == current.origin());
    match url {
        Some(url) if url == *current => {
            Err(SourceError::unreadable("its next page is the same page again"))
        }
        Some(url) => Ok(Some(url)),
        None => {
            Err(SourceError::unreadable("its next page is on another host, which is not asked"))
        }
    }
}

/// The URL of `rel="next"` in a `Link` header (RFC 8288).
fn linked(header: &str) -> Option<&str> {
    header.split(',').find_map(|link| {
        let (url, parameters) = link.trim().strip_prefix('<')?.split_once('>')?;
        let is_next = |parameter: &str| {
            let (name, value) = parameter.trim().split_once('=').unwrap_or_default();
            let words = value.trim_matches('"');
            name.eq_ignore_ascii_case("rel") && words.split(' ').any(|word| word == "next")
        };
        parameters.split(';').any(is_next).then_some(url)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_found_among_other_links() {
        assert_eq!(linked(r#"<https://a/?p=1>; rel="prev", </?p=3>; rel="next""#), Some("/?p=3"));
        assert_eq!(linked("<x>; title=\"next\"; rel=last"), None);
        assert_eq!(linked("<x>; rel=next"), Some("x"));
        assert_eq!(linked("next"), None);
    }
}
