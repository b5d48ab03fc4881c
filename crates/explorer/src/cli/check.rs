use std::path::PathBuf;

use clap::Args;
use node::Endpoint;

use crate::config::location::DatabaseUrl;

#[derive(Debug, Args)]
pub(crate) struct CheckOptions {
    /// The data folder [default: explorer in your data folder]
    #[arg(long, env = "EXPLORER_DATA", value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,

    /// The database, as for `run`
    #[arg(long, env = "EXPLORER_DATABASE", value_name = "URL", hide_env_values = true)]
    pub(crate) database: Option<DatabaseUrl>,

    /// Compare every block with the node; without it, read everything in the store and compare counts, lists and rows
    #[arg(long)]
    pub(crate) node: bool,

    /// The node to compare with, as for `run`
    #[arg(long, env = "EXPLORER_RPC", value_name = "URL", value_delimiter = ',')]
    pub(crate) rpc: Vec<Endpoint>,

    /// The first block to compare [default: the first of the index]
    #[arg(long, value_name = "N")]
    pub(crate) from: Option<u64>,

    /// The last block to compare [default: the newest of the index]
    #[arg(long, value_name = "N")]
    pub(crate) to: Option<u64>,

    /// Compare only N blocks, spread evenly over the range
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) sample: Option<u64>,

    /// Revert all blocks from the first difference on and index them again
    #[arg(long, requires = "node")]
    pub(crate) repair: bool,
}
