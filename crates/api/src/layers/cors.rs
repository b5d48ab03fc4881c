//! Which web pages may read responses of the API in a browser.

use std::{str::FromStr, time::Duration};

use axum::http::{HeaderValue, Method, header};
use tower_http::cors::{AllowOrigin, Any, CorsLayer};
use url::Url;

use super::request_id;
use crate::response_cache::BLOCK;

/// How long a browser may cache the preflight response.
const PREFLIGHT_MAX_AGE: Duration = Duration::from_secs(86_400);

/// The origins whose pages may read responses. Those of the explorer itself need no permission.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum AllowedOrigins {
    None,
    /// Browsers never add an API key on their own, as they do cookies, so on a public network there is nothing to protect.
    #[default]
    Any,
    Listed(Vec<HeaderValue>),
}

/// Why a text names no origins.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum OriginError {
    #[error(
        "`{0}` is not an origin: expected `any`, `off` or origins such as https://wallet.example, separated by commas"
    )]
    Invalid(String),
    /// Browsers send the other text, so this one would never match.
    #[error("`{given}` is not an origin: browsers send `{sent}`")]
    NotAsSent { given: String, sent: String },
}

impl FromStr for AllowedOrigins {
    type Err = OriginError;

    fn from_str(text: &str) -> Result<Self, OriginError> {
        match text {
            "off" => Ok(Self::None),
            "any" => Ok(Self::Any),
            origins => {
                origins.split(',').map(|origin| parse(origin.trim())).collect::<Result<_, _>>().map(Self::Listed)
            }
        }
    }
}

fn parse(text: &str) -> Result<HeaderValue, OriginError> {
    let invalid = || OriginError::Invalid(text.to_owned());
    // The parser of URLs takes `*` for a part of a name.
    let url = Url::parse(text).ok().filter(|_| !text.contains('*')).ok_or_else(invalid)?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(invalid());
    }
    let sent = url.origin().ascii_serialization();
    if sent != text {
        return Err(OriginError::NotAsSent { given: text.to_owned(), sent });
    }
    HeaderValue::from_str(text).map_err(|_| invalid())
}

/// None: no response has a header about origins, and a preflight is a request like any other.
pub(super) fn layer(origins: AllowedOrigins) -> Option<CorsLayer> {
    let (allowed, vary) = match origins {
        AllowedOrigins::None => return None,
        // Every origin gets the same response, so shared caches need no `Vary: Origin`.
        AllowedOrigins::Any => (AllowOrigin::any(), vec![]),
        AllowedOrigins::Listed(origins) => (AllowOrigin::list(origins), vec![header::ORIGIN]),
    };
    let layer = CorsLayer::new()
        .allow_origin(allowed)
        .allow_methods([Method::GET, Method::HEAD, Method::POST, Method::PATCH, Method::DELETE, Method::OPTIONS])
        .allow_headers(Any)
        .expose_headers([
            header::ETAG,
            header::RETRY_AFTER,
            request_id::HEADER,
            BLOCK,
            ::admission::COST,
            ::admission::LIMIT,
            ::admission::REMAINING,
            ::admission::RESET,
            ::admission::RATE_LIMIT,
            ::admission::POLICY,
        ])
        .max_age(PREFLIGHT_MAX_AGE)
        .vary(vary);
    Some(layer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_off_any_or_listed_as_browsers_send_them() {
        assert_eq!("off".parse(), Ok(AllowedOrigins::None));
        assert_eq!("any".parse(), Ok(AllowedOrigins::Any));
        let listed = ["https://wallet.example", "http://localhost:5173", "http://[::1]:8080", "http://10.0.0.7"];
        let expected = listed.map(HeaderValue::from_static).to_vec();
        assert_eq!(listed.join(",").parse(), Ok(AllowedOrigins::Listed(expected.clone())));
        assert_eq!(listed.join(", ").parse(), Ok(AllowedOrigins::Listed(expected)));
    }

    #[test]
    fn what_no_browser_sends_as_an_origin_is_refused() {
        for (given, sent) in [
            ("https://wallet.example/", "https://wallet.example"),
            ("https://wallet.example/app?a=b#c", "https://wallet.example"),
            ("https://Wallet.example", "https://wallet.example"),
            ("https://wallet.example:443", "https://wallet.example"),
            ("http://user:secret@10.0.0.7:80", "http://10.0.0.7"),
        ] {
            let error = OriginError::NotAsSent { given: given.to_owned(), sent: sent.to_owned() };
            assert_eq!(given.parse::<AllowedOrigins>(), Err(error));
        }
        for given in [
            "",
            "on",
            "*",
            "null",
            "wallet.example",
            "localhost:5173",
            "https://*.example",
            "https://",
            "ftp://wallet.example",
            "file:///srv",
            "javascript:alert(1)",
        ] {
            assert_eq!(given.parse::<AllowedOrigins>(), Err(OriginError::Invalid(given.to_owned())));
            let among_others = format!("https://wallet.example,{given}");
            assert_eq!(among_others.parse::<AllowedOrigins>(), Err(OriginError::Invalid(given.to_owned())));
        }
        for mixed in ["off", "any"] {
            let given = format!("{mixed},https://wallet.example");
            assert_eq!(given.parse::<AllowedOrigins>(), Err(OriginError::Invalid(mixed.to_owned())));
        }
    }
}
