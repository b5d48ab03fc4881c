//! The command line. Every option of `run` can also be set in the environment or in the configuration file.

mod run_options;
mod values;

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use domain::Address;
use serde::{Deserialize, Serialize};

pub(crate) use self::{
    run_options::{Looks, RunOptions},
    values::{DatabaseUrl, NftSource, OnNewChain, OwnerAccess, Role, Switch, Traces},
};
use crate::{check::CheckOptions, reindex::ReindexOptions};

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

#[derive(Debug, Args)]
pub(crate) struct DatabaseOptions {
    /// The database: postgres://user:password@host/name
    #[arg(long, env = "EXPLORER_DATABASE", value_name = "URL", hide_env_values = true, global = true)]
    pub(crate) database: Option<DatabaseUrl>,

    #[command(subcommand)]
    pub(crate) command: DatabaseCommand,
}

#[derive(Debug, Clone, Copy, Subcommand)]
pub(crate) enum DatabaseCommand {
    /// Create the tables, or update them to this version; `run` does the same at its start
    Migrate,
    /// Merge rows of lists whose blocks are final; `run` does the same in small steps
    Compact,
    /// Show the size of each table and its indexes
    Size,
}

#[cfg(feature = "demo")]
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

#[derive(Debug, Args)]
pub(crate) struct KeysOptions {
    #[command(subcommand)]
    pub(crate) command: KeysCommand,

    #[command(flatten)]
    pub(crate) target: TargetOptions,
}

/// Where a command acts.
#[derive(Debug, Args)]
pub(crate) struct TargetOptions {
    /// The data folder [default: explorer in your data folder]
    #[arg(long, env = "EXPLORER_DATA", value_name = "DIR", global = true)]
    pub(crate) data: Option<PathBuf>,

    /// The database, as for `run`
    #[arg(long, env = "EXPLORER_DATABASE", value_name = "URL", hide_env_values = true, global = true)]
    pub(crate) database: Option<DatabaseUrl>,

    /// The socket of a running explorer; if nothing listens there, the data folder is opened [default: admin.sock in the data
    /// folder]
    #[arg(long, env = "EXPLORER_ADMIN_SOCKET", value_name = "PATH", global = true)]
    pub(crate) admin_socket: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct WebhooksOptions {
    #[command(subcommand)]
    pub(crate) command: WebhooksCommand,

    #[command(flatten)]
    pub(crate) target: TargetOptions,
}

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

#[derive(Debug, Args)]
pub(crate) struct AdminOptions {
    #[command(subcommand)]
    pub(crate) command: AdminCommand,

    /// The data folder of the running explorer [default: explorer in your data folder]
    #[arg(long, env = "EXPLORER_DATA", value_name = "DIR", global = true)]
    pub(crate) data: Option<PathBuf>,

    /// Its socket [default: admin.sock in the data folder]
    #[arg(long, env = "EXPLORER_ADMIN_SOCKET", value_name = "PATH", global = true)]
    pub(crate) admin_socket: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AdminCommand {
    /// Print the metrics
    Metrics,
    /// Read the names of addresses (--labels) and exchanges ([[dex]]) again; SIGHUP does the same
    Reload,
    /// Change what is logged, until the next start
    Log {
        /// Such as `debug` or `ingest=debug,warn`
        filter: String,
    },
    /// Rewrite the index so that it takes as little space as possible; it is served meanwhile
    Compact,
    /// Compare the largest holders of a token and its supply with its contract, at the newest indexed block
    Token {
        token: Address,
        /// How many holders to compare
        #[arg(long, value_name = "N", default_value_t = 100)]
        holders: u32,
        /// If balances differ, read them from the contract from now on
        #[arg(long)]
        repair: bool,
    },
    /// Compare indexed blocks with the node: header, transactions, logs, transfers and trades
    Blocks { from: u64, to: u64 },
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

#[derive(Debug, Args)]
pub(crate) struct RepairOptions {
    /// The data folder [default: explorer in your data folder]
    #[arg(long, env = "EXPLORER_DATA", value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct RecordsOptions {
    #[command(subcommand)]
    pub(crate) command: RecordsCommand,

    #[command(flatten)]
    pub(crate) target: TargetOptions,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RecordsCommand {
    /// Write all records to a new file, one JSON object per line; `-` is standard output
    Export {
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Read the records of a file into a data folder or database without records; `-` is standard input
    Import {
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(crate) struct SnapshotOptions {
    /// The folder to create; on the file system of the data folder, it shares most files with it. A name that ends with `.tar`:
    /// one file with checksums; `-`: the same on standard output
    #[arg(value_name = "TARGET")]
    pub(crate) target: PathBuf,

    /// Only the index, without a trace of keys, webhooks and verified contracts: a snapshot that can be published
    #[arg(long)]
    pub(crate) index_only: bool,

    #[command(flatten)]
    pub(crate) from: TargetOptions,
}

#[derive(Debug, Args)]
pub(crate) struct RestoreOptions {
    /// The folder or file that `explorer snapshot` created; `-`: a file on standard input
    #[arg(value_name = "SNAPSHOT")]
    pub(crate) snapshot: PathBuf,

    /// The data folder, which must be empty [default: explorer in your data folder]
    #[arg(long, env = "EXPLORER_DATA", value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
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

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_definition_is_valid() {
        Cli::command().debug_assert();
    }
}
