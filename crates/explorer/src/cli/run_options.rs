//! Options of `explorer run`.

use std::{net::SocketAddr, path::PathBuf};

use clap::Args;
use domain::TokenPrefix;
use enrichment::{DexEntry, IpfsGateway};
use ipnet::IpNet;
use node::{BlockChecks, Endpoint};
use serde::Deserialize;
use web::{BasePath, Colour, FooterLink, PublicUrl};
use webhooks::EncryptionKey;

use super::values::{
    DatabaseUrl, OwnerAccess, Role, Switch, Traces, base_path, colour, encryption_key, endpoints, ipfs_gateway,
    network, networks, public_url, roles, token_prefix,
};
use crate::logging::LogFormat;

/// Options of `run` from one source: the command line and environment, or the file.
#[derive(Debug, Default, Args, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RunOptions {
    /// The node: an http(s):// or ws(s):// URL or the path of an IPC socket. Give several for failover
    #[arg(long, env = "EXPLORER_RPC", value_name = "URL", value_delimiter = ',')]
    #[serde(deserialize_with = "endpoints")]
    pub(crate) rpc: Vec<Endpoint>,

    /// Where the index is stored [default: explorer in your data folder]
    #[arg(long, env = "EXPLORER_DATA", value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,

    /// A PostgreSQL database for the index and all records, instead of the data folder: postgres://user:password@host/name
    #[arg(long, env = "EXPLORER_DATABASE", value_name = "URL", hide_env_values = true)]
    pub(crate) database: Option<DatabaseUrl>,

    /// A standby of the database, which answers reads while it has all that was shown before
    #[arg(long, env = "EXPLORER_READ_DATABASE", value_name = "URL", hide_env_values = true)]
    pub(crate) read_database: Option<DatabaseUrl>,

    /// What this process does, if several share a database; can be given several times [default: everything]
    #[arg(long, env = "EXPLORER_ROLE", value_name = "ROLE", value_delimiter = ',')]
    #[serde(deserialize_with = "roles")]
    pub(crate) role: Vec<Role>,

    /// Where the API listens [default: 127.0.0.1:3000]
    #[arg(long, env = "EXPLORER_LISTEN", value_name = "ADDR")]
    pub(crate) listen: Option<SocketAddr>,

    /// The first block to index; cannot be changed once the index exists [default: 0]
    #[arg(long, env = "EXPLORER_START_BLOCK", value_name = "N")]
    pub(crate) start_block: Option<u64>,

    /// A snapshot to begin with if the data folder is empty: the URL or path of a file that `explorer snapshot --index-only` wrote.
    /// Only its index is used, after random blocks of it were compared with the node
    #[arg(long, env = "EXPLORER_BOOTSTRAP", value_name = "URL|FILE", hide_env_values = true)]
    pub(crate) bootstrap: Option<String>,

    /// The SHA-256 that the file of --bootstrap must have
    #[arg(long, env = "EXPLORER_BOOTSTRAP_SHA256", value_name = "HEX")]
    pub(crate) bootstrap_sha256: Option<String>,

    /// A file of names for addresses, one `0xaddress,name` per line
    #[arg(long, env = "EXPLORER_LABELS", value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,

    /// Whether to use the node's traces for internal transactions and contracts created inside calls: `auto` (if the node
    /// supports traces), `off` (if tracing slows the node down) or `required` (nothing is indexed without) [default: auto]
    #[arg(long, env = "EXPLORER_TRACES", value_name = "TRACES")]
    pub(crate) traces: Option<Traces>,

    /// Seconds that the node's head must stay below the index tip, on the same branch, before the blocks above it are
    /// reverted; until then the node counts as lagging. Finalized blocks are never reverted [default: 3 on a dev chain
    /// such as anvil, else 600]
    #[arg(long, env = "EXPLORER_LOWER_HEAD_AFTER", value_name = "SECONDS")]
    pub(crate) lower_head_after: Option<u64>,

    /// Prefix of token types, as in BEP20 or ERC20 [default: BEP on BNB Smart Chain (chain ids 56 and 97), else ERC]
    #[arg(long, env = "EXPLORER_TOKEN_PREFIX", value_name = "BEP|ERC")]
    #[serde(deserialize_with = "token_prefix")]
    pub(crate) token_prefix: Option<TokenPrefix>,

    /// Name of the chain on the pages
    #[arg(long, env = "EXPLORER_CHAIN_NAME", value_name = "NAME")]
    pub(crate) chain_name: Option<String>,

    /// The path below which a proxy serves the API and the pages, such as /explorer [default: /]
    #[arg(long, env = "EXPLORER_BASE_PATH", value_name = "PATH")]
    #[serde(deserialize_with = "base_path")]
    pub(crate) base_path: Option<BasePath>,

    /// Where users find the pages, such as https://explorer.example, without the base path: for search engines and previews
    /// of links
    #[arg(long, env = "EXPLORER_PUBLIC_URL", value_name = "URL")]
    #[serde(deserialize_with = "public_url")]
    pub(crate) public_url: Option<PublicUrl>,

    /// Whether to serve /sitemap.xml, with blocks, tokens and verified contracts; needs --public-url [default: off]
    #[arg(long, env = "EXPLORER_SITEMAP", value_name = "SWITCH")]
    pub(crate) sitemap: Option<Switch>,

    /// Logo on the pages and icon of the site: an SVG, PNG or WebP file of at most 256 KB
    #[arg(long, env = "EXPLORER_LOGO", value_name = "FILE")]
    pub(crate) logo: Option<PathBuf>,

    /// Colour of links and buttons on a light background, such as '#0b6b63'
    #[arg(long, env = "EXPLORER_ACCENT_LIGHT", value_name = "COLOUR")]
    #[serde(deserialize_with = "colour")]
    pub(crate) accent_light: Option<Colour>,

    /// Colour of links and buttons on a dark background, such as '#5fd0c3'
    #[arg(long, env = "EXPLORER_ACCENT_DARK", value_name = "COLOUR")]
    #[serde(deserialize_with = "colour")]
    pub(crate) accent_dark: Option<Colour>,

    /// Links at the end of every page: only in the file, as `[[footer-link]]` with `label` and `url`
    #[arg(skip)]
    pub(crate) footer_link: Vec<FooterLink>,

    /// Symbol of the native coin [default: ETH]
    #[arg(long, env = "EXPLORER_COIN", value_name = "SYMBOL")]
    pub(crate) coin: Option<String>,
    /// Who can see and change an owner's data, such as the list of API keys [default: guarded]
    #[arg(long, env = "EXPLORER_OWNER_ACCESS", value_name = "ACCESS")]
    pub(crate) owner_access: Option<OwnerAccess>,

    /// API requests in any 60 seconds from one IP address without a key; 0: no limit [default: 10]
    #[arg(long, env = "EXPLORER_ANONYMOUS_REQUESTS_PER_MINUTE", value_name = "N")]
    pub(crate) anonymous_requests_per_minute: Option<u32>,

    /// API requests in any 60 seconds from one IP address over all keys it uses; 0: no limit [default: 600]
    #[arg(long, env = "EXPLORER_KEYED_REQUESTS_PER_MINUTE", value_name = "N")]
    pub(crate) keyed_requests_per_minute: Option<u32>,

    /// Page views per minute from one IP address, on average; 0: no limit [default: 600]
    #[arg(long, env = "EXPLORER_PAGES_PER_MINUTE", value_name = "N")]
    pub(crate) pages_per_minute: Option<u32>,

    /// Maximum open connections, at most half of the file descriptors [default: half of them]
    #[arg(long, env = "EXPLORER_MAX_CONNECTIONS", value_name = "N")]
    pub(crate) max_connections: Option<usize>,

    /// Maximum open connections from one IP address; trusted proxies may have more [default: 512]
    #[arg(long, env = "EXPLORER_MAX_CONNECTIONS_PER_IP", value_name = "N")]
    pub(crate) max_connections_per_ip: Option<usize>,

    /// A proxy or network of proxies whose X-Forwarded-For is trusted; can be given several times
    #[arg(long, env = "EXPLORER_TRUSTED_PROXY", value_name = "CIDR", value_delimiter = ',', value_parser = network)]
    #[serde(deserialize_with = "networks")]
    pub(crate) trusted_proxy: Vec<IpNet>,

    /// Where compilers for verifying contracts are stored [default: compilers in the data folder]
    #[arg(long, env = "EXPLORER_COMPILERS", value_name = "DIR")]
    pub(crate) compilers: Option<PathBuf>,

    /// Where missing compilers come from: `npm` (its registry, through npm), `offline` (nowhere), a local folder, or the
    /// URL of a folder with a list.json of builds [default: npm]
    #[arg(long, env = "EXPLORER_COMPILER_SOURCE", value_name = "SOURCE")]
    pub(crate) compiler_source: Option<String>,

    /// Megabytes of disk for downloaded compilers; the least recently used are deleted [default: 2048]
    #[arg(long, env = "EXPLORER_COMPILERS_SIZE", value_name = "MB")]
    pub(crate) compilers_size: Option<u64>,

    /// Whether to fetch the metadata and images of NFTs, when someone asks for them, from the hosts that their contracts
    /// name. The options of webhooks for hosts, ports, certificates and DNS apply [default: off]
    #[arg(long, env = "EXPLORER_NFT_METADATA", value_name = "SWITCH")]
    pub(crate) nft_metadata: Option<Switch>,

    /// Whether to list the accounts with the largest native balances. Their balances are read from the node: all addresses of
    /// the index after each start, 1,535 with each call, then one call every few seconds while there are new blocks
    /// [default: off]
    #[arg(long, env = "EXPLORER_TOP_ACCOUNTS", value_name = "SWITCH")]
    pub(crate) top_accounts: Option<Switch>,

    /// Where `ipfs://` URIs of NFTs are read, such as https://ipfs.example [default: they are not]
    #[arg(long, env = "EXPLORER_IPFS_GATEWAY", value_name = "URL")]
    #[serde(deserialize_with = "ipfs_gateway")]
    pub(crate) ipfs_gateway: Option<IpfsGateway>,

    /// Allow webhooks to http:// URLs and to loopback addresses, for testing [default: false]
    #[arg(
        long,
        env = "EXPLORER_WEBHOOK_ALLOW_INSECURE",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    pub(crate) webhook_allow_insecure: Option<bool>,

    /// A PEM file of certificate authorities that webhooks trust in addition to the public ones
    #[arg(long, env = "EXPLORER_WEBHOOK_CA_FILE", value_name = "FILE")]
    pub(crate) webhook_ca_file: Option<PathBuf>,

    /// DNS server for the hosts of webhooks [default: those of the system]
    #[arg(long, env = "EXPLORER_WEBHOOK_DNS", value_name = "ADDR")]
    pub(crate) webhook_dns: Option<SocketAddr>,

    /// The ports that webhooks may use [default: 80 and 443; any with --webhook-allow-insecure]
    #[arg(long, env = "EXPLORER_WEBHOOK_PORTS", value_name = "PORT", value_delimiter = ',')]
    pub(crate) webhook_ports: Vec<u16>,

    /// Maximum webhooks of all owners together [default: 10000]
    #[arg(long, env = "EXPLORER_WEBHOOK_LIMIT", value_name = "N")]
    pub(crate) webhook_limit: Option<usize>,

    /// Maximum webhooks that watch the same address [default: 1000]
    #[arg(long, env = "EXPLORER_WEBHOOK_LIMIT_PER_ADDRESS", value_name = "N")]
    pub(crate) webhook_limit_per_address: Option<usize>,

    /// Maximum pending messages of one webhook; the oldest are dropped beyond that [default: 50000]
    #[arg(long, env = "EXPLORER_WEBHOOK_PENDING", value_name = "N")]
    pub(crate) webhook_pending: Option<u64>,

    /// Maximum pending messages of one owner's webhooks; the oldest are dropped beyond that [default: 100000]
    #[arg(long, env = "EXPLORER_WEBHOOK_PENDING_PER_OWNER", value_name = "N")]
    pub(crate) webhook_pending_per_owner: Option<u64>,

    /// Maximum pending messages of all webhooks; the oldest of the longest queue are dropped beyond that
    /// [default: 500000]
    #[arg(long, env = "EXPLORER_WEBHOOK_PENDING_TOTAL", value_name = "N")]
    pub(crate) webhook_pending_total: Option<u64>,

    /// The key that encrypts webhook secrets at rest, 64 hexadecimal digits [default: a file in the data folder]
    #[arg(long, env = "EXPLORER_WEBHOOK_ENCRYPTION_KEY", value_name = "KEY", hide_env_values = true)]
    #[serde(deserialize_with = "encryption_key")]
    pub(crate) webhook_encryption_key: Option<EncryptionKey>,

    /// Maximum requests in flight to the node [default: 128]
    #[arg(long, env = "EXPLORER_RPC_CONCURRENCY", value_name = "N")]
    pub(crate) rpc_concurrency: Option<usize>,

    /// Maximum calls per second to each node, evenly spaced; 0 is no limit [default: 0]
    #[arg(long, env = "EXPLORER_RPC_CALLS_PER_SECOND", value_name = "N")]
    pub(crate) rpc_calls_per_second: Option<u32>,

    /// Milliseconds between polls for a new block, if the node does not push them [default: when the next block is due]
    #[arg(long, env = "EXPLORER_POLL_INTERVAL", value_name = "MS")]
    pub(crate) poll_interval: Option<u64>,

    /// Seconds to wait for a response of the node [default: 20]
    #[arg(long, env = "EXPLORER_RPC_TIMEOUT", value_name = "SECONDS")]
    pub(crate) rpc_timeout: Option<u64>,

    /// How the node's blocks are verified before they are indexed: `cheap` (transaction and receipt roots only near the
    /// head and of a sample below), `full` (of all blocks) or `off`. Nodes after the first are verified fully
    /// [default: cheap]
    #[arg(long, env = "EXPLORER_VERIFY_BLOCKS", value_name = "CHECKS")]
    pub(crate) verify_blocks: Option<BlockChecks>,

    /// Megabytes of memory for caches, buffers and idle compilers [default: 1024]
    #[arg(long, env = "EXPLORER_MEMORY", value_name = "MB")]
    pub(crate) memory: Option<u64>,

    /// Megabytes of that memory for the response cache [default: a part of it]
    #[arg(long, env = "EXPLORER_RESPONSE_CACHE", value_name = "MB")]
    pub(crate) response_cache: Option<u64>,

    /// Where the admin interface listens, which serves metrics: the path of a unix socket [default: admin.sock in the data
    /// folder; with --database, none]
    #[arg(long, env = "EXPLORER_ADMIN_SOCKET", value_name = "PATH")]
    pub(crate) admin_socket: Option<PathBuf>,

    /// Serve the admin interface on this address, too. Clients send a token: that of --admin-token-file or, on a loopback
    /// address, the one in admin.token of the data folder, which is created
    #[arg(long, env = "EXPLORER_ADMIN_LISTEN", value_name = "ADDR")]
    pub(crate) admin_listen: Option<SocketAddr>,

    /// A file with the token for --admin-listen, at least 16 characters
    #[arg(long, env = "EXPLORER_ADMIN_TOKEN_FILE", value_name = "FILE")]
    pub(crate) admin_token_file: Option<PathBuf>,

    /// What to log, such as `info` or `ingest=debug,warn` [default: info]
    #[arg(long, env = "EXPLORER_LOG", value_name = "FILTER")]
    pub(crate) log: Option<String>,

    /// Log format [default: text]
    #[arg(long, env = "EXPLORER_LOG_FORMAT", value_name = "FORMAT")]
    pub(crate) log_format: Option<LogFormat>,

    /// Names of exchanges by factory address: only in the file, as `[[dex]]` with `name` and `factory`
    #[arg(skip)]
    pub(crate) dex: Vec<DexEntry>,

    /// A TOML file with any of these options, without the leading dashes [default: explorer/config.toml in your
    /// configuration folder, if it exists]
    #[arg(long, env = "EXPLORER_CONFIG", value_name = "FILE")]
    #[serde(skip)]
    pub(crate) config: Option<PathBuf>,
}

