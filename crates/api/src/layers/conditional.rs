use axum::{
    body::Body,
    extract::Request,
    http::{
        HeaderValue, Method, StatusCode,
        header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG, IF_NONE_MATCH},
    },
    response::Response,
};

/// The ETags in `If-None-Match`: responses that the client has already.
pub(super) struct IfNoneMatch(Vec<HeaderValue>);

impl IfNoneMatch {
    pub(super) fn of(request: &Request) -> Self {
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        let tags = request.headers().get_all(IF_NONE_MATCH).iter().filter(|_| is_read);
        Self(tags.cloned().collect())
    }

    /// Turns the response into 304 Not Modified if the client has it already.
    pub(super) fn apply(&self, response: &mut Response) {
        let Self(tags) = self;
        if tags.is_empty() || response.status() != StatusCode::OK {
            return;
        }
        let Some(tag) = response.headers().get(ETAG) else { return };
        if tags.iter().any(|known| is_match(known, tag)) {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            *response.body_mut() = Body::empty();
            let headers = response.headers_mut();
            for name in [CONTENT_TYPE, CONTENT_LENGTH, CONTENT_ENCODING] {
                headers.remove(name);
            }
        }
    }
}

/// Weak comparison (RFC 9110): a tag equals its weak form.
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
    fn a_tag_matches_itself_its_weak_form_and_a_star() {
        assert!(matches(r#""a""#, r#"W/"a""#));
        assert!(matches(r#"W/"a""#, r#"W/"a""#));
        assert!(matches(r#""x", W/"a" ,"b""#, r#"W/"a""#));
        assert!(matches("*", r#"W/"a""#));
    }

    #[test]
    fn a_different_tag_does_not_match() {
        assert!(!matches(r#""b""#, r#"W/"a""#));
        assert!(!matches("a", r#"W/"a""#));
        assert!(!matches("", r#"W/"a""#));
    }
}
