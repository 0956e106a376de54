//! What happens around every request: its name, its span, its figures, its last line of defense.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, HeaderMap, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tracing::Instrument;
use tracing::field::Empty;

use crate::error::{ApiError, write_down};
use crate::request_id::{REQUEST_ID, RequestId};
use crate::routes::verb;
use crate::state::Api;

/// Surrounds a request.
pub(crate) async fn around(State(api): State<Api>, mut request: Request, next: Next) -> Response {
    let began = Instant::now();
    let id = RequestId::of(request.headers());
    let method = request.method().clone();
    let route = route(&request);
    request.extensions_mut().insert(id.clone());
    // The pattern is logged, never the address: the address of a callback holds its proof.
    let span = tracing::info_span!(
        "request", %method, route, request_id = id.as_str(),
        status = Empty, job_id = Empty, trace_id = Empty, correlation_id = Empty, subject = Empty, code = Empty,
    );
    let mut response = async {
        match api.settings().hosts.check(&request) {
            Ok(()) => caught(next.run(request)).await,
            Err(error) => error.into_response(),
        }
    }
    .instrument(span.clone())
    .await;
    let _entered = span.enter();
    if let Some(error) = response.extensions().get::<ApiError>() {
        span.record("code", error.code().word());
    }
    write_down(&mut response, id.as_str());
    let headers = response.headers_mut();
    id.header().into_iter().for_each(|id| drop(headers.insert(REQUEST_ID, id)));
    defend(headers);
    let status = response.status().as_u16();
    let took = began.elapsed();
    span.record("status", status);
    api.metrics().answered(&method, &route, status, took);
    tracing::info!(status, ms = took.as_millis() as u64, "request_answered");
    response
}

/// The route's pattern as it is documented.
fn route(request: &Request) -> String {
    let matched = request.extensions().get::<MatchedPath>();
    matched.map_or_else(|| "unmatched".to_owned(), |path| verb::outward(path.as_str()))
}

/// Finishes the answer, or says that it could not be finished: one bad request takes nobody else down.
async fn caught(answer: impl Future<Output = Response>) -> Response {
    let mut answer = pin!(answer);
    let polled = poll_fn(|context| {
        let polled = catch_unwind(AssertUnwindSafe(|| answer.as_mut().poll(context)));
        match polled {
            Ok(polled) => polled.map(Some),
            Err(_) => std::task::Poll::Ready(None),
        }
    });
    match polled.await {
        Some(response) => response,
        None => ApiError::internal("a handler panicked").into_response(),
    }
}

/// What a browser must not do with an answer. A page that needs more has said so already.
fn defend(headers: &mut HeaderMap) {
    const POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
    let defaults = [
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
        (CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
        (POLICY, "same-origin"),
    ];
    for (name, value) in defaults {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;

    use super::*;

    // F104: one bad request takes nobody else down.
    #[tokio::test]
    async fn a_handler_that_panics_is_answered_as_a_fault_of_ours() {
        let response = caught(async { panic!("a fault in a handler") }).await;
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert!(response.extensions().get::<ApiError>().is_some());
    }
}
