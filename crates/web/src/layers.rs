//! Middleware that every page passes through.

use std::{any::Any, sync::Arc, time::Duration};

use admission::{Area, PageBudget};
use axum::{
    Router,
    extract::{Request, State},
    http::{
        Extensions, HeaderMap, HeaderName, HeaderValue, StatusCode, Version,
        header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS},
    },
    middleware::{Next, from_fn, from_fn_with_state},
    response::Response,
};
use tokio::time::timeout;
use tower_http::{
    CompressionLevel,
    catch_panic::CatchPanicLayer,
    compression::{CompressionLayer, DefaultPredicate, predicate::Predicate},
};

use crate::{
    base_path::{self, BasePath},
    error::{internal_error, too_many_pages},
};

/// Pages take a fraction of this; one that takes longer is stuck.
const DEADLINE: Duration = Duration::from_secs(30);

/// Only resources of this origin, and no inline scripts.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
    form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const SECURITY_HEADERS: [(HeaderName, HeaderValue); 4] = [
    (CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY)),
    (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (REFERRER_POLICY, HeaderValue::from_static("same-origin")),
];

type MayBeCompressed = fn(StatusCode, Version, &HeaderMap, &Extensions) -> bool;

pub(crate) fn wrap(router: Router, budget: Arc<PageBudget>, base_path: BasePath) -> Router {
    let may_be_compressed: MayBeCompressed = static_document::may_be_compressed;
    let compression = CompressionLayer::new()
        .quality(CompressionLevel::Precise(2))
        .compress_when(DefaultPredicate::new().and(may_be_compressed));
    router
        .layer(from_fn_with_state(base_path, base_path::prefix_links))
        .layer(from_fn(limit_time))
        .layer(from_fn_with_state(budget, count_page))
        .layer(CatchPanicLayer::custom(respond_to_panic))
        .layer(compression)
        .layer(from_fn(add_security_headers))
}

async fn limit_time(request: Request, next: Next) -> Response {
    timeout(DEADLINE, next.run(request)).await.unwrap_or_else(|_| internal_error())
}

/// Counts the cost of a page for its client, or rejects it.
async fn count_page(State(budget): State<Arc<PageBudget>>, request: Request, next: Next) -> Response {
    match Area::Pages.cost(request.uri().path()) {
        // Browsers cache it.
        None => next.run(request).await,
        Some(cost) => budget.show(request, cost, next).await.unwrap_or_else(too_many_pages),
    }
}

async fn add_security_headers(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    // Images of NFTs have a stricter policy of their own.
    for (name, value) in SECURITY_HEADERS {
        headers.entry(name).or_insert(value);
    }
    // Assets set their own value.
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-cache"));
    response
}

#[expect(clippy::needless_pass_by_value, reason = "required by the layer")]
fn respond_to_panic(panic: Box<dyn Any + Send>) -> Response {
    let message = panic.downcast_ref::<&str>().map(|message| (*message).to_owned());
    let message = message.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    tracing::error!(panic = message, "a page handler panicked");
    internal_error()
}
