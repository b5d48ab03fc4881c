use std::error::Error as _;

use admission::{Permit, Slot, long_bodies};
use axum::{
    body::{Body, Bytes, to_bytes},
    extract::{FromRequest, FromRequestParts, Request},
    http::{
        HeaderMap,
        header::{CONTENT_LENGTH, CONTENT_TYPE},
    },
};
use client_address::Client;
use http_body_util::{BodyExt, LengthLimitError};
use tokio::time::timeout;

use super::body_error::{BODY_TIMEOUT, BodyError};
use crate::error::ApiError;

/// A type that can be parsed from a request body.
pub(crate) trait FromBody: Sized {
    const MAX_BYTES: usize = 64 * 1024;

    fn from_json(json: &[u8]) -> Result<Self, ApiError>;
}

/// Extractor of a JSON body.
#[derive(Debug)]
pub(crate) struct ValidBody<T>(pub(crate) T);

impl<S: Sync, T: FromBody> FromRequest<S> for ValidBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        if !is_json(request.headers()) {
            return Err(ApiError::UnsupportedMediaType);
        }
        let (mut head, body) = request.into_parts();
        let Ok(client) = Client::from_request_parts(&mut head, &()).await;
        let json = ReadBody::of(client, &head.headers, body, T::MAX_BYTES).await?;
        Ok(Self(T::from_json(&json.bytes)?))
    }
}

/// A body that was read and is about to be parsed.
#[derive(Debug)]
pub struct ReadBody {
    pub bytes: Bytes,
    /// Of a long one, until it is parsed.
    _held: Option<(Slot<Client>, Permit<Client>)>,
}

impl ReadBody {
    /// Reads a complete body, unless it is too long or too slow. Only a few long ones are read at a time, and one is parsed.
    pub(crate) async fn of(client: Client, headers: &HeaderMap, body: Body, max: usize) -> Result<Self, ApiError> {
        if max <= long_bodies::SHORT_BODY || !long_bodies::may_be_long(headers) {
            return Ok(Self { bytes: read_body(headers, body, max).await?, _held: None });
        }
        let slot = long_bodies::take_slot(client).map_err(|_| too_many_bodies())?;
        let bytes = tokio::select! {
            bytes = read_body(headers, body, max) => bytes?,
            () = slot.evicted() => return Err(ApiError::BodyTooSlow),
        };
        let permit = long_bodies::parsing(client).await.map_err(|_| too_many_bodies())?;
        Ok(Self { bytes, _held: Some((slot, permit)) })
    }
}

fn too_many_bodies() -> ApiError {
    ApiError::RateLimited {
        retry_after: 1,
        reason: "too many long bodies of this address are being read".to_owned(),
        advice: "",
    }
}

/// Reads a complete body, unless it is too long or too slow.
pub(crate) async fn read_body(headers: &HeaderMap, body: Body, max: usize) -> Result<Bytes, ApiError> {
    let announced = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|length| length > max as u64) {
        return Err(ApiError::BodyTooLarge { max });
    }
    match timeout(BODY_TIMEOUT, to_bytes(body, max)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) if error.source().is_some_and(|cause| cause.is::<LengthLimitError>()) => {
            Err(ApiError::BodyTooLarge { max })
        }
        Ok(Err(_)) => Err(BodyError::Incomplete.into()),
        Err(_) => Err(ApiError::BodyTooSlow),
    }
}

/// The same, but only to its first `checked` bytes if they say that it is not worth reading.
pub(crate) async fn read_body_if(
    headers: &HeaderMap,
    body: Body,
    max: usize,
    checked: usize,
    is_worth_reading: &(dyn Fn(&[u8]) -> bool + Sync),
) -> Result<Option<Bytes>, ApiError> {
    let mut body = body;
    let mut beginning = Vec::new();
    let read_beginning = async {
        while beginning.len() < checked {
            match body.frame().await {
                Some(Ok(frame)) => beginning.extend_from_slice(frame.data_ref().map_or(&[], |data| data)),
                Some(Err(_)) => return Err(BodyError::Incomplete.into()),
                None => return Ok(()),
            }
        }
        Ok(())
    };
    timeout(BODY_TIMEOUT, read_beginning).await.unwrap_or(Err(ApiError::BodyTooSlow))?;
    if !is_worth_reading(&beginning) {
        return Ok(None);
    }
    let left = max.checked_sub(beginning.len()).ok_or(ApiError::BodyTooLarge { max })?;
    let rest = read_body(headers, body, max).await?;
    if rest.len() > left {
        return Err(ApiError::BodyTooLarge { max });
    }
    beginning.extend_from_slice(&rest);
    Ok(Some(beginning.into()))
}

/// Whether the type is `application/json`, with any parameters.
fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Fields;

    #[derive(Debug, PartialEq)]
    struct Greeting {
        text: String,
    }

    impl FromBody for Greeting {
        const MAX_BYTES: usize = 64;

        fn from_json(json: &[u8]) -> Result<Self, ApiError> {
            Fields::read(json, |fields| Ok(Self { text: fields.text("text")? }))
        }
    }

    async fn read_greeting(kind: &str, body: impl Into<Body>) -> Result<Greeting, ApiError> {
        let request = Request::builder().header(CONTENT_TYPE, kind).body(body.into()).unwrap();
        ValidBody::from_request(request, &()).await.map(|ValidBody(greeting)| greeting)
    }

    async fn status(kind: &str, body: impl Into<Body>) -> u16 {
        read_greeting(kind, body).await.unwrap_err().problem().status
    }

    #[tokio::test]
    async fn a_json_object_is_parsed() {
        for kind in ["application/json", "Application/JSON; charset=utf-8"] {
            assert_eq!(read_greeting(kind, r#"{"text":"hi"}"#).await.unwrap(), Greeting { text: "hi".to_owned() });
        }
    }

    #[tokio::test]
    async fn another_media_type_is_415() {
        for kind in ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", ""] {
            assert_eq!(status(kind, r#"{"text":"hi"}"#).await, 415, "{kind}");
        }
    }

    #[tokio::test]
    async fn a_body_over_the_limit_is_413_with_and_without_content_length() {
        let long = format!(r#"{{"text":"{}"}}"#, "a".repeat(64));
        assert_eq!(status("application/json", long.clone()).await, 413);
        let without_length = Body::new(http_body_util::Full::new(Bytes::from(long)));
        assert_eq!(status("application/json", without_length).await, 413);
    }

    #[tokio::test]
    async fn an_unknown_field_is_rejected_by_name() {
        let error = read_greeting("application/json", r#"{"text":"hi","tone":"low"}"#).await.unwrap_err();
        let problem = error.problem();
        assert_eq!((problem.status, problem.field.as_deref()), (400, Some("tone")));
        assert!(problem.detail.contains("text"), "{}", problem.detail);
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_does_not_arrive_is_408() {
        struct Never;
        impl axum::body::HttpBody for Never {
            type Data = Bytes;
            type Error = std::convert::Infallible;
            fn poll_frame(
                self: std::pin::Pin<&mut Self>,
                _: &mut std::task::Context<'_>,
            ) -> std::task::Poll<Option<Result<hyper::body::Frame<Bytes>, Self::Error>>> {
                std::task::Poll::Pending
            }
        }
        assert_eq!(status("application/json", Body::new(Never)).await, 408);
    }
}
