//! Outgoing connections to hosts that strangers name, protected against SSRF: receivers of webhooks, and hosts of metadata.
//!
//! Host names are resolved only here. Every resolved address is checked, and the connection is made to the address that was
//! checked. Proxy settings of the environment are ignored.

mod address;
mod connection;
mod fetch;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
#[allow(clippy::expect_used, clippy::indexing_slicing, reason = "a fuzz target panics if a property does not hold")]
pub mod fuzzing;
mod network;
mod resolver;
mod target;

use std::{
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use address::ForbiddenAddress;
pub use connection::{Connection, ReceiverResponse};
pub use fetch::{FetchFault, FetchLimits};
use futures::future::BoxFuture;
use network::Tcp;
pub use network::{Connecting, Network, Stream};
use resolver::Resolver;
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
};
use target::{DEFAULT_PORTS, Security, TargetHost};
pub use target::{Insecure, Target, UrlFault};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// Timeouts per connection step; a whole attempt has its own timeout.
const DNS_TIMEOUT: Duration = Duration::from_secs(4);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(4);
const TLS_TIMEOUT: Duration = Duration::from_secs(4);
/// DNS timeout while an owner registers a webhook.
const REGISTRATION_TIMEOUT: Duration = Duration::from_secs(2);
/// How many addresses of a name are tried.
const ADDRESSES_TRIED: usize = 3;

#[derive(Debug, Clone, Default)]
pub struct EgressConfig {
    /// If allowed, every port is allowed, too.
    pub insecure: Insecure,
    /// Allowed ports; None: the default ports.
    pub ports: Option<Vec<u16>>,
    /// A PEM file of additional trusted certificate authorities.
    pub ca_file: Option<PathBuf>,
    /// The DNS server; None: those of the system.
    pub dns_server: Option<SocketAddr>,
}

#[derive(Debug, thiserror::Error)]
pub enum EgressError {
    #[error("cannot read the certificates in {path}")]
    CaFile { path: PathBuf, source: rustls::pki_types::pem::Error },
    #[error("{path} contains no certificate")]
    NoCertificate { path: PathBuf },
    #[error("{path} contains an invalid certificate")]
    BadCertificate { path: PathBuf, source: rustls::Error },
    #[error("cannot set up TLS")]
    Tls(#[source] rustls::Error),
}

/// Why a host could not be reached.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionFault {
    #[error("the URL {0}")]
    Url(#[from] UrlFault),
    /// One text for all host errors, so that it reveals nothing about the operator's network.
    #[error("the host cannot be resolved, or has an address that is not public")]
    Host,
    #[error("cannot connect: {0}")]
    Connect(std::io::Error),
    #[error("connection timed out")]
    ConnectTimeout,
    #[error("TLS handshake failed: {0}")]
    Tls(std::io::Error),
    #[error("TLS handshake timed out")]
    TlsTimeout,
    #[error("the connection broke: {0}")]
    Http(hyper::Error),
}

pub struct Egress {
    insecure: Insecure,
    ports: Vec<u16>,
    resolver: Resolver,
    tls: TlsConnector,
    network: Arc<dyn Network>,
}

impl std::fmt::Debug for Egress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Egress").field("insecure", &self.insecure).finish_non_exhaustive()
    }
}

impl Egress {
    /// # Errors
    /// If the trusted certificates cannot be read.
    pub fn new(config: &EgressConfig) -> Result<Self, EgressError> {
        let mut ports = config.ports.clone().unwrap_or_else(|| DEFAULT_PORTS.to_vec());
        ports.sort_unstable();
        ports.dedup();
        let (resolver, tls) = (Resolver::new(config.dns_server), tls(config)?);
        Ok(Self { insecure: config.insecure, ports, resolver, tls, network: Arc::new(Tcp) })
    }

    /// Uses another network than the machine's, for simulations.
    #[must_use]
    pub fn on(self, network: Arc<dyn Network>) -> Self {
        Self { network, ..self }
    }

    /// Checks whether a webhook may use this URL, without connecting to it.
    ///
    /// # Errors
    /// If it is not an https URL, or has a port that is not allowed, or a host that does not resolve or has a non-public
    /// address. The last two share one error, so that clients cannot probe internal names.
    pub fn check<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<(), UrlFault>> {
        Box::pin(async move {
            let target = self.target(url)?;
            let TargetHost::Name(name) = &target.host else { return Ok(()) };
            let addresses = timeout(REGISTRATION_TIMEOUT, self.resolve(name)).await;
            let addresses = addresses.map_err(|_| UrlFault::Host)?.map_err(|_| UrlFault::Host)?;
            self.check_all(&addresses).map_err(|forbidden| refuse(name, forbidden))
        })
    }

