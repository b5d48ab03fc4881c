use clap::{Args, Subcommand};
use domain::Address;
use serde::{Deserialize, Serialize};

use super::target::TargetOptions;

#[derive(Debug, Args)]
pub(crate) struct KeysOptions {
    #[command(subcommand)]
    pub(crate) command: KeysCommand,

    #[command(flatten)]
    pub(crate) target: TargetOptions,
}

#[derive(Debug, Subcommand, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum KeysCommand {
    /// List keys, newest first
    List {
        /// Only the keys of this owner
        #[arg(long, value_name = "ADDRESS")]
        owner: Option<Address>,
    },
    /// Create a key for an owner without their signature
    Create {
        #[arg(long, value_name = "ADDRESS")]
        owner: Address,
        /// A name for the key
        #[arg(long, default_value = "")]
        label: String,
    },
    /// Change the rate limit of a key
    Limit {
        id: u64,
        /// Requests in any 60 seconds; 0: no limit
        #[arg(value_name = "REQUESTS_PER_MINUTE", value_parser = clap::value_parser!(u32).range(..=1_000_000))]
        requests: u32,
    },
    /// Revoke a key permanently
    Revoke { id: u64 },
}
