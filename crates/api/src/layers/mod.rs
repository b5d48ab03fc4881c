//! What every request passes through, whatever its route.

mod admission;
mod conditional;
mod deadline;
mod panic;
mod request_id;
mod url_length;

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    http::{HeaderValue, Method, header},
    middleware::{from_fn, from_fn_with_state},
};
use tower_http::{
    CompressionLevel,
    catch_panic::CatchPanicLayer,
    compression::CompressionLayer,
    cors::{Any, CorsLayer},
    set_header::SetResponseHeaderLayer,
};

use crate::{error::ApiError, limits};

pub(crate) use admission::Admission;

/// How long a browser may remember that it is allowed to ask.
const PREFLIGHT_MAX_AGE: Duration = Duration::from_secs(86_400);

/// Wraps a router. The last layer added is the first to see a request.
pub(crate) fn wrap(router: Router, admission: Arc<Admission>) -> Router {
    router
        .fallback(async || ApiError::RouteNotFound)
        .method_not_allowed_fallback(async || ApiError::MethodNotAllowed)
        .layer(from_fn(deadline::answer_in_time))
        .layer(from_fn(url_length::refuse_long_urls))
        // Inside of CORS and the request id, so that a page and a log can make sense of a panic's answer too.
        .layer(CatchPanicLayer::custom(panic::answer_panic))
        .layer(from_fn(conditional::answer_not_modified))
        // Outside of all that may fail, so that a failure too tells the caller how he stands.
        .layer(from_fn_with_state(admission, admission::admit))
        // Bodies are small and made for one request: the quickest level saves most of the bytes at little cost.
        .layer(CompressionLayer::new().quality(CompressionLevel::Fastest))
        .layer(open_to_browsers())
        .layer(SetResponseHeaderLayer::overriding(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")))
        .layer(from_fn(request_id::identify))
}

/// Any page may read the API. Any header may come with a request: an API key is one that no cookie jar sends by itself.
fn open_to_browsers() -> CorsLayer {
    CorsLayer::new()
        .allow_origin(Any)
        .allow_methods([Method::GET, Method::HEAD, Method::POST, Method::PATCH, Method::DELETE, Method::OPTIONS])
        .allow_headers(Any)
        .expose_headers([
            header::ETAG,
            header::RETRY_AFTER,
            request_id::HEADER,
            limits::LIMIT,
            limits::REMAINING,
            limits::RESET,
            limits::RATE_LIMIT,
            limits::POLICY,
        ])
        .max_age(PREFLIGHT_MAX_AGE)
        // Every origin gets the same answer, so a shared cache need not tell them apart.
        .vary([])
}

#[cfg(test)]
pub(crate) mod tests;
