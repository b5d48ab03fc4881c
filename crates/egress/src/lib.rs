//! Outgoing connections to user-supplied hosts, protected against SSRF: receivers of webhooks, and hosts of metadata.
//!
//! Host names are resolved only here. Every resolved address is checked, and the connection is made to the address that was
//! checked. Proxy settings of the environment are ignored.

mod address;
mod connection;
mod fetch;
#[doc(hidden)]
#[allow(clippy::expect_used, clippy::indexing_slicing, reason = "a fuzz target panics if a property does not hold")]
pub mod fuzzing;
mod network;
mod resolver;
mod target;
mod tls;

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
use resolver::{LookupError, Resolver};
use target::{DEFAULT_PORTS, Security, TargetHost};
pub use target::{Insecure, Target, UrlFault};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// Timeouts per connection step; a whole attempt has its own timeout.
const DNS_TIMEOUT: Duration = Duration::from_secs(4);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(4);
const TLS_TIMEOUT: Duration = Duration::from_secs(4);
/// How many addresses of a name are tried.
const ADDRESSES_TRIED: usize = 3;

#[derive(Debug, Clone, Default)]
pub struct EgressConfig {
    /// If allowed, every port is allowed, too.
    pub insecure: Insecure,
    /// Allowed ports; None: the default ports.
    pub ports: Option<Vec<u16>>,
    /// A PEM file of additional trusted certificates: of authorities, or of single hosts.
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
    /// One text for all causes, so that it reveals nothing about the operator's network.
    #[error("the host cannot be resolved, or has an address that is not public")]
    Host(#[source] HostCause),
    #[error("cannot connect: {0}")]
    Connect(std::io::Error),
    #[error("connection timed out")]
    ConnectTimeout,
    #[error("TLS handshake failed: {0}")]
    Tls(std::io::Error),
    #[error("TLS handshake timed out")]
    TlsTimeout,
    #[error("the connection broke: {}", with_causes(.0))]
    Http(hyper::Error),
}

/// Why a host is not used: for the operator's log, never for whoever named the host.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct HostCause(String);

fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
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
        let (resolver, tls) = (Resolver::new(config.dns_server), tls::connector(config.ca_file.as_deref())?);
        Ok(Self { insecure: config.insecure, ports, resolver, tls, network: Arc::new(Tcp) })
    }

    /// Uses another network than the machine's, for simulations.
    #[must_use]
    pub fn on(self, network: Arc<dyn Network>) -> Self {
        Self { network, ..self }
    }

    /// Parses a URL and checks its port and its host. Nothing is looked up, neither in DNS nor in the system: the result
    /// reveals nothing about the operator's network.
    ///
    /// # Errors
    /// If the URL is malformed, or has a port that is not allowed, or a host that can never be public.
    pub fn target(&self, url: &str) -> Result<Target, UrlFault> {
        let target = Target::parse(url, self.insecure)?;
        let may_be_public = match &target.host {
            TargetHost::Address(address) => {
                self.is_allowed_loopback(*address) || address::check_public(*address).is_ok()
            }
            TargetHost::Name(name) => self.insecure == Insecure::Allowed || target::may_be_public(name),
        };
        if !may_be_public {
            return Err(UrlFault::NotPublic);
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
            let refused = |cause: &dyn std::fmt::Display| {
                tracing::debug!(host = target.authority, %cause, "host not used");
                ConnectionFault::Host(HostCause(cause.to_string()))
            };
            let addresses = match &target.host {
                TargetHost::Address(address) => vec![*address],
                TargetHost::Name(name) => {
                    let found = timeout(DNS_TIMEOUT, self.resolver.lookup(name)).await;
                    found.unwrap_or(Err(LookupError::NoAnswer)).map_err(|error| refused(&error))?
                }
            };
            self.check_all(&addresses).map_err(|forbidden| refused(&forbidden))?;
            let mut fault = ConnectionFault::Host(HostCause(LookupError::NoAddress.to_string()));
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
                .map_err(|error| ConnectionFault::Host(HostCause(error.to_string())))?,
            TargetHost::Address(address) => rustls::pki_types::ServerName::from(*address),
        };
        match timeout(TLS_TIMEOUT, self.tls.connect(name, stream)).await {
            Ok(Ok(stream)) => Connection::open(stream).await,
            Ok(Err(error)) => Err(ConnectionFault::Tls(error)),
            Err(_) => Err(ConnectionFault::TlsTimeout),
        }
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
        let egress = egress(Insecure::Refused);
        let target = egress.target("https://receiver.example/hook").unwrap();
        let Err(nowhere) = egress.connect(&target).await else { panic!("no DNS server answers") };
        let target = Target { host: TargetHost::Address([10, 0, 0, 1].into()), ..target };
        let Err(private) = egress.connect(&target).await else { panic!("not a public address") };
        assert_eq!(nowhere.to_string(), private.to_string());
        let causes = [nowhere, private].map(|fault| std::error::Error::source(&fault).unwrap().to_string());
        assert_eq!(causes, ["no DNS server answers", "10.0.0.1 is a private address"], "the operator learns it");
    }

    #[tokio::test]
    async fn names_that_can_never_be_public_need_the_option_for_tests() {
        let (strict, open) = (egress(Insecure::Refused), egress(Insecure::Allowed));
        for url in ["https://localhost/", "https://vault/", "https://db.internal/"] {
            assert_eq!(strict.target(url), Err(UrlFault::NotPublic), "{url}");
            assert!(open.target(url).is_ok(), "{url}");
        }
        assert!(strict.target("https://hooks.customer.example/x").is_ok());
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
        assert!(matches!(tls::connector(Some(file.path())), Err(EgressError::NoCertificate { .. })));
        assert!(matches!(tls::connector(Some("/does/not/exist".as_ref())), Err(EgressError::CaFile { .. })));
    }
}
