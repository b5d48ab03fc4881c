//! The way out: which addresses messages may go to, and the connections they go by.
//!
//! A name is looked up here and nowhere else; every address it leads to is judged, and the connection is made to the very
//! address that was judged. Proxies of the environment have no say.

mod address;
mod connection;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod network;
mod target;

use std::{
    net::{IpAddr, SocketAddr},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use hickory_resolver::{
    TokioResolver,
    config::{ConnectionConfig, NameServerConfig, ResolverConfig},
    net::runtime::TokioRuntimeProvider,
};
use rustls::{ClientConfig, RootCertStore, pki_types::CertificateDer, pki_types::pem::PemObject};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use address::ForbiddenAddress;
pub(crate) use connection::{Answer, Connection};
use network::Tcp;
pub use network::{Connecting, Network, Stream};
pub use target::{Insecure, UrlFault};
pub(crate) use target::{Security, Target, TargetHost, USUAL_PORTS};

/// For each step of getting through to a receiver. All of an attempt together has its own bound.
const DNS_PATIENCE: Duration = Duration::from_secs(4);
const CONNECT_PATIENCE: Duration = Duration::from_secs(4);
const TLS_PATIENCE: Duration = Duration::from_secs(4);
/// While an owner waits for an answer. A name that does not resolve then is looked up again before each message.
const REGISTRATION_PATIENCE: Duration = Duration::from_secs(2);
/// Addresses of one name that are tried.
const ADDRESSES_TRIED: usize = 3;

#[derive(Debug, Clone, Default)]
pub struct EgressConfig {
    /// Where it is allowed, so is every port.
    pub insecure: Insecure,
    /// The ports that messages may go to; None: the usual ones.
    pub ports: Option<Vec<u16>>,
    /// A file with certificates of authorities that are trusted beside the usual ones.
    pub ca_file: Option<PathBuf>,
    /// The name server to ask; None: those of the system.
    pub dns_server: Option<SocketAddr>,
}

#[derive(Debug, thiserror::Error)]
pub enum EgressError {
    #[error("the certificates in {path} cannot be read")]
    CaFile { path: PathBuf, source: rustls::pki_types::pem::Error },
    #[error("{path} holds no certificate")]
    NoCertificate { path: PathBuf },
    #[error("a certificate in {path} is none that can be trusted")]
    BadCertificate { path: PathBuf, source: rustls::Error },
    #[error("TLS cannot be set up")]
    Tls(#[source] rustls::Error),
    #[error("names cannot be looked up")]
    Resolver(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Why a message did not get through.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SendFault {
    #[error("the URL {0}")]
    Url(#[from] UrlFault),
    /// One text for all that can be wrong with a host, as for a URL.
    #[error("nothing is sent there: the host cannot be looked up, or has an address that is not public")]
    Host,
    #[error("no connection: {0}")]
    Connect(std::io::Error),
    #[error("no connection in time")]
    ConnectTimeout,
    #[error("no secure connection: {0}")]
    Tls(std::io::Error),
    #[error("no secure connection in time")]
    TlsTimeout,
    #[error("the connection broke: {0}")]
    Http(hyper::Error),
    #[error("no whole answer within 10 seconds")]
    Timeout,
    #[error("the secret cannot be opened")]
    Secret,
}

pub struct Egress {
    insecure: Insecure,
    ports: Vec<u16>,
    resolver: TokioResolver,
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
    /// When the certificates that are to be trusted cannot be read.
    pub fn new(config: &EgressConfig) -> Result<Self, EgressError> {
        let mut ports = config.ports.clone().unwrap_or_else(|| USUAL_PORTS.to_vec());
        ports.sort_unstable();
        ports.dedup();
        let (resolver, tls) = (resolver(config.dns_server)?, tls(config)?);
        Ok(Self { insecure: config.insecure, ports, resolver, tls, network: Arc::new(Tcp) })
    }

    /// Connects on another network than that of this machine, for simulations.
    #[must_use]
    pub fn on(self, network: Arc<dyn Network>) -> Self {
        Self { network, ..self }
    }

    /// Says whether an owner may give this URL.
    ///
    /// # Errors
    /// When it is no https URL, names a port that is not allowed, or a host that leads nowhere or to an address that is not
    /// public. Which of the last two it is, is not said: that would tell strangers about names inside.
    pub async fn check(&self, url: &str) -> Result<(), UrlFault> {
        let target = self.target(url)?;
        let TargetHost::Name(name) = &target.host else { return Ok(()) };
        let addresses = timeout(REGISTRATION_PATIENCE, self.look_up(name)).await;
        let addresses = addresses.map_err(|_| UrlFault::Host)?.map_err(|_| UrlFault::Host)?;
        self.judge_all(&addresses).map_err(|forbidden| refuse(name, forbidden))
    }

    /// Reads a URL, and judges its port, and its address if it names one.
    pub(crate) fn target(&self, url: &str) -> Result<Target, UrlFault> {
        let target = Target::parse(url, self.insecure)?;
        if let TargetHost::Address(address) = target.host {
            self.judge(address).map_err(|forbidden| refuse(url, forbidden))?;
        }
        if self.insecure == Insecure::Refused && !self.ports.contains(&target.port) {
            return Err(UrlFault::Port(self.ports.clone()));
        }
        Ok(target)
    }

    /// Opens a connection to an address of the target that has been judged.
    pub(crate) async fn connect(&self, target: &Target) -> Result<Connection, SendFault> {
        let addresses = match &target.host {
            TargetHost::Address(address) => vec![*address],
            TargetHost::Name(name) => {
                timeout(DNS_PATIENCE, self.look_up(name)).await.map_err(|_| SendFault::Host)??
            }
        };
        self.judge_all(&addresses).map_err(|forbidden| {
            refuse(&target.authority, forbidden);
            SendFault::Host
        })?;
        let mut fault = SendFault::Host;
        for address in addresses.into_iter().take(ADDRESSES_TRIED) {
            match timeout(CONNECT_PATIENCE, self.network.connect((address, target.port).into())).await {
                Ok(Ok(stream)) => return self.secure(stream, target).await,
                Ok(Err(error)) => fault = SendFault::Connect(error),
                Err(_) => fault = SendFault::ConnectTimeout,
            }
        }
        Err(fault)
    }

    async fn secure(&self, stream: Box<dyn Stream>, target: &Target) -> Result<Connection, SendFault> {
        if target.security == Security::Plain {
            return Connection::open(stream).await;
        }
        let name = match &target.host {
            TargetHost::Name(name) => rustls::pki_types::ServerName::try_from(name.trim_end_matches('.').to_owned())
                .map_err(|_| SendFault::Host)?,
            TargetHost::Address(address) => rustls::pki_types::ServerName::from(*address),
        };
        match timeout(TLS_PATIENCE, self.tls.connect(name, stream)).await {
            Ok(Ok(stream)) => Connection::open(stream).await,
            Ok(Err(error)) => Err(SendFault::Tls(error)),
            Err(_) => Err(SendFault::TlsTimeout),
        }
    }

    async fn look_up(&self, name: &str) -> Result<Vec<IpAddr>, SendFault> {
        // With a dot at the end no search list of the system is gone through.
        let absolute = format!("{}.", name.trim_end_matches('.'));
        let found = self.resolver.lookup_ip(absolute).await.map_err(|_| SendFault::Host)?;
        let addresses: Vec<IpAddr> = found.iter().collect();
        if addresses.is_empty() { Err(SendFault::Host) } else { Ok(addresses) }
    }

    /// One bad address spoils a name: whoever mixes them is up to something, or has made a mistake.
    fn judge_all(&self, addresses: &[IpAddr]) -> Result<(), ForbiddenAddress> {
        addresses
            .iter()
            .filter(|address| !self.is_opened(**address))
            .try_for_each(|address| address::judge(*address))?;
        // The system is asked about those alone that may be connected to: a name may have thousands.
        addresses.iter().take(ADDRESSES_TRIED).try_for_each(|address| self.judge(*address))
    }

    fn judge(&self, address: IpAddr) -> Result<(), ForbiddenAddress> {
        if self.is_opened(address) {
            return Ok(());
        }
        address::judge(address)?;
        match address::is_own(address) {
            true => Err(ForbiddenAddress { address, kind: address::AddressKind::Own }),
            false => Ok(()),
        }
    }

    fn is_opened(&self, address: IpAddr) -> bool {
        self.insecure == Insecure::Allowed && address.to_canonical().is_loopback()
    }
}

/// The operator may know what a host leads to; whoever gave it may not.
fn refuse(host: &str, forbidden: ForbiddenAddress) -> UrlFault {
    tracing::debug!(host, %forbidden, "a receiver's address is not public");
    UrlFault::Host
}

fn resolver(server: Option<SocketAddr>) -> Result<TokioResolver, EgressError> {
    let builder = match server {
        Some(server) => {
            let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()].map(|mut connection| {
                connection.port = server.port();
                connection
            });
            let server = NameServerConfig::new(server.ip(), true, connections.into());
            let config = ResolverConfig::from_name_servers(vec![server]);
            TokioResolver::builder_with_config(config, TokioRuntimeProvider::default())
        }
        None => TokioResolver::builder_tokio().or_else(|error| {
            tracing::warn!(%error, "the system names no name server: one on this machine is asked");
            let server = NameServerConfig::udp_and_tcp(std::net::Ipv4Addr::LOCALHOST.into());
            let config = ResolverConfig::from_name_servers(vec![server]);
            Ok::<_, EgressError>(TokioResolver::builder_with_config(config, TokioRuntimeProvider::default()))
        })?,
    };
    builder.build().map_err(|error| EgressError::Resolver(error.into()))
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
        // Nobody answers there: no test asks a real name server.
        let dns_server = Some("127.0.0.1:9".parse().unwrap());
        Egress::new(&EgressConfig { insecure, dns_server, ..EgressConfig::default() }).unwrap()
    }

    #[tokio::test]
    async fn loopback_is_opened_for_trials_and_nothing_else_is() {
        let (strict, open) = (egress(Insecure::Refused), egress(Insecure::Allowed));
        for url in ["https://127.0.0.1/", "https://[::1]/", "https://[::ffff:127.0.0.1]/"] {
            assert!(strict.target(url).is_err() && open.target(url).is_ok(), "{url}");
        }
        for url in ["https://10.0.0.1/", "https://169.254.169.254/", "https://0.0.0.0/", "http://192.168.1.1/"] {
            assert!(open.target(url).is_err(), "{url}");
        }
    }

    #[tokio::test]
    async fn a_name_with_thousands_of_addresses_is_judged_by_all_of_them_at_once() {
        let egress = egress(Insecure::Refused);
        let mut many: Vec<IpAddr> = (0..4_000_u32).map(|low| IpAddr::from((0x0808_0000 + low).to_be_bytes())).collect();
        let begun = std::time::Instant::now();
        assert_eq!(egress.judge_all(&many), Ok(()));
        assert!(begun.elapsed() < Duration::from_millis(50), "{:?}", begun.elapsed());
        many.push(IpAddr::from([127, 0, 0, 1]));
        assert!(egress.judge_all(&many).is_err(), "one bad address spoils them");
    }

    #[tokio::test]
    async fn a_name_that_leads_nowhere_is_refused_as_a_private_address_is() {
        let (nowhere, private) = ("https://receiver.invalid/hook", "https://10.0.0.1/hook");
        assert_eq!(egress(Insecure::Refused).check(nowhere).await, Err(UrlFault::Host));
        assert_eq!(egress(Insecure::Refused).check(private).await, Err(UrlFault::Host));
    }

    #[tokio::test]
    async fn messages_go_to_the_ports_that_are_allowed() {
        let ports = |ports: Option<Vec<u16>>, insecure| {
            let config = EgressConfig { insecure, ports, ..EgressConfig::default() };
            let egress = Egress::new(&config).unwrap();
            [80, 443, 8_443].map(|port| egress.target(&format!("https://93.184.215.14:{port}/")).is_ok())
        };
        assert_eq!(ports(None, Insecure::Refused), [true, true, false]);
        assert_eq!(ports(Some(vec![8_443, 443]), Insecure::Refused), [false, true, true]);
        assert_eq!(ports(None, Insecure::Allowed), [true, true, true]);
        let text = UrlFault::Port(vec![80, 443]).to_string();
        assert_eq!(text, "must use port 80 or 443: the operator allows no other");
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
