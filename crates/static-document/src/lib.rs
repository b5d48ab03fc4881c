//! Documents that never change, such as scripts and the OpenAPI document: compressed once, not for each request.

use std::io::Write;

use axum::{
    body::Bytes,
    http::{
        Extensions, HeaderMap, HeaderValue, StatusCode, Version,
        header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, VARY},
    },
    response::{IntoResponse, Response},
};
use flate2::{Compression, write::GzEncoder};

/// A document that never changes, in the forms that clients accept.
#[derive(Debug, Clone)]
pub struct StaticDocument {
    kind: &'static str,
    plain: Bytes,
    /// None if it would not be smaller.
    gzip: Option<Bytes>,
}

/// Response extension: the body is sent as it is.
#[derive(Debug, Clone, Copy)]
struct AsItIs;

/// For a layer that compresses responses: false for those of documents.
#[must_use]
pub fn may_be_compressed(_: StatusCode, _: Version, _: &HeaderMap, extensions: &Extensions) -> bool {
    extensions.get::<AsItIs>().is_none()
}

impl StaticDocument {
    /// Of this content type.
    #[must_use]
    pub fn new(kind: &'static str, plain: impl Into<Bytes>) -> Self {
        let plain = plain.into();
        let gzip = if is_compressed_already(kind) { None } else { compress(&plain) };
        Self { kind, plain, gzip }
    }

    /// Without compression.
    #[must_use]
    pub fn plain(&self) -> &Bytes {
        &self.plain
    }

    /// The response to a request with these headers. Its caching is up to the caller.
    #[must_use]
    pub fn response_to(&self, headers: &HeaderMap) -> Response {
        let compressed = self.gzip.as_ref().filter(|_| accepts_gzip(headers));
        let mut response = compressed.unwrap_or(&self.plain).clone().into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.kind));
        if compressed.is_some() {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
        if self.gzip.is_some() {
            headers.insert(VARY, ACCEPT_ENCODING.into());
        }
        response.extensions_mut().insert(AsItIs);
        response
    }
}

/// Formats of images, except that of drawings, which is text.
fn is_compressed_already(kind: &str) -> bool {
    kind.starts_with("image/") && !kind.starts_with("image/svg+xml")
}

fn compress(plain: &[u8]) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let gzip = encoder.write_all(plain).and_then(|()| encoder.finish()).ok()?;
    (gzip.len() < plain.len()).then(|| gzip.into())
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

#[cfg(test)]
mod tests {
    use std::io::Read;

    use axum::body::to_bytes;

    use super::*;

    /// Whether it is compressed, and the body.
    async fn get(document: &StaticDocument, accepted: &str) -> (bool, Bytes) {
        let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, accepted.parse().unwrap())]);
        let (head, body) = document.response_to(&headers).into_parts();
        assert!(!may_be_compressed(head.status, head.version, &head.headers, &head.extensions));
        assert_eq!(document.gzip.is_some(), head.headers.contains_key(VARY), "{accepted}");
        let encoding = head.headers.get(CONTENT_ENCODING);
        (encoding.is_some_and(|encoding| encoding == "gzip"), to_bytes(body, usize::MAX).await.unwrap())
    }

    fn document() -> StaticDocument {
        StaticDocument::new("application/json", vec![b' '; 100_000])
    }

    #[tokio::test]
    async fn the_document_is_compressed_once() {
        let document = document();
        let (_, plain) = get(&document, "identity").await;
        assert_eq!(plain.len(), 100_000);
        let (is_compressed, compressed) = get(&document, "gzip").await;
        assert!(is_compressed && compressed.len() < 1_000);
        assert_eq!(get(&document, "gzip").await.1.as_ptr(), compressed.as_ptr(), "it is made again");
        let mut read = Vec::new();
        flate2::read::GzDecoder::new(&compressed[..]).read_to_end(&mut read).unwrap();
        assert_eq!(read, plain);
    }

    #[tokio::test]
    async fn what_compression_would_not_make_smaller_stays_as_it_is() {
        let photo = StaticDocument::new("image/png", vec![0; 100_000]);
        let tiny = StaticDocument::new("text/css; charset=utf-8", "a{}");
        for document in [photo, tiny] {
            let (is_compressed, body) = get(&document, "gzip").await;
            assert!(!is_compressed && body == document.plain);
        }
        let drawing = StaticDocument::new("image/svg+xml", vec![b' '; 1_000]);
        assert!(get(&drawing, "gzip").await.0);
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
