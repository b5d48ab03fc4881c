use std::sync::Arc;

use axum::{Extension, Router};

use crate::{ApiState, document, layers, routes};

/// All routes of the API, wrapped in its layers.
pub fn router(state: ApiState) -> Router {
    let (routes, mut document) = routes::router().split_for_parts();
    document::complete(&mut document, state.access);
    let document = routes::OpenApiDocument(document::write(&document));
    let admission = Arc::clone(&state.admission);
    let cache = state.response_cache();
    let pages = routes::docs_router();
    layers::wrap(routes.layer(Extension(document)).merge(pages).with_state(Arc::new(state)), admission, cache)
}
