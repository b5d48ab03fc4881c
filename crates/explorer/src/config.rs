//! Builds the validated configuration from the options.

use std::{
    net::{Ipv4Addr, SocketAddr},
    num::NonZeroU32,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, bail, ensure};
use api::{CompilerConfig, CompilerSource, ConnectionLimits, LimitConfig, OwnerAccess, VerifierConfig};
use client_address::TrustedProxies;
use domain::{BlockNumber, TokenPrefix};
use egress::{EgressConfig, Insecure};
use enrichment::{DexEntry, Dexes, IpfsGateway, Labels};
use ingest::Traces;
use node::NodeConfig;
use store::WebhookLimits;
use web::{Accent, Branding, FooterLinks, Logo, LogoError, PublicUrl, TourStop};
use webhooks::EncryptionKey;

use crate::{
    admin::{AdminClient, AdminConfig, SocketConfig, TokenSource},
    bootstrap::Bootstrap,
    cli::{self, DatabaseUrl, Looks, NftSource, Role, RunOptions, TargetOptions},
    folders,
    following::OnNewChain,
    logging::LogFormat,
    memory::MemoryBudget,
    names::NameFiles,
    open_files,
};

const DEFAULT_LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 3000);
pub(crate) const DEFAULT_COIN: &str = "ETH";
pub(crate) const DEFAULT_PAGES_PER_MINUTE: u32 = 600;
/// In the data folder.
const ADMIN_SOCKET: &str = "admin.sock";
const DEFAULT_CHAIN_NAME: &str = "Explorer";

/// Where the index and all records are.
#[derive(Debug, Clone)]
pub(crate) enum Location {
    Folder(PathBuf),
    Database {
        url: DatabaseUrl,
        /// A standby that answers reads.
        read_url: Option<DatabaseUrl>,
    },
}

impl std::fmt::Display for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Folder(folder) => folder.display().fmt(f),
            Self::Database { url, .. } => f.write_str(&url.name()),
        }
    }
}

/// What a process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Roles {
    pub(crate) index: bool,
    pub(crate) serve: bool,
    pub(crate) deliver: bool,
}

impl Roles {
    pub(crate) const ALL: Self = Self { index: true, serve: true, deliver: true };

    /// None given means all.
    fn of(given: &[Role]) -> Self {
        if given.is_empty() {
            return Self::ALL;
        }
        let has = |role| given.contains(&role);
        Self { index: has(Role::Index), serve: has(Role::Serve), deliver: has(Role::Deliver) }
    }
}

/// Which metadata of NFTs is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NftMetadata {
    None,
    /// That which is in the answer of the contract, as a `data:` URI.
    #[cfg(feature = "demo")]
    OnChain,
    /// Also that of the hosts that contracts name.
    Hosts,
}

/// The configuration of the service.
#[derive(Debug)]
pub(crate) struct ServiceConfig {
    pub(crate) node: NodeConfig,
    pub(crate) roles: Roles,
    pub(crate) location: Location,
    /// For files that are not in the store.
    pub(crate) data: PathBuf,
    pub(crate) listen: SocketAddr,
    pub(crate) start_block: Option<BlockNumber>,
    pub(crate) on_new_chain: OnNewChain,
    pub(crate) bootstrap: Option<Bootstrap>,
    pub(crate) traces: Traces,
    pub(crate) labels: Labels,
    /// None: BEP, and on pages that of the chain.
    pub(crate) token_prefix: Option<TokenPrefix>,
    pub(crate) dexes: Dexes,
    /// Read again on request.
    pub(crate) name_files: NameFiles,
    /// Name of the chain on the pages.
    pub(crate) chain_name: String,
    /// The look of the pages.
    pub(crate) branding: Branding,
    /// Where users and search engines find the pages, possibly below a path.
    pub(crate) public_url: Option<PublicUrl>,
    /// The symbol of the native coin.
    pub(crate) coin: String,
    /// Links of the first page to what a newcomer may want to see.
    pub(crate) tour: Vec<TourStop>,
    pub(crate) memory: MemoryBudget,
    pub(crate) access: OwnerAccess,
    pub(crate) limits: LimitConfig,
    pub(crate) proxies: TrustedProxies,
    pub(crate) connections: ConnectionLimits,
    /// Per client; None: no limit.
    pub(crate) pages_per_minute: Option<NonZeroU32>,
    pub(crate) verifier: VerifierConfig,
    pub(crate) nft_metadata: NftMetadata,
    pub(crate) ipfs_gateway: Option<IpfsGateway>,
    /// Whether the accounts with the largest balances are listed.
    pub(crate) top_accounts: bool,
    pub(crate) egress: EgressConfig,
    pub(crate) webhook_limits: WebhookLimits,
    /// None: use the key file in the data folder.
    pub(crate) encryption_key: Option<EncryptionKey>,
    pub(crate) admin: AdminConfig,
}

