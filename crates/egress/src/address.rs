//! SSRF protection: requests may only be sent to public addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

/// An address that requests must not be sent to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{address} is {kind}")]
pub(crate) struct ForbiddenAddress {
    pub(crate) address: IpAddr,
    pub(crate) kind: AddressKind,
}

/// The kind of a non-public address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AddressKind {
    #[error("an unspecified address")]
    Unspecified,
    #[error("a loopback address")]
    Loopback,
    #[error("a private address")]
    Private,
    #[error("a link-local address")]
    LinkLocal,
    #[error("a carrier-grade NAT address")]
    CarrierShared,
    #[error("a multicast or broadcast address")]
    Multicast,
    #[error("reserved for documentation or tests")]
    Documentation,
    #[error("an internal address of a cloud provider")]
    CloudService,
    #[error("reserved")]
    Reserved,
    #[error("an address of this machine")]
    Own,
}

/// Checks that an address is public, including an IPv4 address embedded in an IPv6 one.
pub(crate) fn check_public(address: IpAddr) -> Result<(), ForbiddenAddress> {
    let kind = match address {
        IpAddr::V4(v4) => kind_of_v4(v4),
        IpAddr::V6(v6) => kind_of_v6(v6),
    };
    kind.map_or(Ok(()), |kind| Err(ForbiddenAddress { address, kind }))
}

/// Whether the address belongs to this machine: the system would choose it as source. Sends no packet.
pub(crate) fn is_own(address: IpAddr) -> bool {
    let any: IpAddr = match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let route = || {
        let socket = UdpSocket::bind((any, 0))?;
        socket.connect((address, 9))?;
        socket.local_addr()
    };
    route().is_ok_and(|from| from.ip() == address)
}

fn kind_of_v4(address: Ipv4Addr) -> Option<AddressKind> {
    let [a, b, c, d] = address.octets();
    Some(match (a, b, c, d) {
        (0, ..) => AddressKind::Unspecified,
        (127, ..) => AddressKind::Loopback,
        (10, ..) | (172, 16..=31, ..) | (192, 168, ..) => AddressKind::Private,
        (169, 254, ..) => AddressKind::LinkLocal,
        (100, 64..=127, ..) => AddressKind::CarrierShared,
        // The host agent of Azure.
        (168, 63, 129, 16) => AddressKind::CloudService,
        (192, 0, 0, _) | (192, 88, 99, _) => AddressKind::Reserved,
        (192, 0, 2, _) | (198, 51, 100, _) | (203, 0, 113, _) | (198, 18..=19, ..) => AddressKind::Documentation,
        (224..=239, ..) | (255, 255, 255, 255) => AddressKind::Multicast,
        (240..=255, ..) => AddressKind::Reserved,
        _ => return None,
    })
}

fn kind_of_v6(address: Ipv6Addr) -> Option<AddressKind> {
    if address.is_unspecified() {
        return Some(AddressKind::Unspecified);
    }
    if address.is_loopback() {
        return Some(AddressKind::Loopback);
    }
    if let Some(inner) = embedded_v4(address) {
        return kind_of_v4(inner);
    }
    Some(match address.segments() {
        [0xfc00..=0xfdff, ..] => AddressKind::Private,
        [0xfe80..=0xfeff, ..] => AddressKind::LinkLocal,
        [0xff00..=0xffff, ..] => AddressKind::Multicast,
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => AddressKind::Documentation,
        // Protocol assignments, such as Teredo.
        [0x2001, 0..=0x1ff, ..] => AddressKind::Reserved,
        // ISATAP: the host part is an IPv4 address behind the router.
        [_, _, _, _, 0 | 0x200, 0x5efe, high, low] if kind_of_v4(v4(high, low)).is_some() => AddressKind::Private,
        [0x2000..=0x3fff, ..] => return None,
        _ => AddressKind::Reserved,
    })
}

/// The IPv4 address embedded in an IPv6 address.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    Some(match address.segments() {
        // Mapped, compatible, translated, and NAT64.
        [0, 0, 0, 0, 0, 0xffff, high, low] => v4(high, low),
        [0, 0, 0, 0, 0, 0, high, low] => v4(high, low),
        [0, 0, 0, 0, 0xffff, 0, high, low] => v4(high, low),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => v4(high, low),
        // 6to4
        [0x2002, high, low, ..] => v4(high, low),
        _ => return None,
    })
}

fn v4(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(high) << 16 | u32::from(low))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn is_allowed(text: &str) -> bool {
        check_public(text.parse().unwrap()).is_ok()
    }

    #[test]
    fn public_addresses_are_allowed() {
        for address in [
            "1.1.1.1",
            "8.8.8.8",
            "93.184.215.14",
            "100.63.255.255",
            "100.128.0.1",
            "172.15.255.255",
            "172.32.0.1",
            "192.167.1.1",
            "192.0.1.1",
            "198.17.0.1",
            "198.20.0.1",
            "223.255.255.255",
            "168.63.129.17",
            "2606:4700:4700::1111",
            "2a00:1450:4001::8",
            "2001:200::1",
            "2001:4860:4860::8888",
            "2003::1",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
            "2002:808:808::1",
        ] {
            assert!(is_allowed(address), "{address}");
        }
    }

    #[test]
    fn non_public_addresses_are_refused() {
        for address in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "10.255.255.255",
            "100.64.0.1",
            "100.100.100.200",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.255",
            "169.254.0.1",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.0.192",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.0.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "168.63.129.16",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "::127.0.0.1",
            "::ffff:0:127.0.0.1",
            "64:ff9b::127.0.0.1",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::1",
            "2002:7f00:1::1",
            "2002:a00:1::1",
            "2002:a9fe:a9fe::",
            "2001::1",
            "2001:0:53aa:64c::1",
            "2001:10::1",
            "2001:db8::1",
            "3fff::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "100::1",
            "5f00::1",
            "2a00::5efe:10.0.0.1",
            "2a00::200:5efe:192.168.1.1",
            "4000::1",
            "e000::1",
        ] {
            assert!(!is_allowed(address), "{address}");
        }
    }

    #[test]
    fn own_addresses_are_recognised() {
        assert!(is_own("127.0.0.1".parse().unwrap()));
        assert!(!is_own("192.0.2.77".parse().unwrap()));
    }

    proptest! {
        #[test]
        fn an_embedded_ipv4_address_is_checked_like_a_plain_one(bits: u32) {
            let plain = Ipv4Addr::from(bits);
            let (high, low) = ((bits >> 16) as u16, (bits & 0xffff) as u16);
            let allowed = check_public(plain.into()).is_ok();
            for wrapped in [
                plain.to_ipv6_mapped(),
                Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
                Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
            ] {
                prop_assert_eq!(check_public(wrapped.into()).is_ok(), allowed, "{}", wrapped);
            }
        }
    }
}
