use std::path::PathBuf;

use clap::Args;
use node::{BlockChecks, Endpoint};

use crate::config::{
    indexing::{ChainOptions, TraceOptions, TracesChoice},
    location::LocationOptions,
    log::{LogFormat, LogOptions},
    memory::MemoryOptions,
    node::{CallOptions, NodeOptions},
    run_options::RunOptions,
};

/// Those options of `run` that are about indexing. The rest of the configuration file is ignored.
#[derive(Debug, Args)]
pub(crate) struct ReindexOptions {
    /// The node, as for `run`
    #[arg(long, env = "EXPLORER_RPC", value_name = "URL", value_delimiter = ',')]
    rpc: Vec<Endpoint>,

    /// The data folder, which an explorer may have open [default: explorer in your data folder]
    #[arg(long, env = "EXPLORER_DATA", value_name = "DIR")]
    data: Option<PathBuf>,

    /// The first block of the new index; give the one of the other index to keep it [default: 0]
    #[arg(long, env = "EXPLORER_START_BLOCK", value_name = "N")]
    start_block: Option<u64>,

    /// Exit as soon as the new index is at the head of the chain
    #[arg(long)]
    pub(crate) until_ready: bool,

    /// Remove what this command has filled before, and begin again
    #[arg(long)]
    pub(crate) from_scratch: bool,

    /// Whether to use the node's traces, as for `run`
    #[arg(long, env = "EXPLORER_TRACES", value_name = "TRACES")]
    traces: Option<TracesChoice>,

    /// Maximum calls per second to each node, in addition to those of the explorer that serves; 0 is no limit [default: 0]
    #[arg(long, env = "EXPLORER_RPC_CALLS_PER_SECOND", value_name = "N")]
    rpc_calls_per_second: Option<u32>,

    /// Seconds to wait for a response of the node [default: 20]
    #[arg(long, env = "EXPLORER_RPC_TIMEOUT", value_name = "SECONDS")]
    rpc_timeout: Option<u64>,

    /// How the blocks of the node are verified, as for `run` [default: cheap]
    #[arg(long, env = "EXPLORER_VERIFY_BLOCKS", value_name = "CHECKS")]
    verify_blocks: Option<BlockChecks>,

    /// Megabytes of memory for caches and buffers, in addition to those of the explorer that serves [default: 1024]
    #[arg(long, env = "EXPLORER_MEMORY", value_name = "MB")]
    memory: Option<u64>,

    /// What to log [default: info]
    #[arg(long, env = "EXPLORER_LOG", value_name = "FILTER")]
    log: Option<String>,

    /// Log format [default: text]
    #[arg(long, env = "EXPLORER_LOG_FORMAT", value_name = "FORMAT")]
    log_format: Option<LogFormat>,

    /// The configuration file of `run`
    #[arg(long, env = "EXPLORER_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
}

impl From<ReindexOptions> for RunOptions {
    fn from(options: ReindexOptions) -> Self {
        Self {
            node: NodeOptions { rpc: options.rpc },
            location: LocationOptions { data: options.data, ..LocationOptions::default() },
            chain: ChainOptions { start_block: options.start_block, ..ChainOptions::default() },
            traces: TraceOptions { traces: options.traces },
            calls: CallOptions {
                rpc_calls_per_second: options.rpc_calls_per_second,
                rpc_timeout: options.rpc_timeout,
                verify_blocks: options.verify_blocks,
            },
            memory: MemoryOptions { memory: options.memory, ..MemoryOptions::default() },
            log: LogOptions { log: options.log, log_format: options.log_format },
            config: options.config,
            ..Self::default()
        }
    }
}
