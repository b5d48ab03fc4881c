//! The API reference: static files in the binary, which load the OpenAPI document.

use std::sync::LazyLock;

use axum::{
    Router,
    http::{
        HeaderMap, HeaderValue,
        header::{CONTENT_SECURITY_POLICY, REFERRER_POLICY},
    },
    response::Response,
    routing::{MethodRouter, get},
};

use crate::static_document::StaticDocument;

/// Only resources of this origin, and no inline scripts.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

/// A file whose document is made when it is first requested.
macro_rules! file {
    ($path:literal, $file:literal, $kind:literal) => {{
        static DOCUMENT: LazyLock<StaticDocument> = LazyLock::new(|| StaticDocument::new($kind, include_str!($file)));
        ($path, get(async |headers: HeaderMap| respond(&DOCUMENT, &headers)))
    }};
}

/// All files, with their paths.
fn routes<S: Clone + Send + Sync + 'static>() -> [(&'static str, MethodRouter<S>); 3] {
    [
        file!("/docs", "../../assets/docs/index.html", "text/html; charset=utf-8"),
        file!("/docs/docs.css", "../../assets/docs/docs.css", "text/css; charset=utf-8"),
        file!("/docs/docs.js", "../../assets/docs/docs.js", "text/javascript; charset=utf-8"),
    ]
}

pub(crate) fn list_routes() -> impl Iterator<Item = &'static str> {
    routes::<()>().into_iter().map(|(path, _)| path)
}

pub(crate) fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    routes().into_iter().fold(Router::new(), |router, (path, methods)| router.route(path, methods))
}

fn respond(document: &StaticDocument, headers: &HeaderMap) -> Response {
    let mut response = document.response_to(headers);
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, POLICY);
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}
