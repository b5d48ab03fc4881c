use axum::{Extension, http::HeaderMap, response::Response};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{state::App, static_document::StaticDocument};

/// The serialized OpenAPI document.
#[derive(Debug, Clone)]
pub(crate) struct OpenApiDocument(pub(crate) StaticDocument);

pub(super) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(get_openapi))
}

/// OpenAPI document
#[utoipa::path(
    get,
    path = "/openapi.json",
    tag = "meta",
    responses((status = 200, description = "The OpenAPI 3.1 description of the API", body = serde_json::Value))
)]
async fn get_openapi(Extension(document): Extension<OpenApiDocument>, headers: HeaderMap) -> Response {
    document.0.response_to(&headers)
}
