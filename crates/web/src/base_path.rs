//! Pages below a path of a host name, such as `/explorer` for an explorer among others.
//!
//! Templates write links from the root. One layer prefixes them with the base path, so that no link can be forgotten.

use std::{str::FromStr, sync::Arc};

use axum::{
    body::{Body, to_bytes},
    extract::{Request, State},
    http::header::{CONTENT_LENGTH, CONTENT_TYPE},
    middleware::Next,
    response::Response,
};

use crate::error::internal_error;

/// The path below which the explorer is served; empty for the root.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BasePath(Arc<str>);

impl FromStr for BasePath {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let path = text.strip_suffix('/').unwrap_or(text);
        let is_segment = |segment: &str| {
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
            !segment.is_empty() && segment.bytes().all(is_plain) && !segment.bytes().all(|byte| byte == b'.')
        };
        match path.strip_prefix('/') {
            None if path.is_empty() => Ok(Self::default()),
            Some(segments) if segments.split('/').all(is_segment) => Ok(Self(path.into())),
            _ => Err(format!("`{text}` is not a path such as /explorer, of letters, digits and -_.~")),
        }
    }
}

impl BasePath {
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The rest of a path that is below the base path.
    #[must_use]
    pub fn strip<'a>(&self, path: &'a str) -> Option<&'a str> {
        path.strip_prefix(&*self.0).filter(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Prefixes the links of a page. Text cannot look like a link, since its quotes are escaped.
    fn prefix_links(&self, page: &str) -> String {
        const START: &str = "=\"/";
        let mut prefixed = String::with_capacity(page.len() + page.len() / 8);
        let mut rest = page;
        while let Some((before, after)) = rest.split_once(START) {
            prefixed.push_str(before);
            let is_link = [" href", " src", " action"].iter().any(|name| before.ends_with(name));
            prefixed.push_str("=\"");
            if is_link {
                prefixed.push_str(&self.0);
            }
            prefixed.push('/');
            rest = after;
        }
        prefixed.push_str(rest);
        prefixed
    }
}

/// Prefixes the links of pages with the base path.
pub(crate) async fn prefix_links(State(base): State<BasePath>, request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    let is_page = response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"text/html"));
    if base.as_str().is_empty() || !is_page {
        return response;
    }
    let (mut head, body) = response.into_parts();
    // A page is rendered as a whole, so this reads what is in memory.
    let Ok(page) = to_bytes(body, usize::MAX).await else { return internal_error() };
    head.headers.remove(CONTENT_LENGTH);
    Response::from_parts(head, Body::from(base.prefix_links(&String::from_utf8_lossy(&page))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base(text: &str) -> BasePath {
        text.parse().unwrap()
    }

    #[test]
    fn a_base_path_has_plain_segments() {
        assert_eq!((base("/explorer/").as_str(), base("/a/b-2").as_str()), ("/explorer", "/a/b-2"));
        assert_eq!((base("/"), base("")), (BasePath::default(), BasePath::default()));
        for invalid in ["explorer", "//host", "/a//b", "/a?b", "/a b", "/..", "/a/../b", "/\"", "https://host/"] {
            assert!(invalid.parse::<BasePath>().is_err(), "{invalid}");
        }
    }

    #[test]
    fn only_paths_below_it_are_stripped() {
        assert_eq!(base("/bsc").strip("/bsc/blocks"), Some("/blocks"));
        assert_eq!(base("/bsc").strip("/bsc"), Some(""));
        assert_eq!(base("/bsc").strip("/bscscan"), None);
        assert_eq!(base("").strip("/blocks"), Some("/blocks"));
    }

    #[test]
    fn links_move_and_text_stays() {
        let page =
            r#"<a href="/blocks">="/ </a><img src="/x.png"><form action="/search"><p data-href="/y" title="/z">"#;
        let prefixed = r#"<a href="/bsc/blocks">="/ </a><img src="/bsc/x.png"><form action="/bsc/search"><p data-href="/y" title="/z">"#;
        assert_eq!(base("/bsc").prefix_links(page), prefixed);
        assert_eq!(base("/bsc").prefix_links("<a href=\"#main\">"), "<a href=\"#main\">");
    }
}
