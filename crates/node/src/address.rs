use std::{fmt, path::PathBuf, str::FromStr};

use url::{Host, Url};

/// Address of a node.
#[derive(Clone, PartialEq, Eq)]
pub enum Endpoint {
    Http(Url),
    WebSocket(Url),
    Ipc(PathBuf),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    #[error("empty node endpoint")]
    Empty,
    #[error("invalid node endpoint URL: {0}")]
    Url(#[from] url::ParseError),
    #[error("unsupported node endpoint scheme {scheme}: use http, https, ws, wss, ipc or a path to a socket")]
    Scheme { scheme: String },
}

/// Longer path segments, and all query values, are treated as API keys and hidden.
const MAX_PLAIN_SEGMENT: usize = 15;

impl Endpoint {
    /// Whether the address is loopback or a local socket.
    #[must_use]
    pub fn is_local(&self) -> bool {
        match self {
            Self::Ipc(_) => true,
            Self::Http(url) | Self::WebSocket(url) => match url.host() {
                Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
                Some(Host::Ipv4(address)) => address.is_loopback(),
                Some(Host::Ipv6(address)) => address.is_loopback(),
                None => false,
            },
        }
    }
}

impl Endpoint {
    /// Host and port without credentials or path, safe to publish; for IPC the socket path.
    #[must_use]
    pub fn host(&self) -> String {
        match self {
            Self::Ipc(path) => path.display().to_string(),
            Self::Http(url) | Self::WebSocket(url) => {
                let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
                format!("{}{port}", url.host_str().unwrap_or_default())
            }
        }
    }
}

impl FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        if text.is_empty() {
            return Err(EndpointError::Empty);
        }
        if let Some(path) = text.strip_prefix("ipc://") {
            return if path.is_empty() { Err(EndpointError::Empty) } else { Ok(Self::Ipc(PathBuf::from(path))) };
        }
        if !text.contains("://") {
            return Ok(Self::Ipc(PathBuf::from(text)));
        }
        let url = Url::parse(text)?;
        match url.scheme() {
            "http" | "https" => Ok(Self::Http(url)),
            "ws" | "wss" => Ok(Self::WebSocket(url)),
            scheme => Err(EndpointError::Scheme { scheme: scheme.to_owned() }),
        }
    }
}

/// Safe for logs: hides passwords and keys.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = match self {
            Self::Ipc(path) => return write!(f, "{}", path.display()),
            Self::Http(url) | Self::WebSocket(url) => url,
        };
        write!(f, "{}://{}", url.scheme(), url.host_str().unwrap_or_default())?;
        if let Some(port) = url.port() {
            write!(f, ":{port}")?;
        }
        for segment in url.path_segments().into_iter().flatten().filter(|segment| !segment.is_empty()) {
            let shown = if segment.len() > MAX_PLAIN_SEGMENT { "***" } else { segment };
            write!(f, "/{shown}")?;
        }
        if url.query().is_some() {
            f.write_str("?***")?;
        }
        Ok(())
    }
}

/// Same as Display: a derived implementation would print secrets.
impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Endpoint({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        text.parse::<Endpoint>().unwrap().to_string()
    }

    #[test]
    fn the_scheme_selects_the_transport() {
        assert!(matches!("http://node:8545".parse(), Ok(Endpoint::Http(_))));
        assert!(matches!("https://node".parse(), Ok(Endpoint::Http(_))));
        assert!(matches!("ws://node:8546".parse(), Ok(Endpoint::WebSocket(_))));
        assert!(matches!("wss://node".parse(), Ok(Endpoint::WebSocket(_))));
        assert_eq!("/run/geth.ipc".parse(), Ok(Endpoint::Ipc("/run/geth.ipc".into())));
        assert_eq!("ipc:///run/geth.ipc".parse(), Ok(Endpoint::Ipc("/run/geth.ipc".into())));
        assert_eq!("geth.ipc".parse(), Ok(Endpoint::Ipc("geth.ipc".into())));
    }

    #[test]
    fn invalid_endpoints_are_rejected() {
        assert_eq!("  ".parse::<Endpoint>(), Err(EndpointError::Empty));
        assert_eq!("ftp://node".parse::<Endpoint>(), Err(EndpointError::Scheme { scheme: "ftp".into() }));
        assert!(matches!("http://".parse::<Endpoint>(), Err(EndpointError::Url(_))));
    }

    #[test]
    fn a_host_has_neither_path_nor_user() {
        let host = |text: &str| text.parse::<Endpoint>().unwrap().host();
        assert_eq!(host("https://alice:secret@node.example/v2/key?a=b"), "node.example");
        assert_eq!(host("ws://127.0.0.1:8546/rpc"), "127.0.0.1:8546");
        assert_eq!(host("/run/geth.ipc"), "/run/geth.ipc");
    }

    #[test]
    fn passwords_and_keys_are_never_shown() {
        assert_eq!(shown("https://alice:secret@node.example/rpc"), "https://node.example/rpc");
        assert_eq!(shown("wss://eth.example/v2/Zx81kQpL0a9sJd72mWq"), "wss://eth.example/v2/***");
        assert_eq!(shown("https://eth.example/rpc?apikey=1"), "https://eth.example/rpc?***");
        assert_eq!(shown("http://127.0.0.1:8545"), "http://127.0.0.1:8545");
        let debug = format!("{:?}", "https://a:b@node/0123456789abcdef".parse::<Endpoint>().unwrap());
        assert_eq!(debug, "Endpoint(https://node/***)");
    }

    #[test]
    fn a_loopback_address_is_local() {
        for local in ["http://localhost:1", "ws://127.0.0.2:1", "http://[::1]:1", "/a/b"] {
            assert!(local.parse::<Endpoint>().unwrap().is_local(), "{local}");
        }
        assert!(!"http://10.0.0.1".parse::<Endpoint>().unwrap().is_local());
    }
}
