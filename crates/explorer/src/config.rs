//! From options to settled configuration: read once, checked once.

use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use api::{
    CompilerConfig, CompilerSource, Dexes, Labels, LimitConfig, OwnerAccess, TokenPrefix, TrustedProxies,
    VerifierConfig,
};
use domain::BlockNumber;
use ingest::Traces;
use node::NodeConfig;
use webhooks::{EgressConfig, EncryptionKey, Insecure};

use crate::cli::{self, RunOptions};
use crate::logging::LogFormat;
use crate::memory::MemoryBudget;

const DEFAULT_LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 3000);
pub(crate) const DEFAULT_COIN: &str = "ETH";
const DEFAULT_CHAIN_NAME: &str = "Explorer";

/// All that the service needs to know.
#[derive(Debug)]
pub(crate) struct ServiceConfig {
    pub(crate) node: NodeConfig,
    pub(crate) data: PathBuf,
    pub(crate) listen: SocketAddr,
    pub(crate) start_block: Option<BlockNumber>,
    pub(crate) traces: Traces,
    pub(crate) labels: Labels,
    pub(crate) token_prefix: TokenPrefix,
    pub(crate) dexes: Dexes,
    /// How the pages call the chain.
    pub(crate) chain_name: String,
    /// The symbol of the native coin.
    pub(crate) coin: String,
    pub(crate) memory: MemoryBudget,
    pub(crate) access: OwnerAccess,
    pub(crate) limits: LimitConfig,
    pub(crate) proxies: TrustedProxies,
    pub(crate) verifier: VerifierConfig,
    pub(crate) egress: EgressConfig,
    /// None: the one in the data folder.
    pub(crate) encryption_key: Option<EncryptionKey>,
}

#[derive(Debug)]
pub(crate) struct LogConfig {
    pub(crate) filter: String,
    pub(crate) format: LogFormat,
}

/// Fills the options up from the configuration file, if there is one.
pub(crate) fn with_file(options: RunOptions) -> anyhow::Result<RunOptions> {
    let file = match &options.config {
        Some(path) => Some(path.clone()),
        None => dirs::config_dir().map(|folder| folder.join("explorer/config.toml")).filter(|path| path.is_file()),
    };
    match file {
        Some(path) => Ok(options.or(read_file(&path)?)),
        None => Ok(options),
    }
}

fn read_file(path: &Path) -> anyhow::Result<RunOptions> {
    let text = read_text(path)?;
    toml::from_str(&text).with_context(|| format!("the configuration file {} is not right", path.display()))
}

fn read_text(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

pub(crate) fn log_config(options: &RunOptions) -> LogConfig {
    LogConfig {
        filter: options.log.clone().unwrap_or_else(|| "info".to_owned()),
        format: options.log_format.unwrap_or_default(),
    }
}

pub(crate) fn service_config(options: RunOptions) -> anyhow::Result<ServiceConfig> {
    if options.rpc.is_empty() {
        bail!(
            "no node to follow: give one with --rpc, such as --rpc http://127.0.0.1:8545 (or try `explorer demo`, which needs none)"
        );
    }
    let mut node = NodeConfig::new(options.rpc);
    node.max_concurrency = options.rpc_concurrency.unwrap_or(node.max_concurrency);
    node.request_timeout = options.rpc_timeout.map_or(node.request_timeout, Duration::from_secs);
    node.verify_blocks = options.verify_blocks.unwrap_or_default();
    if node.max_concurrency == 0 || node.request_timeout.is_zero() {
        bail!("--rpc-concurrency and --rpc-timeout must be at least 1");
    }
    let memory = MemoryBudget::new(options.memory, options.answers)?;
    let labels = match &options.labels {
        Some(path) => Labels::parse(&read_text(path)?)
            .with_context(|| format!("the labels file {} is not right", path.display()))?,
        None => Labels::default(),
    };
    let dexes = Dexes::with(&options.dex).context("the names of exchanges in the configuration file are not right")?;
    let data = data_folder(options.data)?;
    let compilers = options.compilers.unwrap_or_else(|| data.join("compilers"));
    let source = compiler_source(options.compiler_source.as_deref())?;
    Ok(ServiceConfig {
        node,
        data,
        listen: options.listen.unwrap_or(DEFAULT_LISTEN),
        start_block: options.start_block,
        traces: match options.traces {
            Some(cli::Traces::Off) => Traces::Off,
            Some(cli::Traces::Auto) | None => Traces::Auto,
        },
        labels,
        token_prefix: options.token_prefix.unwrap_or_default(),
        dexes,
        chain_name: options.chain_name.unwrap_or_else(|| DEFAULT_CHAIN_NAME.to_owned()),
        coin: options.coin.unwrap_or_else(|| DEFAULT_COIN.to_owned()),
        memory,
        access: match options.owner_access {
            Some(cli::OwnerAccess::Open) => OwnerAccess::Open,
            Some(cli::OwnerAccess::Guarded) | None => OwnerAccess::Guarded,
        },
        limits: limits(options.anonymous_requests_per_minute, options.keyed_requests_per_minute),
        proxies: TrustedProxies::new(options.trusted_proxy),
        verifier: VerifierConfig::new(CompilerConfig::new(compilers, source)),
        egress: EgressConfig {
            insecure: match options.webhook_allow_insecure {
                Some(true) => Insecure::Allowed,
                Some(false) | None => Insecure::Refused,
            },
            ca_file: options.webhook_ca_file,
            dns_server: options.webhook_dns,
        },
        encryption_key: options.webhook_encryption_key,
    })
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
            bail!("--compiler-source {other} is none of npm, offline, a folder that is there, or an address")
        }
    }
}

pub(crate) fn data_folder(given: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    match given {
        Some(data) => Ok(data),
        None => Ok(dirs::data_dir()
            .context("no data folder is known for this user: give one with --data")?
            .join("explorer")),
    }
}

/// What is not said stays as it is by default; nought is no limit.
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
