use axum::{
    body::Bytes,
    http::{
        HeaderValue,
        header::{CACHE_CONTROL, CONTENT_TYPE, ETAG},
    },
    response::{IntoResponse, Response},
};
use serde::Serialize;
use xxhash_rust::xxh3::xxh3_128;

use crate::{error::ApiError, response_cache::Cacheable};

/// A JSON body with its caching headers. It is serialized once: the ETag is a hash of the bytes that are sent.
#[derive(Debug)]
pub(crate) struct JsonResponse<T> {
    value: T,
    freshness: Freshness,
    cacheable: Option<Cacheable>,
}

/// How long a response stays valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Freshness {
    /// It may change with the next block: HTTP caches revalidate it on each request.
    UntilNextBlock,
    /// It is too deep for a reorg. Cached for an hour, not longer: a later version of the API may add fields.
    Settled,
    /// It is only valid at this moment.
    Momentary,
}

impl<T: Serialize> JsonResponse<T> {
    pub(crate) fn new(value: T, freshness: Freshness) -> Self {
        Self { value, freshness, cacheable: None }
    }

    /// Allows the response cache to store it. Only for responses that depend on the index and the request alone: not on
    /// the node, and not on who sends the request.
    pub(crate) fn cacheable(self) -> Self {
        Self { cacheable: Some(Cacheable), ..self }
    }
}

impl Freshness {
    fn cache_control(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::UntilNextBlock => "no-cache",
            Self::Settled => "public, max-age=3600",
            Self::Momentary => "no-store",
        })
    }
}

impl<T: Serialize> IntoResponse for JsonResponse<T> {
    fn into_response(self) -> Response {
        match write(&self.value) {
            Ok(body) => {
                let mut response = json_response(body.into(), self.freshness);
                if let Some(mark) = self.cacheable {
                    response.extensions_mut().insert(mark);
                }
                response
            }
            Err(error) => ApiError::from(error).into_response(),
        }
    }
}

/// Large enough for a page of a list, so that the buffer does not grow while it is written.
const INITIAL_CAPACITY: usize = 16 * 1024;

fn write(value: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut body = Vec::with_capacity(INITIAL_CAPACITY);
    serde_json::to_writer(&mut body, value)?;
    // The response cache may hold it for a long time.
    body.shrink_to_fit();
    Ok(body)
}

/// A response with a body that is already serialized.
pub(crate) fn json_response(body: Bytes, freshness: Freshness) -> Response {
    let tag = entity_tag(&body);
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, freshness.cache_control());
    if let (Ok(tag), true) = (HeaderValue::try_from(tag), freshness != Freshness::Momentary) {
        headers.insert(ETAG, tag);
    }
    response
}

/// Weak, since the same body may be sent with different compressions.
pub(crate) fn entity_tag(body: &[u8]) -> String {
    format!("W/\"{:032x}\"", xxh3_128(body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_bodies_have_equal_etags_and_different_ones_do_not() {
        assert_eq!(entity_tag(b"[1]"), entity_tag(b"[1]"));
        assert_ne!(entity_tag(b"[1]"), entity_tag(b"[2]"));
        assert_eq!(entity_tag(b"").len(), "W/\"\"".len() + 32);
    }

    #[test]
    fn momentary_responses_have_no_etag_and_are_not_stored() {
        let list = JsonResponse::new([1], Freshness::UntilNextBlock).into_response();
        assert_eq!(list.headers()[CACHE_CONTROL], "no-cache");
        assert_eq!(list.headers()[CONTENT_TYPE], "application/json");
        assert!(list.headers().contains_key(ETAG));

        let health = JsonResponse::new([1], Freshness::Momentary).into_response();
        assert_eq!(health.headers()[CACHE_CONTROL], "no-store");
        assert!(!health.headers().contains_key(ETAG));
    }
}
