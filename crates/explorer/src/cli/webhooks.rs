use clap::{Args, Subcommand};
use domain::Address;
use serde::{Deserialize, Serialize};

use super::target::TargetOptions;

#[derive(Debug, Args)]
pub(crate) struct WebhooksOptions {
    #[command(subcommand)]
    pub(crate) command: WebhooksCommand,

    #[command(flatten)]
    pub(crate) target: TargetOptions,
}

#[derive(Debug, Subcommand, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum WebhooksCommand {
    /// List webhooks with their queues, newest first
    List {
        /// Only the webhooks of this owner
        #[arg(long, value_name = "ADDRESS")]
        owner: Option<Address>,
    },
    /// Stop sending; messages are queued
    Pause { id: u64 },
    /// Send again
    Resume { id: u64 },
    /// Drop the pending messages; the receiver learns how many
    Purge { id: u64 },
}
