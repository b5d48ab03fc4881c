use axum::{
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue},
};
use tracing::Span;

pub(super) const HEADER: HeaderName = HeaderName::from_static("x-request-id");
const MAX_LENGTH: usize = 128;

/// Identifies a request in the log: the caller's id if it is safe to log, or else a random one.
pub(super) struct RequestId(HeaderValue);

impl RequestId {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        Self(headers.get(HEADER).filter(|id| is_safe_to_log(id)).cloned().unwrap_or_else(new_id))
    }

    /// The span of all log lines of the request.
    pub(super) fn span(&self, request: &Request) -> Span {
        tracing::info_span!(
            "request",
            id = self.0.to_str().unwrap_or_default(),
            method = %request.method(),
            path = request.uri().path(),
        )
    }

    pub(super) fn write_header(self, headers: &mut HeaderMap) {
        headers.insert(HEADER, self.0);
    }
}

/// Whether the id is short and has no character that could forge or break a log line.
fn is_safe_to_log(id: &HeaderValue) -> bool {
    let id = id.as_bytes();
    (1..=MAX_LENGTH).contains(&id.len())
        && id.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b':'))
}

fn new_id() -> HeaderValue {
    let id = format!("{:032x}", rand::random::<u128>());
    HeaderValue::try_from(id).unwrap_or_else(|_| HeaderValue::from_static("unknown"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_safe(id: &str) -> bool {
        is_safe_to_log(&HeaderValue::from_str(id).unwrap())
    }

    #[test]
    fn ordinary_ids_are_safe_to_log() {
        assert!(is_safe("7b0f3a7e-8a51-4f0e-9a52-2d7c7a0d6a11"));
        assert!(is_safe(&"a".repeat(MAX_LENGTH)));
    }

    #[test]
    fn ids_with_unusual_characters_or_too_long_are_not_safe_to_log() {
        for id in ["", "a b", "a\"b", "a=b", "\u{e9}"] {
            assert!(!is_safe(id), "{id}");
        }
        assert!(!is_safe(&"a".repeat(MAX_LENGTH + 1)));
    }

    #[test]
    fn new_ids_are_unique_and_safe_to_log() {
        assert_ne!(new_id(), new_id());
        assert!(is_safe_to_log(&new_id()));
    }
}
