//! Requests that programs on this machine send by themselves.

use std::net::{IpAddr, Ipv6Addr};

use axum::http::{
    HeaderMap, HeaderName, HeaderValue, Uri, Version,
    header::{FORWARDED, HOST, ORIGIN, VIA},
    request::Parts,
    uri::Authority,
};

/// Prefixes of the headers in which a proxy names its client, besides those listed below.
const PREFIXES: [&str; 3] = ["x-forwarded", "x-original-", "x-envoy-"];
const CLIENT_HEADERS: [&str; 6] =
    ["x-real-ip", "x-client-ip", "x-cluster-client-ip", "true-client-ip", "cf-connecting-ip", "x-proxyuser-ip"];
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Whether a program on this machine has sent a request by itself: not a proxy for somebody else, and not a browser for a page from
/// elsewhere. In doubt, it has not.
///
/// A page from elsewhere can reach an address of this machine under a name of its own, so `Host` must be one of this machine. A proxy
/// that adds no header is known by HTTP/1.0, if at all.
#[must_use]
pub fn is_local(peer: IpAddr, parts: &Parts) -> bool {
    peer.to_canonical().is_loopback()
        && parts.version >= Version::HTTP_11
        && !parts.headers.keys().any(is_of_proxy)
        && is_addressed_to_this_machine(parts)
        && !is_of_other_page(&parts.headers)
}

fn is_of_proxy(header: &HeaderName) -> bool {
    let name = header.as_str();
    header == FORWARDED
        || header == VIA
        || CLIENT_HEADERS.contains(&name)
        || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// The name of the server is in `Host`, in the target of the request, or in both.
fn is_addressed_to_this_machine(parts: &Parts) -> bool {
    let in_target = parts.uri.authority().map(is_loopback);
    let mut in_header = parts
        .headers
        .get_all(HOST)
        .iter()
        .map(|host| Authority::try_from(host.as_bytes()).is_ok_and(|host| is_loopback(&host)));
    let is_named = in_target.is_some() || parts.headers.contains_key(HOST);
    is_named && in_target.unwrap_or(true) && in_header.all(|is_loopback| is_loopback)
}

/// Pages of other servers on this machine are those of its user.
fn is_of_other_page(headers: &HeaderMap) -> bool {
    let is_elsewhere = |origin: &HeaderValue| {
        let origin = Uri::try_from(origin.as_bytes()).ok().filter(|origin| origin.scheme().is_some());
        !origin.as_ref().and_then(Uri::authority).is_some_and(is_loopback)
    };
    headers.get_all(ORIGIN).iter().any(is_elsewhere)
        || headers.get_all(FETCH_SITE).iter().any(|site| site == "cross-site")
}

fn is_loopback(authority: &Authority) -> bool {
    let host = authority.host();
    let address = match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(address) => address.parse::<Ipv6Addr>().ok().map(IpAddr::from),
        None => host.parse().ok(),
    };
    let is_address = address.is_some_and(|address: IpAddr| address.to_canonical().is_loopback());
    !authority.as_str().contains('@') && (is_address || host.eq_ignore_ascii_case("localhost"))
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    const PEER: &str = "127.0.0.1";

    fn request(headers: &[(&str, &str)]) -> Parts {
        let host = [("host", "127.0.0.1:8080")];
        let named = headers.iter().any(|(name, _)| *name == "host");
        let headers = host.iter().filter(|_| !named).chain(headers);
        let request =
            headers.fold(Request::get("/api/v1/keys"), |request, (name, value)| request.header(*name, *value));
        request.body(()).unwrap().into_parts().0
    }

    #[track_caller]
    fn expect(is_expected: bool, peer: &str, parts: &Parts) {
        assert_eq!(is_local(peer.parse().unwrap(), parts), is_expected, "{peer} {parts:?}");
    }

    #[test]
    fn only_a_peer_on_this_machine_is_local() {
        for peer in [PEER, "127.9.8.7", "::1", "::ffff:127.0.0.1"] {
            expect(true, peer, &request(&[]));
        }
        for peer in ["192.168.0.2", "10.0.0.1", "0.0.0.0", "203.0.113.9", "::", "fe80::1", "::ffff:192.0.2.1"] {
            expect(false, peer, &request(&[]));
        }
    }

    #[test]
    fn a_request_through_a_proxy_is_not_local() {
        for header in [
            ("x-forwarded-for", "127.0.0.1"),
            ("x-forwarded-for", ""),
            ("x-forwarded-host", "localhost"),
            ("x-forwarded-proto", "https"),
            ("forwarded", "for=127.0.0.1"),
            ("x-real-ip", "127.0.0.1"),
            ("via", "1.1 proxy"),
            ("cf-connecting-ip", "127.0.0.1"),
            ("x-envoy-external-address", "127.0.0.1"),
        ] {
            expect(false, PEER, &request(&[header]));
        }
        let mut old = request(&[]);
        old.version = Version::HTTP_10;
        expect(false, PEER, &old);
    }

    #[test]
    fn a_request_to_another_name_is_not_local() {
        for host in ["localhost", "LOCALHOST:8080", "127.0.0.1", "127.1.2.3:80", "[::1]:8080", "[::1]"] {
            expect(true, PEER, &request(&[("host", host)]));
        }
        for host in [
            "explorer.example",
            "localhost.explorer.example",
            "127.0.0.1.explorer.example",
            "localhost@explorer.example",
            "explorer.example@localhost",
            "192.168.0.2",
            "0.0.0.0",
            "[::]",
            "",
        ] {
            expect(false, PEER, &request(&[("host", host)]));
            expect(false, PEER, &request(&[("host", "localhost"), ("host", host)]));
        }
        let mut unnamed = request(&[]);
        unnamed.headers.clear();
        expect(false, PEER, &unnamed);
        unnamed.uri = Uri::from_static("http://localhost:8080/api/v1/keys");
        expect(true, PEER, &unnamed);
        let mut other = request(&[]);
        other.uri = Uri::from_static("http://explorer.example/api/v1/keys");
        expect(false, PEER, &other);
    }

    #[test]
    fn a_request_of_a_page_from_elsewhere_is_not_local() {
        for header in [
            ("origin", "http://localhost:3000"),
            ("origin", "http://127.0.0.1:8080"),
            ("sec-fetch-site", "none"),
            ("sec-fetch-site", "same-origin"),
        ] {
            expect(true, PEER, &request(&[header]));
        }
        for header in [
            ("origin", "https://page.example"),
            ("origin", "http://localhost.page.example"),
            ("origin", "null"),
            ("origin", "localhost"),
            ("origin", ""),
            ("sec-fetch-site", "cross-site"),
        ] {
            expect(false, PEER, &request(&[header]));
        }
    }
}
