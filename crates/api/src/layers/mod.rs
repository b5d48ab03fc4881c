//! What every request passes through, whatever its route.

mod admission;
mod conditional;
mod deadline;
mod front;
mod panic;
mod request_id;
mod url_length;

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    http::{Method, header},
};
use tower::Layer;
use tower_http::cors::{Any, CorsLayer};

use crate::{error::ApiError, kept_answers::KeptAnswers, limits};

pub(crate) use admission::Admission;
use front::Front;

/// How long a browser may remember that it is allowed to ask.
const PREFLIGHT_MAX_AGE: Duration = Duration::from_secs(86_400);

/// Wraps a router.
pub(crate) fn wrap(router: Router, admission: Arc<Admission>, answers: KeptAnswers) -> Router {
    let router = router
        .fallback(async || ApiError::RouteNotFound)
        .method_not_allowed_fallback(async || ApiError::MethodNotAllowed);
    Router::new().fallback_service(open_to_browsers().layer(Front::new(router, admission, answers)))
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