    /// Parses a URL and checks its port, and its address if the host is one.
    ///
    /// # Errors
    /// If the URL is malformed, or has a port or an address that is not allowed.
    pub fn target(&self, url: &str) -> Result<Target, UrlFault> {
        let target = Target::parse(url, self.insecure)?;
        if let TargetHost::Address(address) = target.host {
            self.check_address(address).map_err(|forbidden| refuse(url, forbidden))?;
        }
        if self.insecure == Insecure::Refused && !self.ports.contains(&target.port) {
            return Err(UrlFault::Port(self.ports.clone()));
        }
        Ok(target)
    }

    /// Opens a connection to a checked address of the target.
    ///
    /// # Errors
    /// If the host does not resolve, has an address that is not public, or cannot be reached in time.
    pub fn connect<'a>(&'a self, target: &'a Target) -> BoxFuture<'a, Result<Connection, ConnectionFault>> {
        Box::pin(async move {
            let addresses = match &target.host {
                TargetHost::Address(address) => vec![*address],
                TargetHost::Name(name) => {
                    timeout(DNS_TIMEOUT, self.resolve(name)).await.map_err(|_| ConnectionFault::Host)??
                }
            };
            self.check_all(&addresses).map_err(|forbidden| {
                refuse(&target.authority, forbidden);
                ConnectionFault::Host
            })?;
            let mut fault = ConnectionFault::Host;
            for address in addresses.into_iter().take(ADDRESSES_TRIED) {
                match timeout(CONNECT_TIMEOUT, self.network.connect((address, target.port).into())).await {
                    Ok(Ok(stream)) => return self.secure(stream, target).await,
                    Ok(Err(error)) => fault = ConnectionFault::Connect(error),
                    Err(_) => fault = ConnectionFault::ConnectTimeout,
                }
            }
            Err(fault)
        })
    }

    async fn secure(&self, stream: Box<dyn Stream>, target: &Target) -> Result<Connection, ConnectionFault> {
        if target.security == Security::Plain {
            return Connection::open(stream).await;
        }
        let name = match &target.host {
            TargetHost::Name(name) => rustls::pki_types::ServerName::try_from(name.trim_end_matches('.').to_owned())
                .map_err(|_| ConnectionFault::Host)?,
            TargetHost::Address(address) => rustls::pki_types::ServerName::from(*address),
        };
        match timeout(TLS_TIMEOUT, self.tls.connect(name, stream)).await {
            Ok(Ok(stream)) => Connection::open(stream).await,
            Ok(Err(error)) => Err(ConnectionFault::Tls(error)),
            Err(_) => Err(ConnectionFault::TlsTimeout),
        }
    }

    async fn resolve(&self, name: &str) -> Result<Vec<IpAddr>, ConnectionFault> {
        self.resolver.lookup(name).await.map_err(|error| {
            tracing::debug!(host = name, %error, "cannot resolve a host");
            ConnectionFault::Host
        })
    }

    /// One non-public address disqualifies a name: mixing them is an attack or a mistake.
    fn check_all(&self, addresses: &[IpAddr]) -> Result<(), ForbiddenAddress> {
        addresses
            .iter()
            .filter(|address| !self.is_allowed_loopback(**address))
            .try_for_each(|address| address::check_public(*address))?;
        // The check for own addresses needs system calls, so it covers only the addresses that may be tried.
        addresses.iter().take(ADDRESSES_TRIED).try_for_each(|address| self.check_address(*address))
    }

    fn check_address(&self, address: IpAddr) -> Result<(), ForbiddenAddress> {
        if self.is_allowed_loopback(address) {
            return Ok(());
        }
        address::check_public(address)?;
        match address::is_own(address) {
            true => Err(ForbiddenAddress { address, kind: address::AddressKind::Own }),
            false => Ok(()),
        }
    }

    fn is_allowed_loopback(&self, address: IpAddr) -> bool {
        self.insecure == Insecure::Allowed && address.to_canonical().is_loopback()
    }
}

