use std::time::Instant;

use axum::{
    extract::Request,
    http::{HeaderName, HeaderValue},
    middleware::Next,
    response::Response,
};
use tracing::Instrument;

pub(super) const HEADER: HeaderName = HeaderName::from_static("x-request-id");
const MAX_LENGTH: usize = 128;

/// Gives each request a name, the caller's own where it is fit for a log, and writes it on the log span and the answer.
pub(super) async fn identify(request: Request, next: Next) -> Response {
    let id = request.headers().get(HEADER).filter(|id| is_fit_for_logs(id)).cloned().unwrap_or_else(new_id);
    let span = tracing::info_span!(
        "request",
        id = id.to_str().unwrap_or_default(),
        method = %request.method(),
        path = request.uri().path(),
    );
    let started = Instant::now();
    async {
        let mut response = next.run(request).await;
        tracing::debug!(status = response.status().as_u16(), elapsed = ?started.elapsed(), "answered");
        response.headers_mut().insert(HEADER, id);
        response
    }
    .instrument(span)
    .await
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
