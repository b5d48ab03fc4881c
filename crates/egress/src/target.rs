use std::net::IpAddr;

use url::{Host, Url};

const MAX_URL_LENGTH: usize = 2_048;

/// Why a URL is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlFault {
    #[error("must not be longer than {MAX_URL_LENGTH} characters")]
    TooLong,
    #[error("must be an absolute URL")]
    Malformed,
    #[error("must begin with https://")]
    NotHttps,
    #[error("must not contain a username or password")]
    Credentials,
    #[error("must have a valid host name or address")]
    Host,
    #[error("must not use port 0")]
    PortZero,
    #[error("must use port {}: other ports are not allowed", .0.iter().map(u16::to_string).collect::<Vec<_>>().join(" or "))]
    Port(Vec<u16>),
    /// Only the text of the URL decides, so that it reveals nothing about the operator's network.
    #[error("must not have a private address, localhost or a name that can never be public as its host")]
    NotPublic,
}

/// Ends of names that no public DNS server knows (RFC 6761, 6762, 7686 and 8375, and `internal`, which ICANN reserved). `example`
/// is not among them, although it is reserved, too: it is what examples use.
const NEVER_PUBLIC: [&str; 7] = ["home.arpa", "internal", "invalid", "local", "localhost", "onion", "test"];

/// Longest name and longest label, as DNS has them.
const MAX_NAME: usize = 253;
const MAX_LABEL: usize = 63;

/// Allowed ports by default.
pub(crate) const DEFAULT_PORTS: [u16; 2] = [80, 443];

/// Whether insecure hosts are allowed, for testing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Insecure {
    /// Only https and public addresses.
    #[default]
    Refused,
    /// Also http and loopback addresses.
    Allowed,
}

/// Where a request goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    pub(crate) security: Security,
    pub(crate) host: TargetHost,
    pub(crate) port: u16,
    /// For the `Host` header.
    pub(crate) authority: String,
    /// Path and query.
    pub(crate) path: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Security {
    Tls,
    Plain,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TargetHost {
    Name(String),
    Address(IpAddr),
}

impl Target {
    /// Parses a URL like a browser, so that every spelling of an address (decimal, octal, hexadecimal, short) is recognised.
    pub(crate) fn parse(text: &str, insecure: Insecure) -> Result<Self, UrlFault> {
        if text.len() > MAX_URL_LENGTH {
            return Err(UrlFault::TooLong);
        }
        // Browsers silently fix these; here they are refused.
        if text.chars().any(|sign| sign.is_control() || sign.is_whitespace() || sign == '\\') {
            return Err(UrlFault::Malformed);
        }
        let url = Url::parse(text).map_err(|_| UrlFault::Malformed)?;
        // Browsers also accept fewer or more than two slashes.
        let authority = text.get(url.scheme().len()..).and_then(|rest| rest.strip_prefix("://"));
        let security = match (url.scheme(), insecure) {
            ("https", _) if authority.is_some() => Security::Tls,
            ("http", Insecure::Allowed) if authority.is_some() => Security::Plain,
            _ => return Err(UrlFault::NotHttps),
        };
        if authority.is_some_and(|authority| authority.starts_with('/')) {
            return Err(UrlFault::Host);
        }
        if !url.username().is_empty()
            || url.password().is_some()
            || text.split(['/', '?', '#']).nth(2).is_some_and(|authority| authority.contains('@'))
        {
            return Err(UrlFault::Credentials);
        }
        let host = match url.host().ok_or(UrlFault::Host)? {
            Host::Domain(name) if !is_host_name(name) => return Err(UrlFault::Host),
            Host::Domain(name) => TargetHost::Name(name.to_owned()),
            Host::Ipv4(address) => TargetHost::Address(address.into()),
            Host::Ipv6(address) => TargetHost::Address(address.into()),
        };
        let port = url.port_or_known_default().filter(|port| *port != 0).ok_or(UrlFault::PortZero)?;
        let authority = match url.port() {
            Some(port) => format!("{}:{port}", url.host_str().unwrap_or_default()),
            None => url.host_str().unwrap_or_default().to_owned(),
        };
        let path = match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        };
        Ok(Self { security, host, port, authority, path })
    }
}

/// Whether DNS can have this name. With several trailing dots, an address would be taken for a name.
fn is_host_name(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    let is_label = |label: &str| {
        let is_known = |sign: u8| sign.is_ascii_alphanumeric() || sign == b'-' || sign == b'_';
        (1..=MAX_LABEL).contains(&label.len()) && label.bytes().all(is_known)
    };
    name.len() <= MAX_NAME && name.split('.').all(is_label)
}

