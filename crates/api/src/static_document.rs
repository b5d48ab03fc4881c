use std::io::Write;

use axum::{
    body::Bytes,
    http::{
        Extensions, HeaderMap, HeaderValue, StatusCode, Version,
        header::{ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, VARY},
    },
    response::{IntoResponse, Response},
};
use flate2::{Compression, write::GzEncoder};

use crate::json_response::entity_tag;

/// A document that never changes: compressed once, not for each request.
#[derive(Debug, Clone)]
pub(crate) struct StaticDocument {
    kind: &'static str,
    plain: Bytes,
    gzip: Bytes,
    tag: Option<HeaderValue>,
}

/// Response extension: the body is sent as it is.
#[derive(Debug, Clone, Copy)]
struct Compressed;

/// For the compression of responses.
pub(crate) fn may_be_compressed(_: StatusCode, _: Version, _: &HeaderMap, extensions: &Extensions) -> bool {
    extensions.get::<Compressed>().is_none()
}

impl StaticDocument {
    pub(crate) fn new(kind: &'static str, plain: impl Into<Bytes>) -> Self {
        let plain = plain.into();
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        // Memory takes all bytes; without them, nobody is sent a compressed document.
        let gzip = encoder.write_all(&plain).and_then(|()| encoder.finish()).unwrap_or_default();
        // That of the plain form.
        let tag = HeaderValue::try_from(entity_tag(&plain)).ok();
        Self { kind, plain, gzip: gzip.into(), tag }
    }

    pub(crate) fn response_to(&self, headers: &HeaderMap) -> Response {
        let is_compressed = !self.gzip.is_empty() && accepts_gzip(headers);
        let body = if is_compressed { &self.gzip } else { &self.plain };
        let mut response = body.clone().into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.kind));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        if let Some(tag) = &self.tag {
            headers.insert(ETAG, tag.clone());
        }
        if is_compressed {
            headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            headers.insert(VARY, ACCEPT_ENCODING.into());
        }
        response.extensions_mut().insert(Compressed);
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

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;

    use super::*;

    /// Whether it is compressed, the ETag and the body.
    async fn get(document: &StaticDocument, accepted: &str) -> (bool, HeaderValue, Bytes) {
        let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, accepted.parse().unwrap())]);
        let (mut head, body) = document.response_to(&headers).into_parts();
        let (encoding, tag) = (head.headers.remove(CONTENT_ENCODING), head.headers.remove(ETAG));
        assert_eq!(encoding.is_some(), head.headers.contains_key(VARY), "{accepted}");
        (encoding.is_some_and(|encoding| encoding == "gzip"), tag.unwrap(), to_bytes(body, usize::MAX).await.unwrap())
    }

    fn document() -> StaticDocument {
        StaticDocument::new("application/json", vec![b' '; 100_000])
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
