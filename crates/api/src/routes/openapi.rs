use axum::{
    Extension,
    body::Bytes,
    http::{
        HeaderMap, HeaderValue,
        header::{CACHE_CONTROL, ETAG},
    },
    response::Response,
};
use static_document::StaticDocument;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{json_response::entity_tag, state::App};

/// The serialized OpenAPI document.
#[derive(Debug, Clone)]
pub(crate) struct OpenApiDocument {
    document: StaticDocument,
    /// That of the plain form.
    tag: Option<HeaderValue>,
}

impl OpenApiDocument {
    pub(crate) fn new(json: Bytes) -> Self {
        let tag = HeaderValue::try_from(entity_tag(&json)).ok();
        Self { document: StaticDocument::new("application/json", json), tag }
    }
}

pub(super) fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(get_openapi))
}

/// OpenAPI document
#[utoipa::path(
    get,
    path = "/openapi.json",
    tag = "meta",
    responses((status = 200, description = "This document", body = serde_json::Value))
)]
async fn get_openapi(Extension(document): Extension<OpenApiDocument>, headers: HeaderMap) -> Response {
    let mut response = document.document.response_to(&headers);
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    if let Some(tag) = document.tag {
        response.headers_mut().insert(ETAG, tag);
    }
    response
}
