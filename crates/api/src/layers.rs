//! Middleware that every request passes through.

mod admission;
mod conditional;
mod deadline;
mod dialect_rules;
mod front;
mod indexed_block;
mod panic;
mod request_id;
mod url_length;

use std::{sync::Arc, time::Duration};

pub(crate) use self::admission::Admission;
use axum::{
    Router,
    http::{Method, header},
};
pub use dialect_rules::{DialectAdmission, DialectRules};
use front::Front;
pub(crate) use indexed_block::{IndexResources, IndexedBlock};
use tower::Layer;
use tower_http::cors::{Any, CorsLayer};

use crate::{
    error::ApiError,
    response_cache::{BLOCK, ResponseCache},
};

/// How long a browser may cache the preflight response.
const PREFLIGHT_MAX_AGE: Duration = Duration::from_secs(86_400);

pub(crate) fn wrap(
    router: Router,
    admission: Arc<Admission>,
    cache: ResponseCache,
    dialects: Vec<DialectRules>,
    indexed_block: IndexedBlock,
) -> Router {
    let router = router
        .fallback(async || ApiError::RouteNotFound)
        .method_not_allowed_fallback(async || ApiError::MethodNotAllowed);
    Router::new().fallback_service(cors().layer(Front::new(router, admission, cache, dialects, indexed_block)))
}

/// Any origin may call the API with any header: browsers never add an API key on their own, as they do cookies.
fn cors() -> CorsLayer {
    CorsLayer::new()
        .allow_origin(Any)
        .allow_methods([Method::GET, Method::HEAD, Method::POST, Method::PATCH, Method::DELETE, Method::OPTIONS])
        .allow_headers(Any)
        .expose_headers([
            header::ETAG,
            header::RETRY_AFTER,
            request_id::HEADER,
            BLOCK,
            ::admission::COST,
            ::admission::LIMIT,
            ::admission::REMAINING,
            ::admission::RESET,
            ::admission::RATE_LIMIT,
            ::admission::POLICY,
        ])
        .max_age(PREFLIGHT_MAX_AGE)
        // Every origin gets the same response, so shared caches need no `Vary: Origin`.
        .vary([])
}

#[cfg(test)]
pub(crate) mod tests;
