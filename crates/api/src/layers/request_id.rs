use axum::{
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue},
};
use tracing::Span;

pub(super) const HEADER: HeaderName = HeaderName::from_static("x-request-id");
const MAX_LENGTH: usize = 128;

/// The name of a request: the caller's own where it is fit for a log.
pub(super) struct RequestId(HeaderValue);

impl RequestId {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        Self(headers.get(HEADER).filter(|id| is_fit_for_logs(id)).cloned().unwrap_or_else(new_id))
    }

    /// For all that is logged on behalf of the request.
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

/// Short, and nothing in it that could forge or break a log line.
fn is_fit_for_logs(id: &HeaderValue) -> bool {
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

    fn is_fit(id: &str) -> bool {
        is_fit_for_logs(&HeaderValue::from_str(id).unwrap())
    }

    #[test]
    fn ordinary_ids_are_kept() {
        assert!(is_fit("7b0f3a7e-8a51-4f0e-9a52-2d7c7a0d6a11"));
        assert!(is_fit(&"a".repeat(MAX_LENGTH)));
    }

    #[test]
    fn ids_that_could_spoil_a_log_are_not() {
        for id in ["", "a b", "a\"b", "a=b", "\u{e9}"] {
            assert!(!is_fit(id), "{id}");
        }
        assert!(!is_fit(&"a".repeat(MAX_LENGTH + 1)));
    }

    #[test]
    fn new_ids_differ_and_are_fit_themselves() {
        assert_ne!(new_id(), new_id());
        assert!(is_fit_for_logs(&new_id()));
    }
}
