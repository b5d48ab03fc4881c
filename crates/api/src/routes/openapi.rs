use std::{convert::Infallible, sync::Arc};

use axum::{
    Extension,
    body::{Body, Bytes, to_bytes},
    extract::Request,
    http::{
        HeaderMap, HeaderValue,
        header::{ACCEPT_ENCODING, CONTENT_ENCODING, VARY},
    },
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

/// The serialized OpenAPI document. Each compressed form is made for the first client that asks for it.
#[derive(Debug, Clone)]
pub(crate) struct OpenApiDocument(Arc<Forms>);

#[derive(Debug)]
struct Forms {
    plain: Bytes,
    /// By encoding, the preferred one last.
    compressed: [(&'static str, OnceCell<Bytes>); 2],
}

impl OpenApiDocument {
    pub(crate) fn new(plain: Bytes) -> Self {
        let compressed = ["gzip", "br"].map(|encoding| (encoding, OnceCell::new()));
        Self(Arc::new(Forms { plain, compressed }))
    }

    async fn response_to(&self, headers: &HeaderMap) -> Response {
        let Forms { plain, compressed } = &*self.0;
        // The ETag is that of the plain form.
        let mut response = json_response(plain.clone(), Freshness::UntilNextBlock);
        let of_plain = find_weight(headers, "identity").unwrap_or_default();
        let weight = |encoding| find_weight(headers, encoding).or_else(|| find_weight(headers, "*"));
        let weighed = compressed.iter().filter_map(|form| Some((weight(form.0)?, form)));
        let accepted = weighed.filter(|(weight, _)| *weight > 0.0 && *weight >= of_plain);
        let Some((_, (encoding, form))) = accepted.max_by(|(one, _), (other, _)| one.total_cmp(other)) else {
            return response;
        };
        match form.get_or_try_init(|| compress(plain.clone(), encoding)).await {
            Ok(compressed) => *response.body_mut() = compressed.clone().into(),
            Err(error) => return ApiError::Compression(error).into_response(),
        }
        response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static(encoding));
        response.headers_mut().insert(VARY, ACCEPT_ENCODING.into());
        response
    }
}

/// The weight of an encoding that the client lists.
fn find_weight(headers: &HeaderMap, encoding: &str) -> Option<f32> {
    let lists = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|list| list.to_str().ok());
    lists.flat_map(|list| list.split(',')).find_map(|listed| {
        let (name, weight) = listed.split_once(';').unwrap_or((listed, "q=1"));
        let weight = weight.trim().strip_prefix("q=")?.parse().ok()?;
        name.trim().eq_ignore_ascii_case(encoding).then_some(weight)
    })
}

/// Higher levels of Brotli take up to seven times as long for less than a tenth of the bytes.
const LEVEL: CompressionLevel = CompressionLevel::Precise(9);

async fn compress(plain: Bytes, encoding: &'static str) -> Result<Bytes, axum::Error> {
    let service = service_fn(async |_: Request| Ok::<_, Infallible>(plain.clone().into_response()));
    let mut request = Request::new(Body::empty());
    request.headers_mut().insert(ACCEPT_ENCODING, HeaderValue::from_static(encoding));
    match CompressionLayer::new().quality(LEVEL).layer(service).oneshot(request).await {
        Ok(response) => to_bytes(Body::new(response.into_body()), usize::MAX).await,
        Err(never) => match never {},
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
async fn get_openapi(Extension(document): Extension<OpenApiDocument>, headers: HeaderMap) -> Response {
    document.response_to(&headers).await
}

#[cfg(test)]
mod tests {
    use axum::http::header::ETAG;

    use super::*;

    /// The encoding, the ETag and the body.
    async fn get(document: &OpenApiDocument, accepted: &str) -> (Option<HeaderValue>, HeaderValue, Bytes) {
        let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, accepted.parse().unwrap())]);
        let (mut head, body) = document.response_to(&headers).await.into_parts();
        let (encoding, tag) = (head.headers.remove(CONTENT_ENCODING), head.headers.remove(ETAG));
        assert_eq!(encoding.is_some(), head.headers.contains_key(VARY), "{accepted}");
        (encoding, tag.unwrap(), to_bytes(body, usize::MAX).await.unwrap())
    }

    fn document() -> OpenApiDocument {
        OpenApiDocument::new(vec![b' '; 100_000].into())
    }

    #[tokio::test]
    async fn each_encoding_is_made_once() {
        let document = document();
        let (_, tag, plain) = get(&document, "identity").await;
        assert_eq!(plain.len(), 100_000);
        for encoding in ["gzip", "br"] {
            let (first, same_tag, compressed) = get(&document, encoding).await;
            assert_eq!((first.unwrap(), same_tag), (encoding.parse().unwrap(), tag.clone()));
            assert!(compressed.len() < 1_000, "{encoding}");
            assert_eq!(get(&document, encoding).await.2.as_ptr(), compressed.as_ptr(), "{encoding} is made again");
        }
    }

    #[tokio::test]
    async fn the_encoding_with_the_highest_weight_is_sent() {
        let document = document();
        for (accepted, expected) in [
            ("", None),
            ("gzip, deflate, br, zstd", Some("br")),
            ("br;q=0.5, GZIP", Some("gzip")),
            ("gzip; q=0.8, *;q=0.1", Some("gzip")),
            ("br;q=0, *", Some("gzip")),
            ("*", Some("br")),
            ("*;q=0", None),
            ("gzip;q=0, identity;q=0", None),
            ("identity, gzip;q=0.5", None),
            ("identity;q=0.5, gzip", Some("gzip")),
            ("gzip;q=nan", None),
            ("zstd", None),
        ] {
            let (encoding, ..) = get(&document, accepted).await;
            assert_eq!(encoding.as_ref().map(|encoding| encoding.to_str().unwrap()), expected, "{accepted:?}");
        }
    }
}
