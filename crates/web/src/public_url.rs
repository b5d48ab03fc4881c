use std::{fmt, str::FromStr};

use url::Url;

use crate::base_path::BasePath;

/// Where users find the explorer: the scheme, the host and the base path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicUrl {
    origin: String,
    base_path: BasePath,
}

impl FromStr for PublicUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let invalid = |reason: &str| format!("`{text}` is not a URL such as https://explorer.example: {reason}");
        let url = Url::parse(text).map_err(|error| invalid(&error.to_string()))?;
        if !["http", "https"].contains(&url.scheme()) {
            return Err(invalid("it must begin with https:// or http://"));
        }
        if !url.username().is_empty() || url.password().is_some() || url.query().is_some() || url.fragment().is_some() {
            return Err(invalid("it must have nothing but a host, a port and a path"));
        }
        let base_path = url.path().parse().map_err(|error: String| invalid(&error))?;
        let origin = url.origin().ascii_serialization();
        // It is written into XML, too.
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:/[]".contains(&byte);
        if !origin.bytes().all(is_plain) {
            return Err(invalid("it has an odd host name"));
        }
        Ok(Self { origin, base_path })
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.origin, self.base_path.as_str())
    }
}

impl PublicUrl {
    /// The path below which a proxy serves the API and the pages.
    #[must_use]
    pub fn base_path(&self) -> BasePath {
        self.base_path.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_url_is_an_origin_and_a_base_path() {
        for (text, shown, path) in [
            ("https://explorer.example", "https://explorer.example", ""),
            ("https://Explorer.example:443/", "https://explorer.example", ""),
            ("http://[::1]:3000", "http://[::1]:3000", ""),
            ("https://bücher.example", "https://xn--bcher-kva.example", ""),
            ("https://explorer.example/bsc/", "https://explorer.example/bsc", "/bsc"),
            ("https://explorer.example/chains/../bsc", "https://explorer.example/bsc", "/bsc"),
        ] {
            let url: PublicUrl = text.parse().unwrap();
            assert_eq!((url.to_string().as_str(), url.base_path().as_str()), (shown, path));
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, reason) in [
            ("explorer.example", "relative URL"),
            ("/bsc", "relative URL"),
            ("ftp://explorer.example", "must begin with https://"),
            ("https://explorer.example/a b", "is not a path such as /explorer"),
            ("https://explorer.example/a//b", "is not a path such as /explorer"),
            ("https://user@explorer.example", "nothing but a host"),
            ("https://explorer.example/?a", "nothing but a host"),
            ("https://a&b.example", "odd host name"),
        ] {
            let error = text.parse::<PublicUrl>().unwrap_err();
            assert!(error.contains(reason) && error.contains(text), "{error}");
        }
    }
}
