//! The API page: static files without data. It asks for a token and reads /openapi.json with it.

use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::IntoResponse;
use utoipa_axum::routes;

use super::{Access, Routes};

/// Nothing from elsewhere, nothing inline, and calls only to where the page came from.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(super) fn add(routes: Routes) -> Routes {
    routes
        .add(Access::Open, routes!(page))
        .add(Access::Open, routes!(script))
        .add(Access::Open, routes!(style))
}

fn file(kind: &'static str, text: &'static str) -> impl IntoResponse {
    ([(CONTENT_TYPE, kind), (CONTENT_SECURITY_POLICY, POLICY)], text)
}

/// Show the API page
#[utoipa::path(
    get, path = "/docs", tag = "page", operation_id = "page",
    responses((status = 200, description = "A page", body = String, content_type = "text/html")),
)]
async fn page() -> impl IntoResponse {
    file("text/html; charset=utf-8", include_str!("../page/index.html"))
}

/// The script of the API page
#[utoipa::path(
    get, path = "/docs/app.js", tag = "page", operation_id = "pageScript",
    responses((status = 200, description = "A script", body = String, content_type = "text/javascript")),
)]
async fn script() -> impl IntoResponse {
    file("text/javascript; charset=utf-8", include_str!("../page/app.js"))
}

/// The style of the API page
#[utoipa::path(
    get, path = "/docs/app.css", tag = "page", operation_id = "pageStyle",
    responses((status = 200, description = "A style", body = String, content_type = "text/css")),
)]
async fn style() -> impl IntoResponse {
    file("text/css; charset=utf-8", include_str!("../page/app.css"))
}
