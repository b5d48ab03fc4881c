use axum::extract::Request;

/// Maximum length of path and query together. Legitimate requests are far shorter.
pub(super) const MAX_URL_BYTES: usize = 8 * 1024;

pub(super) fn is_too_long(request: &Request) -> bool {
    request.uri().path_and_query().is_some_and(|url| url.as_str().len() > MAX_URL_BYTES)
}
