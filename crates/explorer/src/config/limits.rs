//! What clients may do: who sees an owner's data, which web pages read the API, and how many requests and connections there may be.

use std::num::NonZeroU32;

use admission::LimitConfig;
use api::{AllowedOrigins, ConnectionLimits, OwnerAccess};
use clap::ValueEnum;
use client_address::TrustedProxies;
use ipnet::IpNet;
use serde::{Deserialize, Deserializer, de::Error as _};

use super::{options::options, values};
use crate::process::open_files;

const DEFAULT_PAGES_PER_MINUTE: u32 = 600;

options! {
    /// What clients may do.
    pub(crate) struct LimitOptions {
        /// Who can see and change an owner's data, such as the list of API keys [default: auto]
        #[arg(long, env = "EXPLORER_OWNER_ACCESS", value_name = "ACCESS", hide_short_help = true)]
        pub(crate) owner_access: Option<AccessChoice>,

        /// Which websites' pages may read the API in a browser: `any`, `off` (none), or origins, separated by commas [default: any]
        ///
        /// On a private network, `off` or a list keeps pages of the internet, in the browsers of its users, from reading it.
        #[arg(long, env = "EXPLORER_CORS", value_name = "off|any|ORIGIN", hide_short_help = true)]
        #[file(allowed_origins)]
        pub(crate) cors: Option<AllowedOrigins>,

        /// API requests in any 60 seconds from one IP address without a key; 0: no limit [default: 10]
        #[arg(long, env = "EXPLORER_ANONYMOUS_REQUESTS_PER_MINUTE", value_name = "N")]
        pub(crate) anonymous_requests_per_minute: Option<u32>,

        /// API requests in any 60 seconds from one IP address over all keys it uses; 0: no limit [default: 0]
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
        #[file(networks)]
        pub(crate) trusted_proxy: Vec<IpNet>,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AccessChoice {
    /// As `guarded`, but programs on this machine need no key on a dev chain
    Auto,
    /// Requests with an API key of that owner
    Guarded,
    /// Everyone: for private networks
    Open,
}

/// What clients may do.
#[derive(Debug)]
pub(crate) struct LimitsConfig {
    pub(crate) access: OwnerAccess,
    /// Of pages that may read the API in a browser.
    pub(crate) origins: AllowedOrigins,
    pub(crate) requests: LimitConfig,
    /// Per client; None: no limit.
    pub(crate) pages_per_minute: Option<NonZeroU32>,
    pub(crate) proxies: TrustedProxies,
    pub(crate) connections: ConnectionLimits,
}

impl LimitOptions {
    /// Behind a public URL, there may be a proxy that the operator did not name.
    pub(crate) fn config(self, has_public_url: bool) -> LimitsConfig {
        let is_behind_proxy = !self.trusted_proxy.is_empty() || has_public_url;
        let proxies = TrustedProxies::new(self.trusted_proxy);
        LimitsConfig {
            access: access(self.owner_access, is_behind_proxy),
            origins: self.cors.unwrap_or_default(),
            requests: requests(self.anonymous_requests_per_minute, self.keyed_requests_per_minute),
            pages_per_minute: NonZeroU32::new(self.pages_per_minute.unwrap_or(DEFAULT_PAGES_PER_MINUTE)),
            connections: connections(self.max_connections, self.max_connections_per_ip, &proxies),
            proxies,
        }
    }
}

/// A proxy on this machine may send the requests of others without X-Forwarded-For, so no request counts as local.
fn access(given: Option<AccessChoice>, is_behind_proxy: bool) -> OwnerAccess {
    match given {
        Some(AccessChoice::Open) => OwnerAccess::Open,
        Some(AccessChoice::Auto) | None if !is_behind_proxy => OwnerAccess::Auto,
        Some(AccessChoice::Guarded | AccessChoice::Auto) | None => OwnerAccess::Guarded,
    }
}

/// A missing value means the default; 0 means no limit.
fn requests(anonymous: Option<u32>, keyed: Option<u32>) -> LimitConfig {
    let mut limits = LimitConfig::default();
    if let Some(requests) = anonymous {
        limits.anonymous = NonZeroU32::new(requests);
    }
    if let Some(requests) = keyed {
        limits.keyed_client = NonZeroU32::new(requests);
    }
    limits
}

/// The operator's connection limits, capped by the available file descriptors.
fn connections(total: Option<usize>, per_client: Option<usize>, proxies: &TrustedProxies) -> ConnectionLimits {
    let defaults = ConnectionLimits::default();
    ConnectionLimits {
        total: total.unwrap_or(usize::MAX).min(open_files::for_connections()),
        per_client: per_client.unwrap_or(defaults.per_client),
        proxies: proxies.clone(),
    }
}

fn allowed_origins<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<AllowedOrigins>, D::Error> {
    let texts: Vec<String> = values::list(deserializer)?;
    texts.join(",").parse().map(Some).map_err(D::Error::custom)
}

fn networks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<IpNet>, D::Error> {
    values::list_with(deserializer, network)
}

/// Parses a network such as `10.0.0.0/8`, or a single address.
fn network(text: &str) -> Result<IpNet, String> {
    let address = || text.parse::<std::net::IpAddr>().map(IpNet::from);
    text.parse()
        .or_else(|_| address())
        .map_err(|_| format!("`{text}` is not an IP address or a network such as 10.0.0.0/8"))
}