impl RunOptions {
    /// Fills missing options from `other`.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            rpc: if self.rpc.is_empty() { other.rpc } else { self.rpc },
            data: self.data.or(other.data),
            database: self.database.or(other.database),
            read_database: self.read_database.or(other.read_database),
            role: if self.role.is_empty() { other.role } else { self.role },
            listen: self.listen.or(other.listen),
            start_block: self.start_block.or(other.start_block),
            bootstrap: self.bootstrap.or(other.bootstrap),
            bootstrap_sha256: self.bootstrap_sha256.or(other.bootstrap_sha256),
            labels: self.labels.or(other.labels),
            traces: self.traces.or(other.traces),
            lower_head_after: self.lower_head_after.or(other.lower_head_after),
            token_prefix: self.token_prefix.or(other.token_prefix),
            chain_name: self.chain_name.or(other.chain_name),
            base_path: self.base_path.or(other.base_path),
            public_url: self.public_url.or(other.public_url),
            sitemap: self.sitemap.or(other.sitemap),
            logo: self.logo.or(other.logo),
            accent_light: self.accent_light.or(other.accent_light),
            accent_dark: self.accent_dark.or(other.accent_dark),
            footer_link: if self.footer_link.is_empty() { other.footer_link } else { self.footer_link },
            coin: self.coin.or(other.coin),
            dex: if self.dex.is_empty() { other.dex } else { self.dex },
            owner_access: self.owner_access.or(other.owner_access),
            anonymous_requests_per_minute: self.anonymous_requests_per_minute.or(other.anonymous_requests_per_minute),
            keyed_requests_per_minute: self.keyed_requests_per_minute.or(other.keyed_requests_per_minute),
            pages_per_minute: self.pages_per_minute.or(other.pages_per_minute),
            max_connections: self.max_connections.or(other.max_connections),
            max_connections_per_ip: self.max_connections_per_ip.or(other.max_connections_per_ip),
            trusted_proxy: if self.trusted_proxy.is_empty() { other.trusted_proxy } else { self.trusted_proxy },
            compilers: self.compilers.or(other.compilers),
            compiler_source: self.compiler_source.or(other.compiler_source),
            compilers_size: self.compilers_size.or(other.compilers_size),
            nft_metadata: self.nft_metadata.or(other.nft_metadata),
            top_accounts: self.top_accounts.or(other.top_accounts),
            ipfs_gateway: self.ipfs_gateway.or(other.ipfs_gateway),
            webhook_allow_insecure: self.webhook_allow_insecure.or(other.webhook_allow_insecure),
            webhook_ca_file: self.webhook_ca_file.or(other.webhook_ca_file),
            webhook_dns: self.webhook_dns.or(other.webhook_dns),
            webhook_ports: if self.webhook_ports.is_empty() { other.webhook_ports } else { self.webhook_ports },
            webhook_limit: self.webhook_limit.or(other.webhook_limit),
            webhook_limit_per_address: self.webhook_limit_per_address.or(other.webhook_limit_per_address),
            webhook_pending: self.webhook_pending.or(other.webhook_pending),
            webhook_pending_per_owner: self.webhook_pending_per_owner.or(other.webhook_pending_per_owner),
            webhook_pending_total: self.webhook_pending_total.or(other.webhook_pending_total),
            webhook_encryption_key: self.webhook_encryption_key.or(other.webhook_encryption_key),
            rpc_concurrency: self.rpc_concurrency.or(other.rpc_concurrency),
            rpc_calls_per_second: self.rpc_calls_per_second.or(other.rpc_calls_per_second),
            poll_interval: self.poll_interval.or(other.poll_interval),
            rpc_timeout: self.rpc_timeout.or(other.rpc_timeout),
            verify_blocks: self.verify_blocks.or(other.verify_blocks),
            memory: self.memory.or(other.memory),
            response_cache: self.response_cache.or(other.response_cache),
            admin_socket: self.admin_socket.or(other.admin_socket),
            admin_listen: self.admin_listen.or(other.admin_listen),
            admin_token_file: self.admin_token_file.or(other.admin_token_file),
            log: self.log.or(other.log),
            log_format: self.log_format.or(other.log_format),
            config: self.config.or(other.config),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::cli::{Cli, Command};

