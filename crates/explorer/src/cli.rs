//! The command line: the options of each command. Those of `run` are declared in [`crate::config`], by group.

mod admin;
mod check;
mod contracts;
mod database;
#[cfg(feature = "demo")]
mod demo;
mod keys;
mod records;
mod reindex;
mod snapshot;
mod target;
mod webhooks;

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use clap_complete::Shell;

#[cfg(feature = "demo")]
pub(crate) use self::demo::DemoOptions;
pub(crate) use self::{
    admin::{AdminCommand, AdminOptions},
    check::CheckOptions,
    contracts::{ContractsCommand, ContractsOptions},
    database::{DatabaseCommand, DatabaseOptions},
    keys::{KeysCommand, KeysOptions},
    records::{RecordsCommand, RecordsOptions},
    reindex::ReindexOptions,
    snapshot::{RepairOptions, RestoreOptions, SnapshotOptions},
    target::TargetOptions,
    webhooks::{WebhooksCommand, WebhooksOptions},
};
use crate::config::run_options::RunOptions;

const AFTER_HELP: &str = "\
Examples:
  explorer demo                                  a demo chain with traffic and its explorer
  explorer run --rpc http://127.0.0.1:8545       explore the chain of a local node
  explorer run --rpc wss://a.example --rpc https://b.example --data /srv/explorer";

/// A block explorer for EVM chains: index, REST API and store in one process.
#[derive(Debug, Parser)]
#[command(name = "explorer", version, after_help = AFTER_HELP)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Follow a node and serve its chain
    Run(Box<RunOptions>),
    /// Explore a demo chain with traffic; no node needed
    #[cfg(feature = "demo")]
    Demo(DemoOptions),
    /// Fill a new index of a data folder while an explorer, of this or an older version, goes on serving the other
    Reindex(Box<ReindexOptions>),
    /// Manage API keys, of a running explorer or of its data folder or database
    Keys(KeysOptions),
    /// List, pause and resume webhooks, and drop their messages
    Webhooks(WebhooksOptions),
    /// Remove verified contracts
    Contracts(ContractsOptions),
    /// Control a running explorer: metrics, names, log, compaction, comparisons with the node
    Admin(AdminOptions),
    /// Check a data folder that no explorer has open, or a database, for damage; compare it with a node
    Check(CheckOptions),
    /// Create or update the tables of a PostgreSQL database, compact them, or show their sizes
    Database(DatabaseOptions),
    /// Back up a data folder, also while an explorer uses it
    Snapshot(SnapshotOptions),
    /// Copy a snapshot to an empty data folder
    Restore(RestoreOptions),
    /// Write all keys, webhooks, verified contracts and queued messages to a file, or read them from one into another data folder
    /// or database
    Records(RecordsOptions),
    /// Restore a damaged data folder to its last intact commit
    Repair(RepairOptions),
    /// Print the completions of a shell, from which it completes commands and options
    Completions { shell: Shell },
    /// Write the manual pages to a folder
    Man {
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_definition_is_valid() {
        Cli::command().debug_assert();
    }
}
