//! What every page passes through.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::Response;
use tokio::time::timeout;
use tower_http::CompressionLevel;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;

use crate::budget::{self, PageBudget};
use crate::error::trouble;

/// No page takes a fraction of this; one that does is stuck.
const DEADLINE: Duration = Duration::from_secs(30);

/// Nothing but what comes from here, and no script in the page itself.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
    form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const SAFETY: [(HeaderName, HeaderValue); 4] = [
    (CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
    (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (REFERRER_POLICY, HeaderValue::from_static("same-origin")),
];

pub(crate) fn wrap(router: Router, budget: Arc<PageBudget>) -> Router {
    router
        .layer(from_fn(answer_in_time))
        .layer(from_fn_with_state(budget, budget::count))
        .layer(CatchPanicLayer::custom(answer_panic))
        .layer(CompressionLayer::new().quality(CompressionLevel::Fastest))
        .layer(from_fn(make_safe))
}

async fn answer_in_time(request: Request, next: Next) -> Response {
    timeout(DEADLINE, next.run(request)).await.unwrap_or_else(|_| trouble())
}

async fn make_safe(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in SAFETY {
        headers.insert(name, value);
    }
    // A page is of this moment; assets say otherwise themselves.
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-cache"));
    response
}

#[expect(clippy::needless_pass_by_value, reason = "the layer hands the panic over")]
fn answer_panic(panic: Box<dyn Any + Send>) -> Response {
    let words = panic.downcast_ref::<&str>().map(|words| (*words).to_owned());
    let words = words.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    tracing::error!(panic = words, "a page panicked");
    trouble()
}