    #[test]
    fn the_command_line_overrides_the_file() {
        let file: RunOptions = toml::from_str("rpc = 'http://file:1'\nlisten = '127.0.0.1:1'\nmemory = 500").unwrap();
        let cli = Cli::try_parse_from(["explorer", "run", "--rpc", "http://line:2,ws://line:3", "--memory", "900"]);
        let Command::Run(line) = cli.unwrap().command else { panic!("not run") };
        let both = line.or(file);
        assert_eq!(both.rpc, ["http://line:2".parse().unwrap(), "ws://line:3".parse().unwrap()]);
        assert_eq!(both.memory, Some(900));
        assert_eq!(both.listen, Some("127.0.0.1:1".parse().unwrap()));
    }

    #[test]
    fn every_run_option_can_be_set_in_the_environment_and_in_the_file() {
        let command = Cli::command();
        let run = command.find_subcommand("run").unwrap();
        let options: Vec<_> = run.get_arguments().filter(|argument| argument.get_id() != "config").collect();
        assert!(options.len() >= 10);
        for option in options {
            assert!(option.get_env().is_some(), "{} has no environment variable", option.get_id());
            let name = option.get_long().unwrap();
            let unknown = toml::from_str::<RunOptions>(&format!("{name} = {{}}")).unwrap_err().to_string();
            assert!(!unknown.contains("unknown field"), "{name} cannot be set in the file");
        }
    }