/// Logs the address for the operator; whoever named the host only learns that it is refused.
fn refuse(host: &str, forbidden: ForbiddenAddress) -> UrlFault {
    tracing::debug!(host, %forbidden, "refused a host with a non-public address");
    UrlFault::Host
}

fn tls(config: &EgressConfig) -> Result<TlsConnector, EgressError> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    if let Some(path) = &config.ca_file {
        let unreadable = |source| EgressError::CaFile { path: path.clone(), source };
        let mut found = false;
        for certificate in CertificateDer::pem_file_iter(path).map_err(unreadable)? {
            let certificate = certificate.map_err(unreadable)?;
            roots.add(certificate).map_err(|source| EgressError::BadCertificate { path: path.clone(), source })?;
            found = true;
        }
        if !found {
            return Err(EgressError::NoCertificate { path: path.clone() });
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(EgressError::Tls)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(tls)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn egress(insecure: Insecure) -> Egress {
        // Nothing listens there: tests never query a real DNS server.
        let dns_server = Some("127.0.0.1:9".parse().unwrap());
        Egress::new(&EgressConfig { insecure, dns_server, ..EgressConfig::default() }).unwrap()
    }

    #[tokio::test]
    async fn insecure_mode_allows_loopback_and_no_other_private_address() {
        let (strict, open) = (egress(Insecure::Refused), egress(Insecure::Allowed));
        for url in ["https://127.0.0.1/", "https://[::1]/", "https://[::ffff:127.0.0.1]/"] {
            assert!(strict.target(url).is_err() && open.target(url).is_ok(), "{url}");
        }
        for url in ["https://10.0.0.1/", "https://169.254.169.254/", "https://0.0.0.0/", "http://192.168.1.1/"] {
            assert!(open.target(url).is_err(), "{url}");
        }
    }

    #[tokio::test]
    async fn all_addresses_of_a_name_are_checked_quickly_even_if_there_are_thousands() {
        let egress = egress(Insecure::Refused);
        let mut many: Vec<IpAddr> = (0..4_000_u32).map(|low| IpAddr::from((0x0808_0000 + low).to_be_bytes())).collect();
        // The fastest of several, so that a busy machine does not matter.
        let fastest = |addresses: &[IpAddr]| {
            let times = (0..20).map(|_| {
                let started = std::time::Instant::now();
                assert_eq!(egress.check_all(addresses), Ok(()));
                started.elapsed()
            });
            times.min().unwrap()
        };
        let (few, all) = (fastest(&many[..400]), fastest(&many));
        // Ten times as many take about ten times as long.
        assert!(all < 30 * few.max(Duration::from_micros(10)), "{few:?} for 400, {all:?} for 4,000");
        many.push(IpAddr::from([127, 0, 0, 1]));
        assert!(egress.check_all(&many).is_err(), "one non-public address is enough");
    }

    #[tokio::test]
    async fn an_unresolvable_name_and_a_private_address_give_the_same_error() {
        let (nowhere, private) = ("https://receiver.invalid/hook", "https://10.0.0.1/hook");
        assert_eq!(egress(Insecure::Refused).check(nowhere).await, Err(UrlFault::Host));
        assert_eq!(egress(Insecure::Refused).check(private).await, Err(UrlFault::Host));
    }

    #[tokio::test]
    async fn only_allowed_ports_are_accepted() {
        let ports = |ports: Option<Vec<u16>>, insecure| {
            let config = EgressConfig { insecure, ports, ..EgressConfig::default() };
            let egress = Egress::new(&config).unwrap();
            [80, 443, 8_443].map(|port| egress.target(&format!("https://93.184.215.14:{port}/")).is_ok())
        };
        assert_eq!(ports(None, Insecure::Refused), [true, true, false]);
        assert_eq!(ports(Some(vec![8_443, 443]), Insecure::Refused), [false, true, true]);
        assert_eq!(ports(None, Insecure::Allowed), [true, true, true]);
        let text = UrlFault::Port(vec![80, 443]).to_string();
        assert_eq!(text, "must use port 80 or 443: other ports are not allowed");
    }

    #[test]
    fn a_file_without_certificates_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let config = EgressConfig { ca_file: Some(file.path().to_owned()), ..EgressConfig::default() };
        assert!(matches!(tls(&config), Err(EgressError::NoCertificate { .. })));
        let config = EgressConfig { ca_file: Some("/does/not/exist".into()), ..EgressConfig::default() };
        assert!(matches!(tls(&config), Err(EgressError::CaFile { .. })));
    }
}
