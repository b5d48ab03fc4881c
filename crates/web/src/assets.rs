//! Style sheets, scripts, icon and logo. Their names contain a hash of the content, so that browsers can cache them forever. All
//! but those of the operator are part of the binary.

use std::sync::LazyLock;

use axum::{
    body::Bytes,
    http::{
        HeaderMap, HeaderValue,
        header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY},
    },
    response::Response,
};
use static_document::StaticDocument;
use xxhash_rust::xxh3::xxh3_64;

/// Not at its path: icons of sites have fixed ones.
pub(crate) static ICON: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("icon", "svg", "image/svg+xml", include_str!("../assets/icon.svg")));
pub(crate) static STYLE: LazyLock<Asset> = LazyLock::new(|| Asset::style("style", include_str!("../assets/style.css")));
pub(crate) static SCRIPT: LazyLock<Asset> =
    LazyLock::new(|| Asset::script("explorer", include_str!("../assets/explorer.js")));
pub(crate) static FORMS: LazyLock<Asset> = LazyLock::new(|| {
    Asset::script("forms", concat!(include_str!("../assets/wallet.js"), include_str!("../assets/forms.js")))
});
pub(crate) static DOCS_STYLE: LazyLock<Asset> =
    LazyLock::new(|| Asset::style("docs", include_str!("../assets/docs.css")));
pub(crate) static DOCS_SCRIPT: LazyLock<Asset> =
    LazyLock::new(|| Asset::script("docs", include_str!("../assets/docs.js")));
/// Runs before the page is drawn, so that the default colour scheme does not flash.
pub(crate) static THEME: LazyLock<Asset> = LazyLock::new(|| Asset::script("theme", include_str!("../assets/theme.js")));

#[derive(Debug)]
pub(crate) struct Asset {
    pub(crate) path: String,
    document: StaticDocument,
    /// Replaces the content security policy of pages.
    policy: Option<&'static str>,
}

impl Asset {
    pub(crate) fn new(name: &str, extension: &str, kind: &'static str, content: impl Into<Bytes>) -> Self {
        let content = content.into();
        let path = format!("/assets/{name}-{:016x}.{extension}", xxh3_64(&content));
        Self { path, document: StaticDocument::new(kind, content), policy: None }
    }

    pub(crate) fn style(name: &str, content: impl Into<Bytes>) -> Self {
        Self::new(name, "css", "text/css; charset=utf-8", content)
    }

    fn script(name: &str, content: &'static str) -> Self {
        Self::new(name, "js", "text/javascript; charset=utf-8", content)
    }

    pub(crate) fn with_policy(self, policy: &'static str) -> Self {
        Self { policy: Some(policy), ..self }
    }

    #[cfg(test)]
    pub(crate) fn content(&self) -> &[u8] {
        self.document.plain()
    }

    /// The response to a request with these headers.
    pub(crate) fn response_to(&self, headers: &HeaderMap, caching: &'static str) -> Response {
        let mut response = self.document.response_to(headers);
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static(caching));
        if let Some(policy) = self.policy {
            response.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
        }
        response
    }
}
