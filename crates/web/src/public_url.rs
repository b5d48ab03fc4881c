use std::str::FromStr;

use url::Url;

/// Where users find the explorer: the scheme and the host, without a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicUrl(String);

impl FromStr for PublicUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let invalid = |reason: &str| format!("`{text}` is not a URL such as https://explorer.example: {reason}");
        let url = Url::parse(text).map_err(|error| invalid(&error.to_string()))?;
        if !["http", "https"].contains(&url.scheme()) {
            return Err(invalid("it must begin with https:// or http://"));
        }
        if url.path() != "/" {
            return Err(invalid("it must have no path; the path of the explorer is that of --base-path"));
        }
        if !url.username().is_empty() || url.password().is_some() || url.query().is_some() || url.fragment().is_some() {
            return Err(invalid("it must have nothing but a host and a port"));
        }
        let origin = url.origin().ascii_serialization();
        // It is written into XML, too.
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:/[]".contains(&byte);
        if origin.bytes().all(is_plain) { Ok(Self(origin)) } else { Err(invalid("it has an odd host name")) }
    }
}

impl PublicUrl {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_url_is_an_origin() {
        for (text, origin) in [
            ("https://explorer.example", "https://explorer.example"),
            ("https://Explorer.example:443/", "https://explorer.example"),
            ("http://[::1]:3000", "http://[::1]:3000"),
            ("https://bücher.example", "https://xn--bcher-kva.example"),
        ] {
            assert_eq!(text.parse::<PublicUrl>().unwrap().as_str(), origin);
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, reason) in [
            ("explorer.example", "relative URL"),
            ("ftp://explorer.example", "must begin with https://"),
            ("https://explorer.example/bsc", "--base-path"),
            ("https://user@explorer.example", "nothing but a host"),
            ("https://explorer.example/?a", "nothing but a host"),
            ("https://a&b.example", "odd host name"),
        ] {
            let error = text.parse::<PublicUrl>().unwrap_err();
            assert!(error.contains(reason) && error.contains(text), "{error}");
        }
    }
}
