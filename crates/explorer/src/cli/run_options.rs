//! Options of `explorer run`.

use std::{net::SocketAddr, path::PathBuf};

use clap::Args;
use domain::TokenPrefix;
use enrichment::DexEntry;
use ipnet::IpNet;
use node::{BlockChecks, Endpoint};
use serde::Deserialize;
use web::{Colour, FooterLink, PublicUrl};
use webhooks::EncryptionKey;

use super::values::{
    DatabaseUrl, NftSource, OnNewChain, OwnerAccess, Role, Switch, Traces, endpoints, network, networks, parsed, roles,
};
use crate::logging::LogFormat;

/// Options of `run` from one source: the command line and environment, or the file. `-h` shows those that most operators need.
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
    #[arg(long, env = "EXPLORER_READ_DATABASE", value_name = "URL", hide_env_values = true, hide_short_help = true)]
    pub(crate) read_database: Option<DatabaseUrl>,

    /// What this process does, if several share a database; can be given several times [default: everything]
    #[arg(long, env = "EXPLORER_ROLE", value_name = "ROLE", value_delimiter = ',', hide_short_help = true)]
    #[serde(deserialize_with = "roles")]
    pub(crate) role: Vec<Role>,

    /// Where the API listens [default: 127.0.0.1:3000]
    #[arg(long, env = "EXPLORER_LISTEN", value_name = "ADDR")]
    pub(crate) listen: Option<SocketAddr>,

    /// The first block to index; cannot be changed once the index exists [default: 0]
    #[arg(long, env = "EXPLORER_START_BLOCK", value_name = "N")]
    pub(crate) start_block: Option<u64>,

    /// What to do if the node serves another chain than the indexed one: `reset` drops the index and begins with the new chain
    /// (keys, webhooks and verified sources stay), `halt` waits for the chain to come back [default: reset on a chain for
    /// development, such as anvil's, else halt]
    #[arg(long, env = "EXPLORER_ON_NEW_CHAIN", value_name = "reset|halt", hide_short_help = true)]
    pub(crate) on_new_chain: Option<OnNewChain>,

    /// A snapshot to begin with if the data folder is empty: the URL or path of a file that `explorer snapshot --index-only` wrote
    ///
    /// With `#sha256=HEX` at the end, it must have this digest. Only its index is used, after random blocks of it were compared with
    /// the node.
    #[arg(long, env = "EXPLORER_BOOTSTRAP", value_name = "URL|FILE", hide_env_values = true)]
    pub(crate) bootstrap: Option<String>,

    /// A file of names for addresses, one `0xaddress,name` per line
    #[arg(long, env = "EXPLORER_LABELS", value_name = "FILE")]
    pub(crate) labels: Option<PathBuf>,

    /// Whether to use the node's traces for internal transactions and contracts created inside calls: `auto` (if the node
    /// supports traces), `off` (if tracing slows the node down) or `required` (nothing is indexed without) [default: auto]
    #[arg(long, env = "EXPLORER_TRACES", value_name = "TRACES", hide_short_help = true)]
    pub(crate) traces: Option<Traces>,

    /// Prefix of token types, as in BEP20 or ERC20 [default: BEP; on pages ERC, except on BNB Smart Chain (chain ids 56 and 97)]
    #[arg(long, env = "EXPLORER_TOKEN_PREFIX", value_name = "BEP|ERC", hide_short_help = true)]
    #[serde(deserialize_with = "parsed")]
    pub(crate) token_prefix: Option<TokenPrefix>,

    /// Where users find the pages, such as https://explorer.example or, below a path, https://example.org/explorer
    ///
    /// For canonical URLs, previews of links and a sitemap. With a path, the API and the pages are served below it, with or without a
    /// proxy that removes it.
    #[arg(long, env = "EXPLORER_PUBLIC_URL", value_name = "URL")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) public_url: Option<PublicUrl>,

    /// Who can see and change an owner's data, such as the list of API keys [default: auto]
    #[arg(long, env = "EXPLORER_OWNER_ACCESS", value_name = "ACCESS", hide_short_help = true)]
    pub(crate) owner_access: Option<OwnerAccess>,

    /// API requests in any 60 seconds from one IP address without a key; 0: no limit [default: 10]
    #[arg(long, env = "EXPLORER_ANONYMOUS_REQUESTS_PER_MINUTE", value_name = "N")]
    pub(crate) anonymous_requests_per_minute: Option<u32>,

    /// API requests in any 60 seconds from one IP address over all keys it uses; 0: no limit [default: 600]
    #[arg(long, env = "EXPLORER_KEYED_REQUESTS_PER_MINUTE", value_name = "N", hide_short_help = true)]
    pub(crate) keyed_requests_per_minute: Option<u32>,

    /// Page views per minute from one IP address, on average; 0: no limit [default: 600]
    #[arg(long, env = "EXPLORER_PAGES_PER_MINUTE", value_name = "N", hide_short_help = true)]
    pub(crate) pages_per_minute: Option<u32>,

    /// Maximum open connections, at most half of the file descriptors [default: half of them]
    #[arg(long, env = "EXPLORER_MAX_CONNECTIONS", value_name = "N", hide_short_help = true)]
    pub(crate) max_connections: Option<usize>,

    /// Maximum open connections from one IP address; trusted proxies may have more [default: 512]
    #[arg(long, env = "EXPLORER_MAX_CONNECTIONS_PER_IP", value_name = "N", hide_short_help = true)]
    pub(crate) max_connections_per_ip: Option<usize>,

    /// A proxy or network of proxies whose X-Forwarded-For is trusted; can be given several times
    #[arg(long, env = "EXPLORER_TRUSTED_PROXY", value_name = "CIDR", value_delimiter = ',', value_parser = network)]
    #[serde(deserialize_with = "networks")]
    pub(crate) trusted_proxy: Vec<IpNet>,

    /// Where compilers come from that are not yet in `compilers` of the data folder: `npm` (its registry, through npm),
    /// `offline` (nowhere), a local folder, or the URL of a folder with a list.json of builds [default: npm]
    #[arg(long, env = "EXPLORER_COMPILER_SOURCE", value_name = "SOURCE", hide_short_help = true)]
    pub(crate) compiler_source: Option<String>,

    /// Whether to fetch the metadata and images of NFTs: `on`, `off` or, for `ipfs://` URIs, too, the URL of an IPFS gateway
    /// [default: off]
    ///
    /// They are fetched when someone asks for them, from the hosts that their contracts name or from the gateway, such as
    /// https://ipfs.example. The options of webhooks for hosts, ports, certificates and DNS apply.
    #[arg(long, env = "EXPLORER_NFT_METADATA", value_name = "off|on|URL")]
    #[serde(deserialize_with = "parsed")]
    pub(crate) nft_metadata: Option<NftSource>,

    /// Whether to list the accounts with the largest native balances. Their balances are read from the node: all addresses of
    /// the index after each start, 1,535 with each call, then one call every few seconds while there are new blocks
    /// [default: off]
    #[arg(long, env = "EXPLORER_TOP_ACCOUNTS", value_name = "SWITCH", hide_short_help = true)]
    pub(crate) top_accounts: Option<Switch>,

    /// Allow webhooks to http:// URLs and to loopback addresses, for testing [default: false]
    #[arg(
        long,
        env = "EXPLORER_WEBHOOK_ALLOW_INSECURE",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        hide_short_help = true
    )]
    pub(crate) webhook_allow_insecure: Option<bool>,

    /// A PEM file of certificates that webhooks trust in addition to the public authorities and those of the system: of other
    /// authorities, or of single receivers
    #[arg(long, env = "EXPLORER_WEBHOOK_CA_FILE", value_name = "FILE", hide_short_help = true)]
    pub(crate) webhook_ca_file: Option<PathBuf>,

    /// DNS server for the hosts of webhooks [default: those of the system]
    #[arg(long, env = "EXPLORER_WEBHOOK_DNS", value_name = "ADDR", hide_short_help = true)]
    pub(crate) webhook_dns: Option<SocketAddr>,

    /// The ports that webhooks may use [default: 80 and 443; any with --webhook-allow-insecure]
    #[arg(long, env = "EXPLORER_WEBHOOK_PORTS", value_name = "PORT", value_delimiter = ',', hide_short_help = true)]
    pub(crate) webhook_ports: Vec<u16>,

    /// Maximum webhooks of all owners together; a tenth of them may watch the same address [default: 10000]
    #[arg(long, env = "EXPLORER_WEBHOOK_LIMIT", value_name = "N", hide_short_help = true)]
    pub(crate) webhook_limit: Option<usize>,

    /// Maximum pending messages of all webhooks, of which one owner may have a fifth and one webhook a tenth; the oldest are
    /// dropped beyond that [default: 500000]
    #[arg(long, env = "EXPLORER_WEBHOOK_PENDING", value_name = "N", hide_short_help = true)]
    pub(crate) webhook_pending: Option<u64>,

    /// The key that encrypts webhook secrets at rest, 64 hexadecimal digits [default: a file in the data folder]
    #[arg(
        long,
        env = "EXPLORER_WEBHOOK_ENCRYPTION_KEY",
        value_name = "KEY",
        hide_env_values = true,
        hide_short_help = true
    )]
    #[serde(deserialize_with = "parsed")]
    pub(crate) webhook_encryption_key: Option<EncryptionKey>,

    /// Maximum calls per second to each node, evenly spaced; 0 is no limit [default: 0]
    #[arg(long, env = "EXPLORER_RPC_CALLS_PER_SECOND", value_name = "N", hide_short_help = true)]
    pub(crate) rpc_calls_per_second: Option<u32>,

    /// Seconds to wait for a response of the node [default: 20]
    #[arg(long, env = "EXPLORER_RPC_TIMEOUT", value_name = "SECONDS", hide_short_help = true)]
    pub(crate) rpc_timeout: Option<u64>,

    /// How the node's blocks are verified before they are indexed: `cheap` (transaction and receipt roots only near the
    /// head and of a sample below), `full` (of all blocks) or `off`. Nodes after the first are verified fully
    /// [default: cheap]
    #[arg(long, env = "EXPLORER_VERIFY_BLOCKS", value_name = "CHECKS", hide_short_help = true)]
    pub(crate) verify_blocks: Option<BlockChecks>,

    /// Megabytes of memory for caches, buffers and idle compilers [default: 1024]
    #[arg(long, env = "EXPLORER_MEMORY", value_name = "MB")]
    pub(crate) memory: Option<u64>,

    /// Where the admin interface listens, which serves metrics: the path of a unix socket [default: admin.sock in the data
    /// folder; with --database, none]
    #[arg(long, env = "EXPLORER_ADMIN_SOCKET", value_name = "PATH", hide_short_help = true)]
    pub(crate) admin_socket: Option<PathBuf>,

    /// Serve the admin interface on this address, too. Clients send a token: that of --admin-token-file or, on a loopback
    /// address, the one in admin.token of the data folder, which is created
    #[arg(long, env = "EXPLORER_ADMIN_LISTEN", value_name = "ADDR", hide_short_help = true)]
    pub(crate) admin_listen: Option<SocketAddr>,

    /// A file with the token for --admin-listen, at least 16 characters
    #[arg(long, env = "EXPLORER_ADMIN_TOKEN_FILE", value_name = "FILE", hide_short_help = true)]
    pub(crate) admin_token_file: Option<PathBuf>,

    /// What to log, such as `info` or `ingest=debug,warn` [default: info]
    #[arg(long, env = "EXPLORER_LOG", value_name = "FILTER")]
    pub(crate) log: Option<String>,

    /// Log format [default: text]
    #[arg(long, env = "EXPLORER_LOG_FORMAT", value_name = "FORMAT", hide_short_help = true)]
    pub(crate) log_format: Option<LogFormat>,

    /// Names of exchanges by factory address: only in the file, as `[[dex]]` with `name` and `factory`
    #[arg(skip)]
    pub(crate) dex: Vec<DexEntry>,

    /// Names, logo, colours and links of the pages: only in the file.
    #[arg(skip)]
    pub(crate) looks: Looks,

    /// Megabytes of the memory for the response cache: only in the file, for measurements.
    #[arg(skip)]
    pub(crate) response_cache: Option<u64>,

    /// A TOML file with any of these options and the look of the pages [default: explorer/config.toml in your configuration folder,
    /// if it exists]
    ///
    /// Options have no leading dashes there. The name of the chain, its coin, a logo, colours and links of the pages are in [looks],
    /// names of exchanges in [[dex]].
    #[arg(long, env = "EXPLORER_CONFIG", value_name = "FILE")]
    #[serde(skip)]
    pub(crate) config: Option<PathBuf>,
}

