use axum::{
    body::Body,
    extract::Request,
    http::{
        HeaderMap, Method,
        header::{ACCEPT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, EXPECT},
    },
};

use crate::{error::ApiError, params::read_body};

const API: &str = "/api/v1/";
const QUERY: &str = "/api/v1/query";
const JSON: &str = "application/json";
/// Longer requests are not cached.
const MAX_URL_BYTES: usize = 512;
const MAX_QUERY_BYTES: usize = 2 * 1024;
const MAX_ENCODINGS_BYTES: usize = 64;

/// A request that may be answered from the cache.
#[derive(Debug)]
pub(crate) struct CachedRequest(pub(crate) Request);

/// All parts of a request that a cacheable response depends on: the URL, the accepted encodings, and the body of a
/// query. Two spellings of the same request have two keys: that costs a read, and is never wrong.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct CacheKey(Box<[u8]>);

impl CacheKey {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    fn new(url: &str, encodings: &[u8], body: Option<&[u8]>) -> Self {
        // Neither the URL nor a header value can contain a line feed, so the separator is unambiguous.
        let mut bytes = Vec::with_capacity(url.len() + encodings.len() + body.map_or(0, <[u8]>::len) + 2);
        bytes.extend_from_slice(url.as_bytes());
        bytes.push(b'\n');
        bytes.extend_from_slice(encodings);
        if let Some(body) = body {
            bytes.push(b'\n');
            bytes.extend_from_slice(body);
        }
        Self(bytes.into())
    }
}

impl CachedRequest {
    /// The key of a request whose response may be cached. The body of a query is read for it, and put back.
    pub(super) async fn cache_key(self) -> Result<(Self, Option<CacheKey>), ApiError> {
        let Self(request) = self;
        let Some(url) = request.uri().path_and_query().filter(|url| url.as_str().len() <= MAX_URL_BYTES) else {
            return Ok((Self(request), None));
        };
        let Some(encodings) = encodings(request.headers()) else { return Ok((Self(request), None)) };
        match *request.method() {
            Method::GET if url.path().starts_with(API) => {
                let key = CacheKey::new(url.as_str(), encodings, None);
                Ok((Self(request), Some(key)))
            }
            Method::POST if url.as_str() == QUERY && is_short_json(request.headers()) => {
                let (head, body) = request.into_parts();
                let body = read_body(&head.headers, body, MAX_QUERY_BYTES).await?;
                let encodings = self::encodings(&head.headers).unwrap_or_default();
                let key = CacheKey::new(QUERY, encodings, Some(&body));
                Ok((Self(Request::from_parts(head, Body::from(body))), Some(key)))
            }
            _ => Ok((Self(request), None)),
        }
    }
}

/// The accepted encodings; None if there are several headers or a long one, which is not worth caching.
fn encodings(headers: &HeaderMap) -> Option<&[u8]> {
    let mut values = headers.get_all(ACCEPT_ENCODING).iter();
    match (values.next(), values.next()) {
        (None, _) => Some(&[]),
        (Some(value), None) => Some(value.as_bytes()).filter(|value| value.len() <= MAX_ENCODINGS_BYTES),
        (Some(_), Some(_)) => None,
    }
}

/// Whether the body is JSON with a small Content-Length. All other bodies are left to the handler.
fn is_short_json(headers: &HeaderMap) -> bool {
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    length.is_some_and(|length| length <= MAX_QUERY_BYTES)
        && headers.get(CONTENT_TYPE).is_some_and(|kind| kind == JSON)
        && !headers.contains_key(EXPECT)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn key(request: axum::http::request::Builder, body: &'static str) -> Option<CacheKey> {
        let request = CachedRequest(request.body(Body::from(body)).unwrap());
        request.cache_key().await.unwrap().1
    }

    fn get(url: &str) -> axum::http::request::Builder {
        Request::get(url)
    }

    fn post(url: &str, body: &str) -> axum::http::request::Builder {
        Request::post(url).header(CONTENT_TYPE, JSON).header(CONTENT_LENGTH, body.len())
    }

    #[tokio::test]
    async fn requests_with_different_responses_have_different_keys() {
        let blocks = key(get("/api/v1/blocks?page=1"), "").await;
        assert!(blocks.is_some());
        assert_eq!(blocks, key(get("/api/v1/blocks?page=1").header("x-api-key", "k"), "").await);
        assert_ne!(blocks, key(get("/api/v1/blocks?page=2"), "").await);
        assert_ne!(blocks, key(get("/api/v1/blocks?page=1").header(ACCEPT_ENCODING, "gzip"), "").await);
        let query = key(post("/api/v1/query", "{}"), "{}").await;
        assert!(query.is_some());
        assert_ne!(query, key(post("/api/v1/query", "[]"), "[]").await);
        assert_ne!(query, key(get("/api/v1/query"), "").await);
    }

    #[tokio::test]
    async fn requests_that_are_not_cacheable_have_no_key() {
        assert_eq!(key(get("/health"), "").await, None);
        assert_eq!(key(Request::head("/api/v1/blocks"), "").await, None);
        assert_eq!(key(post("/api/v1/verify", "{}"), "{}").await, None);
        assert_eq!(key(post("/api/v1/query?x", "{}"), "{}").await, None);
        assert_eq!(key(Request::post("/api/v1/query").header(CONTENT_TYPE, JSON), "{}").await, None);
        let text = Request::post("/api/v1/query").header(CONTENT_TYPE, "text/plain").header(CONTENT_LENGTH, 2);
        assert_eq!(key(text, "{}").await, None);
        assert_eq!(key(get(&format!("/api/v1/blocks?{}", "x".repeat(MAX_URL_BYTES))), "").await, None);
        let many = get("/api/v1/blocks").header(ACCEPT_ENCODING, "gzip").header(ACCEPT_ENCODING, "br");
        assert_eq!(key(many, "").await, None);
    }

    #[tokio::test]
    async fn the_query_body_can_be_read_again() {
        let request = CachedRequest(post("/api/v1/query", "{}").body(Body::from("{}")).unwrap());
        let (CachedRequest(request), _) = request.cache_key().await.unwrap();
        assert_eq!(read_body(&HeaderMap::new(), request.into_body(), 64).await.unwrap(), "{}");
    }
}
