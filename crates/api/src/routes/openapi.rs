use std::{convert::Infallible, sync::Arc};

use axum::{
    Extension,
    body::{Body, Bytes, to_bytes},
    extract::Request,
    http::header::CONTENT_ENCODING,
    response::{IntoResponse, Response},
};
use tokio::sync::OnceCell;
use tower::{Layer, ServiceExt, service_fn};
use tower_http::{CompressionLevel, compression::CompressionLayer};
use utoipa_axum::{router::OpenApiRouter, routes};

use super::App;
use crate::{
    error::ApiError,
    json_response::{Freshness, json_response},
};

/// Higher levels of Brotli take up to seven times as long for less than a tenth of the bytes.
const LEVEL: CompressionLevel = CompressionLevel::Precise(9);

/// The serialized OpenAPI document. Each compressed form is made for the first client that asks for it.
#[derive(Debug, Clone)]
pub(crate) struct OpenApiDocument(Arc<Forms>);

#[derive(Debug)]
struct Forms {
    plain: Bytes,
    gzip: OnceCell<Bytes>,
    brotli: OnceCell<Bytes>,
}

impl OpenApiDocument {
    pub(crate) fn new(plain: Bytes) -> Self {
        Self(Arc::new(Forms { plain, gzip: OnceCell::new(), brotli: OnceCell::new() }))
    }

    async fn response_to(&self, request: Request) -> Response {
        let Self(forms) = self;
        let plain = async |_| Ok::<_, Infallible>(json_response(forms.plain.clone(), Freshness::UntilNextBlock));
        // The layer negotiates the encoding. It compresses while its body is read, which only the first response does.
        let compression = CompressionLayer::new().quality(LEVEL).layer(service_fn(plain));
        let (head, body) = match compression.oneshot(request).await {
            Ok(response) => response.map(Body::new).into_parts(),
            Err(never) => match never {},
        };
        let form = match head.headers.get(CONTENT_ENCODING).map(|encoding| encoding.as_bytes()) {
            Some(b"gzip") => &forms.gzip,
            Some(b"br") => &forms.brotli,
            _ => return Response::from_parts(head, body),
        };
        match form.get_or_try_init(|| to_bytes(body, usize::MAX)).await {
            Ok(compressed) => Response::from_parts(head, compressed.clone().into()),
            Err(error) => ApiError::Compression(error).into_response(),
        }
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
    responses((status = 200, description = "The OpenAPI 3.1 description of the API", body = serde_json::Value))
)]
async fn get_openapi(Extension(document): Extension<OpenApiDocument>, request: Request) -> Response {
    document.response_to(request).await
}

#[cfg(test)]
mod tests {
    use axum::http::header::{ACCEPT_ENCODING, ETAG, VARY};

    use super::*;

    /// The encoding, the ETag and the body.
    async fn get(document: &OpenApiDocument, accepted: &str) -> (Option<String>, String, Bytes) {
        let request = Request::builder().header(ACCEPT_ENCODING, accepted).body(Body::empty()).unwrap();
        let (head, body) = document.response_to(request).await.into_parts();
        let text = |name| head.headers.get(name).map(|value| value.to_str().unwrap().to_owned());
        assert_eq!(text(VARY).unwrap(), "accept-encoding");
        (text(CONTENT_ENCODING), text(ETAG).unwrap(), to_bytes(body, usize::MAX).await.unwrap())
    }

    #[tokio::test]
    async fn each_encoding_is_made_once() {
        let document = OpenApiDocument::new(vec![b' '; 100_000].into());
        let (encoding, tag, plain) = get(&document, "identity").await;
        assert_eq!((encoding, plain.len()), (None, 100_000));
        for (accepted, expected) in [("gzip", "gzip"), ("gzip, deflate, br, zstd", "br"), ("br;q=0.5, gzip", "gzip")] {
            let first = get(&document, accepted).await;
            assert_eq!((first.0.as_deref(), &first.1), (Some(expected), &tag), "{accepted}");
            assert!(first.2.len() < 1_000);
            assert_eq!(get(&document, accepted).await.2.as_ptr(), first.2.as_ptr(), "compressed again");
        }
    }
}
