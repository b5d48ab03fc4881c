use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The URL of this explorer, for commands that are shown. Nothing of it is from a request: whoever sends one chooses its headers, a
/// proxy may cache the page, and others would send their signatures there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerAddress {
    pub(crate) url: String,
    /// Whether a script may show the address in the browser instead: the operator did not configure the public one.
    pub(crate) is_local: bool,
}

impl ServerAddress {
    pub(crate) fn new(site_url: Option<&str>, listens: SocketAddr) -> Self {
        match site_url {
            Some(url) => Self { url: url.to_owned(), is_local: false },
            None => Self { url: local_url(listens), is_local: true },
        }
    }
}

/// The URL of a port on this machine.
fn local_url(listens: SocketAddr) -> String {
    let address = match listens.ip() {
        IpAddr::V4(address) if address.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(address) if address.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        address => address,
    };
    format!("http://{}", SocketAddr::new(address, listens.port()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_is_where_the_explorer_listens() {
        for (listens, url) in [
            ("127.0.0.1:3000", "http://127.0.0.1:3000"),
            ("192.168.1.7:80", "http://192.168.1.7:80"),
            ("0.0.0.0:3000", "http://127.0.0.1:3000"),
            ("[::]:3000", "http://[::1]:3000"),
            ("[2001:db8::1]:3000", "http://[2001:db8::1]:3000"),
        ] {
            assert_eq!(local_url(listens.parse().unwrap()), url);
        }
    }
}