#[derive(Debug)]
pub(crate) struct LogConfig {
    pub(crate) filter: String,
    pub(crate) format: LogFormat,
}

/// Fills missing options from the configuration file, if it exists.
pub(crate) fn with_file(options: RunOptions) -> anyhow::Result<RunOptions> {
    let file = match &options.config {
        Some(path) => Some(path.clone()),
        None => folders::config().map(|folder| folder.join("explorer/config.toml")).filter(|path| path.is_file()),
    };
    match file {
        Some(path) => {
            let read = read_file(&path)?;
            Ok(RunOptions { config: Some(path), ..options.or(read) })
        }
        None => Ok(options),
    }
}

pub(crate) fn read_file(path: &Path) -> anyhow::Result<RunOptions> {
    let text = read_text(path)?;
    toml::from_str(&text).with_context(|| format!("invalid configuration file {}", path.display()))
}

pub(crate) fn read_text(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

pub(crate) fn log_config(options: &RunOptions) -> LogConfig {
    LogConfig {
        filter: options.log.clone().unwrap_or_else(|| "info".to_owned()),
        format: options.log_format.unwrap_or_default(),
    }
}

pub(crate) fn service_config(options: RunOptions) -> anyhow::Result<ServiceConfig> {
    let roles = Roles::of(&options.role);
    if roles != Roles::ALL && options.database.is_none() {
        bail!("--role needs a store that several processes can open: give a database with --database");
    }
    if options.read_database.is_some() && options.database.is_none() {
        bail!("--read-database is a standby of a database: give the database with --database");
    }
    if roles != Roles::ALL && (roles.serve || roles.deliver) && options.webhook_encryption_key.is_none() {
        bail!(
            "with --role, give the key that encrypts webhook secrets with --webhook-encryption-key: all processes need the \
             same one"
        );
    }
    if options.rpc.is_empty() && (roles.index || roles.serve) {
        bail!(
            "no node to follow: give one with --rpc, such as --rpc http://127.0.0.1:8545 (or try `explorer demo`, which needs no node)"
        );
    }
    let branding = branding(&options.looks)?;
    let mut node = NodeConfig::new(options.rpc.clone());
    node.calls_per_second = options.rpc_calls_per_second;
    node.request_timeout = options.rpc_timeout.map_or(node.request_timeout, Duration::from_secs);
    node.verify_blocks = options.verify_blocks.unwrap_or_default();
    ensure!(!node.request_timeout.is_zero(), "--rpc-timeout must be at least 1 (second)");
    let memory = MemoryBudget::new(options.memory, options.response_cache)?;
    node.max_response_bytes = memory.node_response();
    let webhook_limits = webhook_limits(&options)?;
    let name_files = NameFiles { labels: options.labels, config: options.config };
    let (labels, dexes) = (name_files.read_labels()?, dexes(&options.dex)?);
    let data = data_folder(options.data)?;
    let location = match options.database {
        Some(url) => Location::Database { url, read_url: options.read_database },
        None => Location::Folder(data.clone()),
    };
    let bootstrap = Bootstrap::from_option(options.bootstrap.as_deref(), &location)?;
    let admin = admin(options.admin_socket, options.admin_listen, options.admin_token_file, (&location, &data))?;
    let source = compiler_source(options.compiler_source.as_deref())?;
    let mut compilers = CompilerConfig::new(data.join("compilers"), source);
    compilers.idle.bytes = memory.idle_compilers();
    let (nft_metadata, ipfs_gateway) = match options.nft_metadata {
        None | Some(NftSource::Off) => (NftMetadata::None, None),
        Some(NftSource::Hosts) => (NftMetadata::Hosts, None),
        Some(NftSource::Gateway(gateway)) => (NftMetadata::Hosts, Some(gateway)),
    };
    let is_behind_proxy = !options.trusted_proxy.is_empty() || options.public_url.is_some();
    let access = owner_access(options.owner_access, is_behind_proxy);
    let proxies = TrustedProxies::new(options.trusted_proxy);
    let connections = connections(options.max_connections, options.max_connections_per_ip, &proxies);
    Ok(ServiceConfig {
        node,
        roles,
        location,
        data,
        listen: options.listen.unwrap_or(DEFAULT_LISTEN),
        start_block: options.start_block,
        on_new_chain: match options.on_new_chain {
            None => OnNewChain::ByChain,
            Some(cli::OnNewChain::Reset) => OnNewChain::Reset,
            Some(cli::OnNewChain::Halt) => OnNewChain::Halt,
        },
        bootstrap,
        traces: match options.traces {
            Some(cli::Traces::Off) => Traces::Off,
            Some(cli::Traces::Required) => Traces::Required,
            Some(cli::Traces::Auto) | None => Traces::Auto,
        },
        labels,
        token_prefix: options.token_prefix,
        dexes,
        name_files,
        chain_name: options.looks.chain_name.unwrap_or_else(|| DEFAULT_CHAIN_NAME.to_owned()),
        branding,
        public_url: options.public_url,
        coin: options.looks.coin.unwrap_or_else(|| DEFAULT_COIN.to_owned()),
        tour: Vec::new(),
        memory,
        access,
        limits: limits(options.anonymous_requests_per_minute, options.keyed_requests_per_minute),
        proxies,
        connections,
        pages_per_minute: NonZeroU32::new(options.pages_per_minute.unwrap_or(DEFAULT_PAGES_PER_MINUTE)),
        verifier: VerifierConfig::new(compilers),
        nft_metadata,
        ipfs_gateway,
        top_accounts: options.top_accounts == Some(cli::Switch::On),
        egress: EgressConfig {
            insecure: match options.webhook_allow_insecure {
                Some(true) => Insecure::Allowed,
                Some(false) | None => Insecure::Refused,
            },
            ports: (!options.webhook_ports.is_empty()).then_some(options.webhook_ports),
            ca_file: options.webhook_ca_file,
            dns_server: options.webhook_dns,
        },
        webhook_limits,
        encryption_key: options.webhook_encryption_key,
        admin,
    })
}

/// A proxy on this machine may send requests of others without a word about them, so that none of them counts as local.
fn owner_access(given: Option<cli::OwnerAccess>, is_behind_proxy: bool) -> OwnerAccess {
    match given {
        Some(cli::OwnerAccess::Open) => OwnerAccess::Open,
        Some(cli::OwnerAccess::Auto) | None if !is_behind_proxy => OwnerAccess::Auto,
        Some(cli::OwnerAccess::Guarded | cli::OwnerAccess::Auto) | None => OwnerAccess::Guarded,
    }
}

/// Several processes with a database may have the same data folder, so none of them has a socket there.
fn admin(
    socket: Option<PathBuf>,
    listen: Option<SocketAddr>,
    token_file: Option<PathBuf>,
    (location, data): (&Location, &Path),
) -> anyhow::Result<AdminConfig> {
    let socket = match (socket, location) {
        (Some(path), _) => Some(SocketConfig { path, is_required: true }),
        (None, Location::Folder(folder)) => Some(SocketConfig { path: folder.join(ADMIN_SOCKET), is_required: false }),
        (None, Location::Database { .. }) => None,
    };
    let token = match (listen, token_file) {
        (None, Some(_)) => bail!("--admin-token-file is for --admin-listen: give an address"),
        (Some(address), None) if !address.ip().is_loopback() => bail!(
            "others can reach {address}: give a token for the admin interface with --admin-token-file, or a loopback address \
             with --admin-listen"
        ),
        (Some(_), None) => TokenSource::Folder(data.to_owned()),
        (_, Some(file)) => TokenSource::File(file),
        (None, None) => return Ok(AdminConfig { socket, listen: None }),
    };
    Ok(AdminConfig { socket, listen: listen.map(|address| (address, token)) })
}

fn branding(looks: &Looks) -> anyhow::Result<Branding> {
    let logo = looks.logo.as_deref().map(read_logo).transpose()?;
    let accent = Accent { light: looks.accent_light, dark: looks.accent_dark };
    let links = FooterLinks::new(&looks.footer_link);
    let links = links.context("invalid [[looks.footer-link]] entries in the configuration file")?;
    Ok(Branding::new(logo, accent, links)?)
}

fn read_logo(path: &Path) -> anyhow::Result<Logo> {
    let invalid = || format!("the logo {} cannot be used", path.display());
    let length = std::fs::metadata(path).with_context(|| format!("cannot read the logo {}", path.display()))?.len();
    ensure!(length <= Logo::MAX_BYTES as u64, "{}: {}", invalid(), LogoError::TooLarge { bytes: length });
    let bytes = std::fs::read(path).with_context(|| format!("cannot read the logo {}", path.display()))?;
    Logo::new(bytes).with_context(invalid)
}

fn webhook_limits(options: &RunOptions) -> anyhow::Result<WebhookLimits> {
    let defaults = WebhookLimits::default();
    let webhooks = options.webhook_limit.unwrap_or(defaults.webhooks);
    let pending = options.webhook_pending.unwrap_or(defaults.pending);
    ensure!(pending > 0, "--webhook-pending must be at least 1");
    Ok(WebhookLimits::new(webhooks, pending))
}

fn compiler_source(given: Option<&str>) -> anyhow::Result<CompilerSource> {
    match given {
        None | Some("npm") => Ok(CompilerSource::Npm),
        Some("offline") => Ok(CompilerSource::Offline),
        Some(address) if address.starts_with("http://") || address.starts_with("https://") => {
            Ok(CompilerSource::List(address.to_owned()))
        }
        Some(folder) if Path::new(folder).is_dir() => Ok(CompilerSource::Folder(folder.into())),
        Some(other) => {
            bail!("invalid --compiler-source {other}: must be npm, offline, an existing folder, or an http(s) URL")
        }
    }
}

pub(crate) fn dexes(entries: &[DexEntry]) -> anyhow::Result<Dexes> {
    Dexes::with(entries).context("invalid [[dex]] entries in the configuration file")
}

/// What a command of the operator acts on.
pub(crate) enum Target {
    /// A service, through its socket.
    Running(AdminClient),
    /// The store itself.
    Stored(Location),
}

/// A database can be changed beside the services that use it. A folder can be open once, so its service is asked, if it runs.
pub(crate) async fn target(options: TargetOptions) -> anyhow::Result<Target> {
    let TargetOptions { data, database, admin_socket } = options;
    let location = location(data, database)?;
    if let Location::Folder(folder) = &location {
        let socket = admin_socket.unwrap_or_else(|| folder.join(ADMIN_SOCKET));
        if let Some(client) = AdminClient::find(&socket).await? {
            return Ok(Target::Running(client));
        }
    }
    Ok(Target::Stored(location))
}

/// The socket of a running service.
pub(crate) fn admin_socket(given: Option<PathBuf>, data: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    match given {
        Some(path) => Ok(path),
        None => Ok(data_folder(data)?.join(ADMIN_SOCKET)),
    }
}

/// The store of a maintenance command.
pub(crate) fn location(data: Option<PathBuf>, database: Option<DatabaseUrl>) -> anyhow::Result<Location> {
    match database {
        Some(url) => Ok(Location::Database { url, read_url: None }),
        None => Ok(Location::Folder(data_folder(data)?)),
    }
}

pub(crate) fn data_folder(given: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    match given {
        Some(data) => Ok(data),
        None => {
            Ok(folders::data().context("cannot find the user's data folder: give one with --data")?.join("explorer"))
        }
    }
}

/// The operator's connection limits, capped by the available file descriptors.
pub(crate) fn connections(
    total: Option<usize>,
    per_client: Option<usize>,
    proxies: &TrustedProxies,
) -> ConnectionLimits {
    let defaults = ConnectionLimits::default();
    ConnectionLimits {
        total: total.unwrap_or(usize::MAX).min(open_files::for_connections()),
        per_client: per_client.unwrap_or(defaults.per_client),
        proxies: proxies.clone(),
    }
}

/// A missing value means the default; 0 means no limit.
pub(crate) fn limits(anonymous: Option<u32>, keyed: Option<u32>) -> LimitConfig {
    let mut limits = LimitConfig::default();
    if let Some(requests) = anonymous {
        limits.anonymous = NonZeroU32::new(requests);
    }
    if let Some(requests) = keyed {
        limits.keyed_client = NonZeroU32::new(requests);
    }
    limits
}