    #[test]
    fn token_prefix_and_exchange_names_are_configurable() {
        let text =
            "token-prefix = 'ERC'\n[[dex]]\nname = 'House'\nfactory = '0x12'\n[[dex]]\nname = 'B'\nfactory = '0x'";
        let file: RunOptions = toml::from_str(text).unwrap();
        assert_eq!(file.token_prefix, Some(TokenPrefix::Erc));
        assert_eq!(file.dex.iter().map(|dex| dex.name.as_str()).collect::<Vec<_>>(), ["House", "B"]);

        let cli = Cli::try_parse_from(["explorer", "run", "--token-prefix", "BEP"]);
        let Command::Run(line) = cli.unwrap().command else { panic!("not run") };
        let both = line.or(file);
        assert_eq!((both.token_prefix, both.dex.len()), (Some(TokenPrefix::Bep), 2));

        let error = Cli::try_parse_from(["explorer", "run", "--token-prefix", "TRC"]).unwrap_err().to_string();
        assert!(error.contains("expected BEP or ERC"), "{error}");
        let error = toml::from_str::<RunOptions>("[[dex]]\nname = 'House'\nfactry = '0x12'").unwrap_err().to_string();
        assert!(error.contains("factry") && error.contains("factory"), "{error}");
    }

    #[test]
    fn trusted_proxies_are_networks_or_single_addresses() {
        let file: RunOptions = toml::from_str("trusted-proxy = ['10.0.0.0/8', '::1']").unwrap();
        assert_eq!(file.trusted_proxy, ["10.0.0.0/8".parse().unwrap(), "::1/128".parse::<IpNet>().unwrap()]);
        let line = ["explorer", "run", "--trusted-proxy", "192.0.2.1", "--trusted-proxy", "10.0.0.0/8,fd00::/8"];
        let Command::Run(line) = Cli::try_parse_from(line).unwrap().command else { panic!("not run") };
        assert_eq!(line.trusted_proxy.len(), 3);
        assert!(Cli::try_parse_from(["explorer", "run", "--trusted-proxy", "10.0.0.0/99"]).is_err());
    }

    #[test]
    fn a_misspelt_option_in_the_file_is_refused() {
        let error = toml::from_str::<RunOptions>("lisen = '127.0.0.1:1'").unwrap_err().to_string();
        assert!(error.contains("lisen") && error.contains("listen"), "{error}");
    }
}
