use axum::{Extension, body::Bytes, response::Response};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::App;
use crate::{
    document::NotModified,
    json_response::{Freshness, json_response},
};

/// The serialized OpenAPI document, created once at the start.
#[derive(Debug, Clone)]
pub(crate) struct OpenApiDocument(pub(crate) Bytes);

pub(super) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(get_openapi))
}

/// OpenAPI document
#[utoipa::path(
    get,
    path = "/openapi.json",
    tag = "meta",
    responses(
        (status = 200, description = "The OpenAPI 3.1 description of the API", body = serde_json::Value),
        NotModified
    )
)]
async fn get_openapi(Extension(OpenApiDocument(document)): Extension<OpenApiDocument>) -> Response {
    json_response(document, Freshness::UntilNextBlock)
}
