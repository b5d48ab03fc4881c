//! The API reference: static files in the binary, which load the OpenAPI document.

use axum::{
    Router,
    http::{
        HeaderValue,
        header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, REFERRER_POLICY},
    },
    response::{IntoResponse, Response},
    routing::{MethodRouter, get},
};

use crate::json_response::entity_tag;

/// Only resources of this origin, and no inline scripts.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

/// All files, with their paths.
fn routes<S: Clone + Send + Sync + 'static>() -> [(&'static str, MethodRouter<S>); 3] {
    [
        ("/docs", get(async || file(include_str!("../../assets/docs/index.html"), "text/html; charset=utf-8"))),
        ("/docs/docs.css", get(async || file(include_str!("../../assets/docs/docs.css"), "text/css; charset=utf-8"))),
        (
            "/docs/docs.js",
            get(async || file(include_str!("../../assets/docs/docs.js"), "text/javascript; charset=utf-8")),
        ),
    ]
}

pub(crate) fn list_routes() -> impl Iterator<Item = &'static str> {
    routes::<()>().into_iter().map(|(path, _)| path)
}

pub(crate) fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    routes().into_iter().fold(Router::new(), |router, (path, methods)| router.route(path, methods))
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
