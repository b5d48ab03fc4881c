//! What is indexed, from which block on.

use std::path::PathBuf;

use clap::ValueEnum;
use domain::BlockNumber;
use serde::Deserialize;

use super::{bootstrap::Bootstrap, location::Location, options::options};

options! {
    /// From which block on a chain is indexed.
    pub(crate) struct ChainOptions {
        /// The first block to index; cannot be changed once the index exists [default: 0]
        #[arg(long, env = "EXPLORER_START_BLOCK", value_name = "N")]
        pub(crate) start_block: Option<u64>,

        /// What to do if the node serves another chain than the indexed one: `reset` drops the index and begins with the new chain
        /// (keys, webhooks and verified sources stay), `halt` waits for the chain to come back [default: reset on a chain for
        /// development, such as anvil's, else halt]
        #[arg(long, env = "EXPLORER_ON_NEW_CHAIN", value_name = "reset|halt", hide_short_help = true)]
        pub(crate) on_new_chain: Option<NewChainChoice>,

        /// A snapshot to begin with if the data folder is empty: the URL or path of a file that `explorer snapshot --index-only` wrote
        ///
        /// With `#sha256=HEX` at the end, it must have this digest. Only its index is used, after random blocks of it were compared with
        /// the node.
        #[arg(long, env = "EXPLORER_BOOTSTRAP", value_name = "URL|FILE", hide_env_values = true)]
        pub(crate) bootstrap: Option<String>,
    }
    only in the file {
        /// The genesis file of the chain, with what the first block grants.
        pub(crate) genesis: Option<PathBuf>,
    }
}

options! {
    /// What is indexed of calls inside transactions.
    pub(crate) struct TraceOptions {
        /// Whether to use the node's traces for internal transactions and contracts created inside calls: `auto` (if the node
        /// supports traces), `off` (if tracing slows the node down) or `required` (nothing is indexed without) [default: auto]
        #[arg(long, env = "EXPLORER_TRACES", value_name = "TRACES", hide_short_help = true)]
        pub(crate) traces: Option<TracesChoice>,
    }
}

/// What to do if the node serves another chain than the indexed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum NewChainChoice {
    /// Drop the index, and begin with the new chain
    Reset,
    /// Wait for the indexed chain
    Halt,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TracesChoice {
    /// If the node supports traces
    Auto,
    /// Never
    Off,
    /// Nothing is indexed if the node does not support traces
    Required,
}

/// What is indexed, from which block on.
#[derive(Debug)]
pub(crate) struct IndexingConfig {
    pub(crate) start_block: Option<BlockNumber>,
    pub(crate) on_new_chain: OnNewChain,
    pub(crate) bootstrap: Option<Bootstrap>,
    pub(crate) traces: ingest::Traces,
}

/// What to do if the node serves another chain than the indexed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnNewChain {
    /// Start over on a chain for development, and halt on any other.
    ByChain,
    Reset,
    Halt,
}

pub(super) fn config(chain: ChainOptions, traces: TraceOptions, location: &Location) -> anyhow::Result<IndexingConfig> {
    Ok(IndexingConfig {
        start_block: chain.start_block,
        on_new_chain: match chain.on_new_chain {
            None => OnNewChain::ByChain,
            Some(NewChainChoice::Reset) => OnNewChain::Reset,
            Some(NewChainChoice::Halt) => OnNewChain::Halt,
        },
        bootstrap: Bootstrap::from_option(chain.bootstrap.as_deref(), location)?,
        traces: match traces.traces {
            Some(TracesChoice::Off) => ingest::Traces::Off,
            Some(TracesChoice::Required) => ingest::Traces::Required,
            Some(TracesChoice::Auto) | None => ingest::Traces::Auto,
        },
    })
}
