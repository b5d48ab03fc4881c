use axum::http::{HeaderMap, HeaderName, header::HOST};

use crate::state::WebState;

impl WebState {
    /// The URL of this explorer as the browser knows it, for commands and links that are shown to the same user.
    pub(crate) fn server_address(&self, headers: &HeaderMap) -> String {
        let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b".:-[]".contains(&byte);
        let host = Some(text(HOST)).filter(|host| !host.is_empty() && host.len() <= 255 && host.bytes().all(is_host));
        let is_secure = text(HeaderName::from_static("x-forwarded-proto")).eq_ignore_ascii_case("https");
        let scheme = if is_secure { "https" } else { "http" };
        format!("{scheme}://{}{}", host.unwrap_or("127.0.0.1:3000"), self.base_path.as_str())
    }
}
