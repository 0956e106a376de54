//! Verbs after a colon: `POST /v1/jobs/{job}:cancel`.
//!
//! The router matches whole segments, and a verb shares its segment with an id. So the address is
//! brought into another form before it is matched: the verb becomes a segment of its own, marked by
//! a character that no address from outside may begin a segment with. This is the only place that
//! knows of it; documents, logs and metrics show the colon.

use axum::http::{Method, Request, Uri};

const MARK: &str = "/~";

/// The form that the router matches, of a documented path.
pub(crate) fn inward(path: &str) -> String {
    path.replace(':', MARK)
}

/// The documented form, of a path that the router has matched.
pub(crate) fn outward(path: &str) -> String {
    path.replace(MARK, ":")
}

/// Brings the address of a request into the form that the router matches.
pub(crate) fn split<B>(request: &mut Request<B>) {
    let path = request.uri().path();
    let replaced = if path.contains(MARK) {
        // Nobody may call a verb by our own name for it.
        Some("/~".to_owned())
    } else if request.method() == Method::POST {
        split_last(path)
    } else {
        None
    };
    if let Some(path) = replaced.and_then(|path| with_query(&path, request.uri())) {
        *request.uri_mut() = path;
    }
}

fn split_last(path: &str) -> Option<String> {
    let start = path.rfind('/')? + 1;
    let last = &path[start..];
    // Some clients write the colon as an escape.
    let (before, after) = [":", "%3A", "%3a"]
        .iter()
        .filter_map(|colon| last.rsplit_once(colon))
        .min_by_key(|(_, verb)| verb.len())?;
    // In `/v1/workflows:validate` the verb belongs to the whole collection.
    Some(format!("{}{before}{MARK}{after}", &path[..start]))
}

fn with_query(path: &str, uri: &Uri) -> Option<Uri> {
    match uri.query() {
        Some(query) => format!("{path}?{query}").parse().ok(),
        None => path.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(method: Method, uri: &str, expected: &str) {
        let mut request = Request::builder().method(method).uri(uri).body(()).unwrap();
        split(&mut request);
        assert_eq!(request.uri().to_string(), expected);
    }

    #[test]
    fn a_verb_is_split_off_at_the_last_colon() {
        check(Method::POST, "/v1/jobs/7:cancel", "/v1/jobs/7/~cancel");
        check(Method::POST, "/v1/jobs/7%3Acancel?x=1", "/v1/jobs/7/~cancel?x=1");
        check(Method::POST, "/v1/jobs/7/steps/a:b:retry", "/v1/jobs/7/steps/a:b/~retry");
        check(Method::POST, "/v1/workflows:validate", "/v1/workflows/~validate");
    }

    #[test]
    fn other_addresses_stay_as_they_are() {
        check(Method::GET, "/v1/jobs/7:cancel", "/v1/jobs/7:cancel");
        check(Method::POST, "/v1/commands", "/v1/commands");
        check(Method::POST, "/v1/workers/a:b/lease", "/v1/workers/a:b/lease");
    }

    #[test]
    fn our_own_name_for_a_verb_cannot_be_called() {
        check(Method::POST, "/v1/jobs/7/~cancel", "/~");
    }
}
