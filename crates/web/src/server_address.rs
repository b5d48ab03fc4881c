use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderName, header::HOST};

use crate::state::WebState;

/// Where the explorer listens by default.
const DEFAULT: &str = "127.0.0.1:3000";

impl WebState {
    /// The URL of this explorer, for commands and links that are shown: the public one, or an address that the browser uses. A
    /// name in `Host` is not shown, since whoever sends the request chooses it, and a proxy may cache the page.
    pub(crate) fn server_address(&self, headers: &HeaderMap) -> String {
        if let Some(url) = &self.site_url {
            return url.to_string();
        }
        let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let host = Some(text(HOST)).filter(|host| is_address(host)).unwrap_or(DEFAULT);
        let is_secure = text(HeaderName::from_static("x-forwarded-proto")).eq_ignore_ascii_case("https");
        let scheme = if is_secure { "https" } else { "http" };
        format!("{scheme}://{host}{}", self.base_path.as_str())
    }
}

/// Whether a host is an IP address or this machine, with or without a port.
fn is_address(host: &str) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !name.is_empty() && !port.contains(']') => (name, Some(port)),
        _ => (host, None),
    };
    let is_port = port.is_none_or(|port| port.parse::<u16>().is_ok());
    let bare = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(name);
    is_port && (bare == "localhost" || bare.parse::<IpAddr>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_are_shown() {
        for host in ["127.0.0.1:3000", "192.168.1.7", "[::1]:3000", "[2001:db8::1]", "localhost:3000", "localhost"] {
            assert!(is_address(host), "{host}");
        }
        for host in
            ["", "evil.example", "evil.example:80", "127.0.0.1:x", "127.0.0.1.evil.example", "a b", "localhost:99999"]
        {
            assert!(!is_address(host), "{host}");
        }
    }
}
