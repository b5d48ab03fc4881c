//! The API reference: static files in the binary, which load the OpenAPI document.

use axum::{
    Router,
    http::{
        HeaderValue,
        header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, REFERRER_POLICY},
    },
    response::{IntoResponse, Response},
    routing::get,
};

use crate::json_response::entity_tag;

/// Only resources of this origin, and no inline scripts.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

pub(crate) const ROUTES: [&str; 3] = ["/docs", "/docs/docs.css", "/docs/docs.js"];

pub(crate) fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new()
        .route("/docs", get(async || file(include_str!("../../assets/docs/index.html"), "text/html; charset=utf-8")))
        .route(
            "/docs/docs.css",
            get(async || file(include_str!("../../assets/docs/docs.css"), "text/css; charset=utf-8")),
        )
        .route(
            "/docs/docs.js",
            get(async || file(include_str!("../../assets/docs/docs.js"), "text/javascript; charset=utf-8")),
        )
}

fn file(content: &'static str, kind: &'static str) -> Response {
    let mut response = content.into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(CONTENT_SECURITY_POLICY, POLICY);
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    if let Ok(tag) = HeaderValue::try_from(entity_tag(content.as_bytes())) {
        headers.insert(ETAG, tag);
    }
    response
}
