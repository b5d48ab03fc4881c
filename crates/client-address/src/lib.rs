//! The clients of the API and the pages: their addresses behind trusted proxies, which limits per client count by.

mod local;

use std::{
    convert::Infallible,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, HeaderName, request::Parts},
};
use ipnet::IpNet;
pub use local::is_local;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
/// An IPv6 site has a prefix of at most 64 bits and may use any address in it.
const SITE_BITS: u32 = 64;

/// The unit of per-client limits: an IPv4 address, or the /64 of an IPv6 address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Client(IpAddr);

impl Client {
    #[must_use]
    pub fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self(address.into()),
            IpAddr::V6(address) => Self(Ipv6Addr::from(u128::from(address) >> SITE_BITS << SITE_BITS).into()),
        }
    }

    /// The IPv4 address, or the first address of the /64.
    #[must_use]
    pub fn address(self) -> IpAddr {
        self.0
    }
}

/// From the extensions of the request, where admission sets it.
impl<S: Sync> FromRequestParts<S> for Client {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get::<Self>().copied().unwrap_or_else(|| Self::of(Ipv4Addr::UNSPECIFIED.into())))
    }
}

/// Proxies whose `X-Forwarded-For` is trusted.
#[derive(Debug, Clone, Default)]
pub struct TrustedProxies(Vec<IpNet>);

impl TrustedProxies {
    #[must_use]
    pub fn new(networks: Vec<IpNet>) -> Self {
        Self(networks)
    }

    #[must_use]
    pub fn trusts(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }

    /// The client of a request: the peer or, if the peer is a trusted proxy, the address in `X-Forwarded-For`. The header is
    /// read from the right, since the client may have written what is further left.
    #[must_use]
    pub fn client(&self, peer: IpAddr, headers: &HeaderMap) -> Client {
        let mut client = peer;
        let forwarded = headers.get_all(&FORWARDED_FOR).iter().rev();
        let mut forwarded = forwarded.flat_map(|value| value.to_str().unwrap_or("?").rsplit(','));
        while self.trusts(client) {
            match forwarded.next().map(|text| parse(text.trim())) {
                Some(Some(address)) => client = address,
                // No valid address is left: the request counts for the last proxy.
                Some(None) | None => break,
            }
        }
        Client::of(client)
    }
}

/// Parses an address with or without a port.
fn parse(text: &str) -> Option<IpAddr> {
    if let Ok(address) = text.parse() {
        return Some(address);
    }
    if let Some((address, _)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return address.parse::<Ipv6Addr>().ok().map(IpAddr::from);
    }
    text.parse::<std::net::SocketAddrV4>().ok().map(|address| IpAddr::from(*address.ip()))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn client(proxies: &[&str], peer: &str, forwarded: &[&'static str]) -> Client {
        let proxies = TrustedProxies::new(proxies.iter().map(|network| network.parse().unwrap()).collect());
        let mut headers = HeaderMap::new();
        for value in forwarded {
            headers.append(FORWARDED_FOR, HeaderValue::from_static(value));
        }
        proxies.client(ip(peer), &headers)
    }

    #[test]
    fn an_ipv6_site_is_one_client_and_a_mapped_ipv4_is_that_ipv4() {
        assert_eq!(Client::of(ip("2001:db8:1:2::1")), Client::of(ip("2001:db8:1:2:ffff::9")));
        assert_ne!(Client::of(ip("2001:db8:1:2::1")), Client::of(ip("2001:db8:1:3::1")));
        assert_eq!(Client::of(ip("::ffff:192.0.2.7")), Client::of(ip("192.0.2.7")));
        assert_ne!(Client::of(ip("::ffff:192.0.2.7")), Client::of(ip("::ffff:192.0.2.8")));
    }

    #[test]
    fn x_forwarded_for_of_an_untrusted_peer_is_ignored() {
        assert_eq!(client(&[], "192.0.2.1", &["203.0.113.9"]), Client::of(ip("192.0.2.1")));
        assert_eq!(client(&["10.0.0.0/8"], "192.0.2.1", &["203.0.113.9"]), Client::of(ip("192.0.2.1")));
    }

    #[test]
    fn x_forwarded_for_of_a_trusted_proxy_is_read_from_the_right() {
        let proxies = ["10.0.0.0/8", "2001:db8::/32"];
        let expected = Client::of(ip("203.0.113.9"));
        for header in [
            &["203.0.113.9"][..],
            &["6.6.6.6, 203.0.113.9"],
            &["203.0.113.9, 10.1.1.1"],
            &["6.6.6.6", "203.0.113.9,10.1.1.1 , 2001:db8::5"],
            &["203.0.113.9:4711"],
            &["203.0.113.9, [2001:db8::5]:443"],
        ] {
            assert_eq!(client(&proxies, "10.0.0.1", header), expected, "{header:?}");
            assert_eq!(client(&proxies, "::ffff:10.0.0.1", header), expected, "{header:?}");
        }
    }

    #[test]
    fn without_a_valid_address_the_last_proxy_is_the_client() {
        for header in [&[][..], &["unknown"], &["203.0.113.9, _hidden"], &[""], &["203.0.113.9,"]] {
            assert_eq!(client(&["10.0.0.0/8"], "10.0.0.1", header), Client::of(ip("10.0.0.1")), "{header:?}");
        }
        assert_eq!(client(&["10.0.0.0/8"], "10.0.0.1", &["10.0.0.2"]), Client::of(ip("10.0.0.2")));
    }
}
