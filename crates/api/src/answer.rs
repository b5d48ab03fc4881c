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

use crate::{error::ApiError, kept_answers::OfTheIndex};

/// A JSON body, with what a cache may do with it. It is written once: the same bytes are hashed and sent.
#[derive(Debug)]
pub(crate) struct Answer<T> {
    value: T,
    freshness: Freshness,
    of_the_index: Option<OfTheIndex>,
}

/// How long an answer stays true.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Freshness {
    /// It may change with the next block: a cache may keep it, but asks each time whether it still holds.
    UntilNextBlock,
    /// It lies too deep for a reorganisation. An hour, not for ever: a later version may add fields.
    Settled,
    /// It speaks of this very moment.
    Momentary,
}

impl<T: Serialize> Answer<T> {
    pub(crate) fn new(value: T, freshness: Freshness) -> Self {
        Self { value, freshness, of_the_index: None }
    }

    /// Says that it follows from the index and the request alone, so that it may be told again for as long as the index
    /// stands. Not of what anybody else was asked, nor of what belongs to a caller.
    pub(crate) fn of_the_index(self) -> Self {
        Self { of_the_index: Some(OfTheIndex), ..self }
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

impl<T: Serialize> IntoResponse for Answer<T> {
    fn into_response(self) -> Response {
        match write(&self.value) {
            Ok(body) => {
                let mut response = json_response(body.into(), self.freshness);
                if let Some(mark) = self.of_the_index {
                    response.extensions_mut().insert(mark);
                }
                response
            }
            Err(error) => ApiError::from(error).into_response(),
        }
    }
}

/// Room for a page of a list, so that it is written without being moved.
const ORDINARY_BYTES: usize = 16 * 1024;

fn write(value: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut body = Vec::with_capacity(ORDINARY_BYTES);
    serde_json::to_writer(&mut body, value)?;
    // It may be kept for long.
    body.shrink_to_fit();
    Ok(body)
}

/// An answer of JSON that is written already.
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

/// Weak, since the same body may leave compressed in one of several ways.
pub(crate) fn entity_tag(body: &[u8]) -> String {
    format!("W/\"{:032x}\"", xxh3_128(body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_bodies_have_equal_tags_and_others_do_not() {
        assert_eq!(entity_tag(b"[1]"), entity_tag(b"[1]"));
        assert_ne!(entity_tag(b"[1]"), entity_tag(b"[2]"));
        assert_eq!(entity_tag(b"").len(), "W/\"\"".len() + 32);
    }

    #[test]
    fn what_may_change_is_tagged_and_what_is_momentary_is_not_kept() {
        let list = Answer::new([1], Freshness::UntilNextBlock).into_response();
        assert_eq!(list.headers()[CACHE_CONTROL], "no-cache");
        assert_eq!(list.headers()[CONTENT_TYPE], "application/json");
        assert!(list.headers().contains_key(ETAG));

        let health = Answer::new([1], Freshness::Momentary).into_response();
        assert_eq!(health.headers()[CACHE_CONTROL], "no-store");
        assert!(!health.headers().contains_key(ETAG));
    }
}
