//! Middleware that every request passes through.

mod admission;
mod conditional;
mod cors;
mod deadline;
mod dialect_rules;
mod front;
mod indexed_block;
mod panic;
mod request_id;
mod url_length;

use std::sync::Arc;

pub(crate) use self::admission::{Admission, Identity, limited_caller};
use axum::Router;
pub use cors::{AllowedOrigins, OriginError};
pub use dialect_rules::{DialectAdmission, DialectRules};
use front::Front;
pub(crate) use indexed_block::{IndexResources, IndexedBlock};
use tower::Layer;

use crate::{error::ApiError, response_cache::ResponseCache};

pub(crate) fn wrap(
    router: Router,
    admission: Arc<Admission>,
    cache: ResponseCache,
    dialects: Vec<DialectRules>,
    indexed_block: IndexedBlock,
    origins: AllowedOrigins,
) -> Router {
    let router = router
        .fallback(async || ApiError::RouteNotFound)
        .method_not_allowed_fallback(async || ApiError::MethodNotAllowed);
    let front = Front::new(router, admission, cache, dialects, indexed_block);
    match cors::layer(origins) {
        Some(cors) => Router::new().fallback_service(cors.layer(front)),
        None => Router::new().fallback_service(front),
    }
}

#[cfg(test)]
pub(crate) mod tests;
