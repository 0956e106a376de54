//! How it is asked: routes, access, live events, metrics.
//!
//! [`app`] is the whole HTTP interface as a router that needs no socket; [`serve`] puts it on one. A
//! handler extracts, makes a valid value through a dialect, asks the engine, and answers. It decides
//! nothing. Errors are problem details with a stable [`error::Code`]; who may do what is the table
//! in [`auth::role`]; `docs/http-api.md` is the guide for callers.

pub mod auth;
mod code;
pub mod error;
mod event_log;
mod events;
mod extract;
mod fingerprint;
mod history;
mod host;
mod job_id;
mod layer;
mod metrics;
mod openapi;
mod readiness;
mod request_id;
mod routes;
mod schema;
mod serve;
mod state;

use axum::Router;
use axum::extract::Request;
use axum::middleware::from_fn_with_state;
use tower::ServiceExt;
use utoipa::openapi::OpenApi;

pub use crate::auth::token::first_admin_token;
pub use crate::host::Hosts;
pub use crate::routes::{Access, Route};
pub use crate::serve::serve;
pub use crate::state::{Api, Settings};

/// The HTTP interface.
pub fn app(state: Api) -> Router {
    let (router, _, _) = routes::Routes::all(state.clone()).into_parts();
    let router = router
        .fallback(routes::not_found)
        .method_not_allowed_fallback(routes::method_not_allowed)
        .layer(from_fn_with_state(state.clone(), layer::around))
        .with_state(state);
    // The verbs of addresses must be split off before anything is matched.
    Router::new().fallback(|mut request: Request| async move {
        routes::verb::split(&mut request);
        router.oneshot(request).await
    })
}

/// What the HTTP interface documents of itself.
#[must_use]
pub fn document(state: Api) -> OpenApi {
    routes::Routes::all(state).into_parts().1
}

/// Every documented route with what it asks of its callers.
#[must_use]
pub fn table(state: Api) -> Vec<Route> {
    routes::Routes::all(state).into_parts().2
}
