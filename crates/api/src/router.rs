use std::sync::Arc;

use axum::{Extension, Router};

use crate::{ApiState, document, layers, routes};

/// Everything the API answers, ready to serve.
pub fn router(state: ApiState) -> Router {
    let (routes, mut document) = routes::router().split_for_parts();
    document::complete(&mut document, state.access);
    let document = routes::OpenApiDocument(document::write(&document));
    let admission = Arc::clone(&state.admission);
    let answers = state.kept_answers();
    let pages = routes::docs_router();
    layers::wrap(routes.layer(Extension(document)).merge(pages).with_state(Arc::new(state)), admission, answers)
}
