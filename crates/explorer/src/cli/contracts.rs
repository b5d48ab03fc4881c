use clap::{Args, Subcommand};
use domain::Address;
use serde::{Deserialize, Serialize};

use super::target::TargetOptions;

#[derive(Debug, Args)]
pub(crate) struct ContractsOptions {
    #[command(subcommand)]
    pub(crate) command: ContractsCommand,

    #[command(flatten)]
    pub(crate) target: TargetOptions,
}

#[derive(Debug, Subcommand, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ContractsCommand {
    /// Remove the sources of a verified contract, also from other contracts with the same code; it can be verified again
    Remove { address: Address },
}