/// Whether a name can have a public address: not if it has a single label, or a reserved end.
pub(crate) fn may_be_public(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    let is_below = |end: &str| name.strip_suffix(end).is_some_and(|start| start.is_empty() || start.ends_with('.'));
    name.contains('.') && !NEVER_PUBLIC.into_iter().any(is_below)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(text: &str) -> Result<Target, UrlFault> {
        Target::parse(text, Insecure::Refused)
    }

    #[test]
    fn a_url_is_split_into_its_parts() {
        let plain = target("https://Receiver.Example/hook/a?b=c#d").unwrap();
        assert_eq!(plain.host, TargetHost::Name("receiver.example".to_owned()));
        assert_eq!(
            (plain.port, plain.authority.as_str(), plain.path.as_str()),
            (443, "receiver.example", "/hook/a?b=c")
        );
        let ported = target("https://receiver.example:8443").unwrap();
        assert_eq!(
            (ported.port, ported.authority.as_str(), ported.path.as_str()),
            (8443, "receiver.example:8443", "/")
        );
    }

    #[test]
    fn every_spelling_of_an_address_is_that_address() {
        let loopback = TargetHost::Address("127.0.0.1".parse().unwrap());
        for text in [
            "https://127.0.0.1/",
            "https://127.1/",
            "https://127.0.1/",
            "https://2130706433/",
            "https://0x7f000001/",
            "https://0177.0.0.1/",
            "https://0x7f.0.0.1/",
            "https://127.0.0.1./",
            "https://0X7F.1/",
            "https://%31%32%37.0.0.1/",
            "https://\u{ff11}\u{ff12}\u{ff17}.0.0.1/",
            "https://127\u{3002}0\u{3002}0\u{3002}1/",
            "https://017700000001/",
        ] {
            assert_eq!(target(text).unwrap().host, loopback, "{text}");
        }
        let mapped = target("https://[::ffff:7f00:1]/").unwrap().host;
        assert_eq!(mapped, TargetHost::Address("::ffff:127.0.0.1".parse().unwrap()));
    }

    #[test]
    fn other_urls_than_plain_https_are_refused() {
        for (text, fault) in [
            ("http://receiver.example/", UrlFault::NotHttps),
            ("ftp://receiver.example/", UrlFault::NotHttps),
            ("file:///etc/passwd", UrlFault::NotHttps),
            ("gopher://127.0.0.1:6379/_x", UrlFault::NotHttps),
            ("//receiver.example/", UrlFault::Malformed),
            ("receiver.example", UrlFault::Malformed),
            ("", UrlFault::Malformed),
            ("https://", UrlFault::Malformed),
            ("https:\\\\receiver.example\\", UrlFault::Malformed),
            ("https://receiver.example/\r\nX-Evil: 1", UrlFault::Malformed),
            ("https://rece\tiver.example/", UrlFault::Malformed),
            ("https://user@receiver.example/", UrlFault::Credentials),
            ("https://user:pass@receiver.example/", UrlFault::Credentials),
            ("https://:@receiver.example/", UrlFault::Credentials),
            ("https://@receiver.example/", UrlFault::Credentials),
            ("https://receiver.example:0/", UrlFault::PortZero),
            ("https://./", UrlFault::Host),
            ("https://127.0.0.1../", UrlFault::Host),
            ("https://receiver..example/", UrlFault::Host),
            ("https://*.receiver.example/", UrlFault::Host),
            ("https://receiver.example;/", UrlFault::Host),
            ("https:receiver.example", UrlFault::NotHttps),
            ("https:/receiver.example", UrlFault::NotHttps),
            ("https:///receiver.example", UrlFault::Host),
        ] {
            assert_eq!(target(text), Err(fault), "{text}");
        }
        assert_eq!(target(&format!("https://a.example/{}", "a".repeat(2_048))), Err(UrlFault::TooLong));
    }

    #[test]
    fn a_name_has_to_fit_into_dns() {
        let is_valid = |name: String| target(&format!("https://{name}/")).is_ok();
        assert!(is_valid(format!("{}.example", "a".repeat(63))) && !is_valid(format!("{}.example", "a".repeat(64))));
        let long = |length: usize| format!("{}example", "ab.".repeat(100))[300 + 7 - length..].to_owned();
        assert!(is_valid(long(253)) && !is_valid(long(255)), "{}", long(255));
        assert!(is_valid("a_b-c.example.".to_owned()));
    }

    #[test]
    fn names_that_can_never_be_public_are_known() {
        for name in ["localhost", "localhost.", "a.localhost", "vault", "vault.", "printer.local", "db.internal"] {
            assert!(!may_be_public(name), "{name}");
        }
        for name in ["metadata.google.internal", "a.home.arpa", "home.arpa", "a.onion", "a.test", "a.invalid."] {
            assert!(!may_be_public(name), "{name}");
        }
        for name in ["hooks.customer.example", "notlocalhost.example", "mylocal.net", "a.arpa", "test.example.", "a.b"]
        {
            assert!(may_be_public(name), "{name}");
        }
    }

    #[test]
    fn http_is_accepted_in_insecure_mode() {
        let target = Target::parse("http://127.0.0.1:8080/x", Insecure::Allowed).unwrap();
        assert_eq!((target.security, target.port), (Security::Plain, 8080));
        assert!(Target::parse("ftp://127.0.0.1/", Insecure::Allowed).is_err());
    }
}
