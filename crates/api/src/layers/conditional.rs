use axum::{
    body::Body,
    extract::Request,
    http::{
        HeaderMap, HeaderValue, Method, StatusCode,
        header::{CONTENT_LENGTH, CONTENT_TYPE, ETAG, IF_NONE_MATCH},
    },
    middleware::Next,
    response::Response,
};

/// Spares the body where the client already has it: 304 to a tag that still holds.
pub(super) async fn answer_not_modified(request: Request, next: Next) -> Response {
    let readable = matches!(*request.method(), Method::GET | Method::HEAD);
    let known = if readable { tags_of(request.headers()) } else { Vec::new() };
    let mut response = next.run(request).await;
    if known.is_empty() || response.status() != StatusCode::OK {
        return response;
    }
    let Some(tag) = response.headers().get(ETAG) else { return response };
    if known.iter().any(|known| is_match(known, tag)) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        *response.body_mut() = Body::empty();
        response.headers_mut().remove(CONTENT_TYPE);
        response.headers_mut().remove(CONTENT_LENGTH);
    }
    response
}

fn tags_of(headers: &HeaderMap) -> Vec<HeaderValue> {
    headers.get_all(IF_NONE_MATCH).iter().cloned().collect()
}

/// Weak comparison: a tag and its weak form are the same.
fn is_match(known: &HeaderValue, current: &HeaderValue) -> bool {
    let (Ok(known), Ok(current)) = (known.to_str(), current.to_str()) else { return false };
    let current = opaque(current);
    known.split(',').map(str::trim).any(|tag| tag == "*" || opaque(tag) == current)
}

fn opaque(tag: &str) -> &str {
    tag.strip_prefix("W/").unwrap_or(tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(known: &'static str, current: &'static str) -> bool {
        is_match(&HeaderValue::from_static(known), &HeaderValue::from_static(current))
    }

    #[test]
    fn a_tag_matches_itself_its_weak_form_and_the_star() {
        assert!(matches(r#""a""#, r#"W/"a""#));
        assert!(matches(r#"W/"a""#, r#"W/"a""#));
        assert!(matches(r#""x", W/"a" ,"b""#, r#"W/"a""#));
        assert!(matches("*", r#"W/"a""#));
    }

    #[test]
    fn another_tag_does_not_match() {
        assert!(!matches(r#""b""#, r#"W/"a""#));
        assert!(!matches("a", r#"W/"a""#));
        assert!(!matches("", r#"W/"a""#));
    }
}
