use std::net::SocketAddr;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct DemoOptions {
    /// Where the API listens
    #[arg(long, env = "EXPLORER_LISTEN", value_name = "ADDR", default_value = "127.0.0.1:3000")]
    pub(crate) listen: SocketAddr,

    /// Where the demo chain serves JSON-RPC; if the port is taken, a free one is used
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8545")]
    pub(crate) rpc_listen: SocketAddr,

    /// Transactions in the initial history
    #[arg(long, value_name = "N", default_value_t = 3_000)]
    pub(crate) transactions: u64,

    /// Seconds between blocks
    #[arg(long, value_name = "SECONDS", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) block_time: u64,

    /// Milliseconds between blocks after the initial history, to measure the demo over many blocks
    #[arg(long, value_name = "MILLISECONDS", hide = true, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) block_millis: Option<u64>,

    /// The chain id; Hardhat refuses to verify contracts on 1337 and 31337
    #[arg(long, value_name = "N", default_value_t = devchain::DevChainConfig::default().chain_id, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) chain_id: u64,

    /// The same seed gives the same accounts, contracts and history
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// API requests in any 60 seconds from one IP address without a key; 0: no limit
    #[arg(long, env = "EXPLORER_ANONYMOUS_REQUESTS_PER_MINUTE", value_name = "N", default_value_t = 10)]
    pub(crate) anonymous_requests_per_minute: u32,

    /// Page views per minute from one IP address, on average; 0: no limit
    #[arg(long, env = "EXPLORER_PAGES_PER_MINUTE", value_name = "N", default_value_t = 600)]
    pub(crate) pages_per_minute: u32,

    /// API requests in any 60 seconds with the demo's API key; 0: no limit
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    pub(crate) key_requests_per_minute: u32,

    /// What to log
    #[arg(long, env = "EXPLORER_LOG", value_name = "FILTER", default_value = "warn")]
    pub(crate) log: String,
}
