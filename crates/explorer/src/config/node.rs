//! The node, and how it is called.

use std::{path::Path, sync::Arc, time::Duration};

use anyhow::{Context, ensure};
use node::{BlockChecks, Endpoint, Genesis, NodeConfig};

use super::{options::options, values};

options! {
    /// Where the node is.
    pub(crate) struct NodeOptions {
        /// The node: an http(s):// or ws(s):// URL or the path of an IPC socket. Give several for failover
        #[arg(long, env = "EXPLORER_RPC", value_name = "URL", value_delimiter = ',')]
        #[file(values::list)]
        pub(crate) rpc: Vec<Endpoint>,
    }
}

options! {
    /// How the node is called.
    pub(crate) struct CallOptions {
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
    }
}

/// What the first block grants, from a file.
pub(super) fn read_genesis(path: &Path) -> anyhow::Result<Arc<Genesis>> {
    let genesis = Genesis::read(&values::read_text(path)?);
    Ok(Arc::new(genesis.with_context(|| format!("invalid genesis file {}", path.display()))?))
}

/// Responses are limited by the memory of the process.
pub(super) fn config(node: NodeOptions, calls: CallOptions) -> anyhow::Result<NodeConfig> {
    let mut config = NodeConfig::new(node.rpc);
    config.calls_per_second = calls.rpc_calls_per_second;
    config.request_timeout = calls.rpc_timeout.map_or(config.request_timeout, Duration::from_secs);
    config.verify_blocks = calls.verify_blocks.unwrap_or_default();
    ensure!(!config.request_timeout.is_zero(), "--rpc-timeout must be at least 1 (second)");
    Ok(config)
}
