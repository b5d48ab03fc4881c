use std::sync::Arc;

use axum::{Extension, Router};

use crate::{ApiState, document, layers, routes};

/// Everything the API answers, ready to serve.
pub fn router(state: ApiState) -> Router {
    let (routes, mut document) = routes::router().split_for_parts();
    document::complete(&mut document);
    let document = routes::OpenApiDocument(document::write(&document));
    layers::wrap(routes.layer(Extension(document)).with_state(Arc::new(state)))
}
