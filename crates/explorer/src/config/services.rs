//! What is offered beside the index: verification of contracts, metadata of NFTs, the top accounts.

use std::{path::Path, str::FromStr};

use anyhow::bail;

use clap::ValueEnum;
use enrichment::IpfsGateway;
use serde::Deserialize;
use verification::{CompilerConfig, CompilerSource, VerifierConfig};

use super::{memory::MemoryBudget, options::options, values::parsed};

options! {
    /// What is offered beside the index.
    pub(crate) struct ServiceOptions {
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
        #[file(parsed)]
        pub(crate) nft_metadata: Option<NftChoice>,

        /// Whether to list the accounts with the largest native balances. Their balances are read from the node: all addresses of
        /// the index after each start, 1,535 with each call, then one call every few seconds while there are new blocks
        /// [default: off]
        #[arg(long, env = "EXPLORER_TOP_ACCOUNTS", value_name = "SWITCH", hide_short_help = true)]
        pub(crate) top_accounts: Option<Switch>,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Switch {
    On,
    Off,
}

/// Where the metadata of NFTs is fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NftChoice {
    Off,
    /// From the hosts that contracts name.
    Hosts,
    /// And from this gateway, if they name IPFS.
    Gateway(IpfsGateway),
}

impl FromStr for NftChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "off" => Ok(Self::Off),
            "on" => Ok(Self::Hosts),
            url => url.parse().map(Self::Gateway).map_err(|_| {
                "expected `on`, `off` or the URL of an IPFS gateway without a query, such as https://ipfs.example"
                    .to_owned()
            }),
        }
    }
}

/// What is offered beside the index.
#[derive(Debug)]
pub(crate) struct ServicesConfig {
    pub(crate) verifier: VerifierConfig,
    pub(crate) nft_metadata: NftMetadata,
    pub(crate) ipfs_gateway: Option<IpfsGateway>,
    /// Whether the accounts with the largest balances are listed.
    pub(crate) top_accounts: bool,
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

impl ServiceOptions {
    pub(super) fn config(self, data: &Path, memory: MemoryBudget) -> anyhow::Result<ServicesConfig> {
        let source = compiler_source(self.compiler_source.as_deref())?;
        let mut compilers = CompilerConfig::new(data.join("compilers"), source);
        compilers.idle.bytes = memory.idle_compilers();
        let (nft_metadata, ipfs_gateway) = match self.nft_metadata {
            None | Some(NftChoice::Off) => (NftMetadata::None, None),
            Some(NftChoice::Hosts) => (NftMetadata::Hosts, None),
            Some(NftChoice::Gateway(gateway)) => (NftMetadata::Hosts, Some(gateway)),
        };
        let top_accounts = self.top_accounts == Some(Switch::On);
        Ok(ServicesConfig { verifier: VerifierConfig::new(compilers), nft_metadata, ipfs_gateway, top_accounts })
    }
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
