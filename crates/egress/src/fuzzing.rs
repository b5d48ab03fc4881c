use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use hyper::{Uri, header::HeaderValue};

use super::{
    address,
    resolver::message::{Kind, Query, Reply},
    target::{Insecure, Security, Target, TargetHost, UrlFault},
};

/// A URL is either refused, or parsed to the target that its canonical spelling also gives.
pub fn egress_url(url: &[u8]) {
    let Ok(url) = std::str::from_utf8(url) else { return };
    let open = Target::parse(url, Insecure::Allowed);
    let target = match Target::parse(url, Insecure::Refused) {
        Ok(target) => target,
        Err(fault) => {
            assert!(fault.to_string().len() < 200);
            if let Ok(open) = open {
                assert_eq!(open.security, Security::Plain, "only http is additionally allowed: {url}");
            }
            return;
        }
    };
    assert_eq!(target.security, Security::Tls);
    assert_eq!(open.as_ref(), Ok(&target));
    let canonical = format!("https://{}{}", target.authority, target.path);
    match Target::parse(&canonical, Insecure::Refused) {
        // Percent-encoding makes the canonical URL longer.
        Err(UrlFault::TooLong) => assert!(canonical.len() > 2_048),
        again => assert_eq!(again.as_ref(), Ok(&target), "the canonical spelling of {url}"),
    }
    assert!(target.port != 0 && target.path.starts_with('/'));
    // The request line and the Host header contain exactly this path and host.
    let uri: Uri = target.path.parse().unwrap_or_else(|error| panic!("{}: {error}", target.path));
    assert_eq!(uri.path_and_query().map(|path| path.as_str()), Some(target.path.as_str()));
    HeaderValue::try_from(&target.authority).expect("a header");
    match &target.host {
        TargetHost::Name(name) => check_name(name),
        TargetHost::Address(address) => check_address(*address),
    }
}

/// A host that goes to the resolver must not be an address that escapes the address check.
fn check_name(name: &str) {
    let absolute = name.strip_suffix('.').unwrap_or(name);
    assert!(absolute.split('.').all(|label| !label.is_empty()), "an empty label: {name}");
    assert!(absolute.parse::<IpAddr>().is_err(), "an address parsed as a name: {name}");
    assert!(name.is_ascii() && name == name.to_ascii_lowercase(), "{name}");
    assert!(!name.contains(['/', '@', ':', '?', '#', '\\', '%', '[', ']', ' ']), "{name}");
}

/// A message is either ignored or a reply to the query, with addresses of its kind. A text may be a name.
pub fn dns_reply(bytes: &[u8]) {
    for kind in [Kind::A, Kind::Aaaa] {
        let query = Query::new(0x1234, "a.example", kind).expect("a name");
        let Some(reply) = query.read_reply(bytes) else { continue };
        let question = query.as_bytes();
        assert_eq!(bytes[..2], question[..2]);
        assert!(bytes[12..question.len()].eq_ignore_ascii_case(&question[12..]));
        if let Reply::Addresses { addresses, .. } = reply {
            assert!(addresses.len() * 15 <= bytes.len());
            assert!(addresses.iter().all(|address| address.is_ipv4() == (kind == Kind::A)));
        }
    }
    let Some(query) = std::str::from_utf8(bytes).ok().and_then(|name| Query::new(7, name, Kind::A)) else { return };
    assert!(query.as_bytes().len() <= 12 + 255 + 4);
    let mut reply = query.as_bytes().to_vec();
    assert_eq!(query.read_reply(&reply), None, "a query is no reply");
    reply[2] |= 0x80;
    assert_eq!(query.read_reply(&reply), Some(Reply::Addresses { addresses: Vec::new(), seconds: 0 }));
}

/// Four bytes are an IPv4 address, sixteen an IPv6 one.
pub fn egress_address(bytes: &[u8]) {
    if let Ok(octets) = <[u8; 4]>::try_from(bytes) {
        check_address(IpAddr::from(octets));
    }
    if let Ok(octets) = <[u8; 16]>::try_from(bytes) {
        check_address(IpAddr::from(octets));
    }
}

/// Addresses that the standard library considers special are refused, and embedded IPv4 addresses are checked like plain ones.
fn check_address(address: IpAddr) {
    let allowed = address::check_public(address).is_ok();
    match address {
        IpAddr::V4(v4) => {
            assert!(!(allowed && is_special_v4(v4)), "{v4}");
            let mapped = address::check_public(v4.to_ipv6_mapped().into()).is_ok();
            assert_eq!(mapped, allowed, "{v4} mapped");
            let [a, b, c, d] = v4.octets();
            let (high, low) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
            for wrapped in [
                Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
                Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
                Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, high, low),
            ] {
                assert_eq!(address::check_public(wrapped.into()).is_ok(), allowed, "{v4} as {wrapped}");
            }
        }
        IpAddr::V6(v6) => {
            if let Some(v4) = v6.to_ipv4_mapped() {
                assert_eq!(allowed, address::check_public(v4.into()).is_ok(), "{v6}");
                return;
            }
            let special = v6.is_loopback()
                || v6.is_unspecified()
                || v6.is_multicast()
                || v6.is_unique_local()
                || v6.is_unicast_link_local();
            assert!(!(allowed && special), "{v6}");
            let is_global = v6.segments()[0] & 0xe000 == 0x2000;
            let is_translated = v6.segments()[..6] == [0x64, 0xff9b, 0, 0, 0, 0] || v6.segments()[..4] == [0; 4];
            assert!(!allowed || is_global || is_translated, "{v6}");
        }
    }
}

fn is_special_v4(address: Ipv4Addr) -> bool {
    address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_broadcast()
        || address.is_documentation()
        || address.is_multicast()
        || address.is_unspecified()
}
