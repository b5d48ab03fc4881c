use std::io::Write;

use axum::{
    Extension,
    body::Bytes,
    http::{
        HeaderMap, HeaderValue,
        header::{ACCEPT_ENCODING, CONTENT_ENCODING, VARY},
    },
    response::Response,
};
use flate2::{Compression, write::GzEncoder};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    json_response::{Freshness, json_response},
    state::App,
};

/// The serialized OpenAPI document, compressed once.
#[derive(Debug, Clone)]
pub(crate) struct OpenApiDocument {
    plain: Bytes,
    gzip: Bytes,
}

impl OpenApiDocument {
    pub(crate) fn new(plain: Bytes) -> Self {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        // Memory takes all bytes; without them, nobody is sent a compressed document.
        let gzip = encoder.write_all(&plain).and_then(|()| encoder.finish()).unwrap_or_default();
        Self { plain, gzip: gzip.into() }
    }

    fn response_to(&self, headers: &HeaderMap) -> Response {
        // The ETag is that of the plain form.
        let mut response = json_response(self.plain.clone(), Freshness::UntilNextBlock);
        if !self.gzip.is_empty() && accepts_gzip(headers) {
            *response.body_mut() = self.gzip.clone().into();
            response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            response.headers_mut().insert(VARY, ACCEPT_ENCODING.into());
        }
        response
    }
}

/// Whether the client prefers the compressed form to the plain one, or likes both.
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let gzip = find_weight(headers, "gzip").or_else(|| find_weight(headers, "*")).unwrap_or_default();
    gzip > 0.0 && gzip >= find_weight(headers, "identity").unwrap_or_default()
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
    document.response_to(&headers)
}

#[cfg(test)]
mod tests {
    use axum::{body::to_bytes, http::header::ETAG};

    use super::*;

    /// Whether it is compressed, the ETag and the body.
    async fn get(document: &OpenApiDocument, accepted: &str) -> (bool, HeaderValue, Bytes) {
        let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, accepted.parse().unwrap())]);
        let (mut head, body) = document.response_to(&headers).into_parts();
        let (encoding, tag) = (head.headers.remove(CONTENT_ENCODING), head.headers.remove(ETAG));
        assert_eq!(encoding.is_some(), head.headers.contains_key(VARY), "{accepted}");
        (encoding.is_some_and(|encoding| encoding == "gzip"), tag.unwrap(), to_bytes(body, usize::MAX).await.unwrap())
    }

    fn document() -> OpenApiDocument {
        OpenApiDocument::new(vec![b' '; 100_000].into())
    }

    #[tokio::test]
    async fn the_document_is_compressed_once() {
        let document = document();
        let (_, tag, plain) = get(&document, "identity").await;
        assert_eq!(plain.len(), 100_000);
        let (is_compressed, same_tag, compressed) = get(&document, "gzip").await;
        assert!(is_compressed && same_tag == tag && compressed.len() < 1_000);
        assert_eq!(get(&document, "gzip").await.2.as_ptr(), compressed.as_ptr(), "it is made again");
    }

    #[tokio::test]
    async fn the_compressed_document_is_sent_to_clients_that_prefer_it() {
        let document = document();
        for (accepted, expected) in [
            ("", false),
            ("gzip, deflate, br, zstd", true),
            ("br;q=0.5, GZIP", true),
            ("gzip; q=0.8, *;q=0.1", true),
            ("br;q=0, *", true),
            ("*", true),
            ("*;q=0", false),
            ("gzip;q=0, identity;q=0", false),
            ("identity, gzip;q=0.5", false),
            ("identity;q=0.5, gzip", true),
            ("gzip;q=nan", false),
            ("zstd", false),
        ] {
            assert_eq!(get(&document, accepted).await.0, expected, "{accepted:?}");
        }
    }
}