/// The table `[looks]` of the file: names, logo, colours and links of the pages.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Looks {
    pub(crate) chain_name: Option<String>,
    /// The symbol of the native coin.
    pub(crate) coin: Option<String>,
    /// An SVG, PNG or WebP file of at most 256 KB, also the icon of the site.
    pub(crate) logo: Option<PathBuf>,
    /// Links and buttons on a light background.
    #[serde(deserialize_with = "parsed")]
    pub(crate) accent_light: Option<Colour>,
    /// And on a dark one.
    #[serde(deserialize_with = "parsed")]
    pub(crate) accent_dark: Option<Colour>,
    /// At the end of every page.
    pub(crate) footer_link: Vec<FooterLink>,
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
            on_new_chain: self.on_new_chain.or(other.on_new_chain),
            bootstrap: self.bootstrap.or(other.bootstrap),
            labels: self.labels.or(other.labels),
            traces: self.traces.or(other.traces),
            token_prefix: self.token_prefix.or(other.token_prefix),
            public_url: self.public_url.or(other.public_url),
            owner_access: self.owner_access.or(other.owner_access),
            anonymous_requests_per_minute: self.anonymous_requests_per_minute.or(other.anonymous_requests_per_minute),
            keyed_requests_per_minute: self.keyed_requests_per_minute.or(other.keyed_requests_per_minute),
            pages_per_minute: self.pages_per_minute.or(other.pages_per_minute),
            max_connections: self.max_connections.or(other.max_connections),
            max_connections_per_ip: self.max_connections_per_ip.or(other.max_connections_per_ip),
            trusted_proxy: if self.trusted_proxy.is_empty() { other.trusted_proxy } else { self.trusted_proxy },
            compiler_source: self.compiler_source.or(other.compiler_source),
            nft_metadata: self.nft_metadata.or(other.nft_metadata),
            top_accounts: self.top_accounts.or(other.top_accounts),
            webhook_allow_insecure: self.webhook_allow_insecure.or(other.webhook_allow_insecure),
            webhook_ca_file: self.webhook_ca_file.or(other.webhook_ca_file),
            webhook_dns: self.webhook_dns.or(other.webhook_dns),
            webhook_ports: if self.webhook_ports.is_empty() { other.webhook_ports } else { self.webhook_ports },
            webhook_limit: self.webhook_limit.or(other.webhook_limit),
            webhook_pending: self.webhook_pending.or(other.webhook_pending),
            webhook_encryption_key: self.webhook_encryption_key.or(other.webhook_encryption_key),
            rpc_calls_per_second: self.rpc_calls_per_second.or(other.rpc_calls_per_second),
            rpc_timeout: self.rpc_timeout.or(other.rpc_timeout),
            verify_blocks: self.verify_blocks.or(other.verify_blocks),
            memory: self.memory.or(other.memory),
            admin_socket: self.admin_socket.or(other.admin_socket),
            admin_listen: self.admin_listen.or(other.admin_listen),
            admin_token_file: self.admin_token_file.or(other.admin_token_file),
            log: self.log.or(other.log),
            log_format: self.log_format.or(other.log_format),
            // Only in the file.
            dex: other.dex,
            looks: other.looks,
            response_cache: other.response_cache,
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
        assert!((10..=40).contains(&options.len()), "{} options", options.len());
        for option in options {
            assert!(option.get_env().is_some(), "{} has no environment variable", option.get_id());
            let name = option.get_long().unwrap();
            let unknown = toml::from_str::<RunOptions>(&format!("{name} = {{}}")).unwrap_err().to_string();
            assert!(!unknown.contains("unknown field"), "{name} cannot be set in the file");
        }
    }

    #[test]
    fn the_short_help_has_the_options_that_most_operators_need() {
        let command = Cli::command();
        let run = command.find_subcommand("run").unwrap();
        let shown: Vec<_> = run.get_arguments().filter(|argument| !argument.is_hide_short_help_set()).collect();
        assert!((10..=15).contains(&shown.len()), "{} options", shown.len());
    }

    #[test]
    fn metadata_of_nfts_is_off_on_or_read_through_a_gateway() {
        let value = |text: &str| {
            let line = Cli::try_parse_from(["explorer", "run", "--nft-metadata", text])?;
            let Command::Run(line) = line.command else { panic!("not run") };
            let file: RunOptions = toml::from_str(&format!("nft-metadata = '{text}'")).unwrap();
            assert_eq!(file.nft_metadata, line.nft_metadata);
            Ok::<_, clap::Error>(line.nft_metadata.unwrap())
        };
        assert_eq!((value("off").unwrap(), value("on").unwrap()), (NftSource::Off, NftSource::Hosts));
        let gateway = "https://ipfs.example".parse().unwrap();
        assert_eq!(value("https://ipfs.example").unwrap(), NftSource::Gateway(gateway));
        let error = value("yes").unwrap_err().to_string();
        assert!(error.contains("`on`, `off` or the URL of an IPFS gateway"), "{error}");
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
