use std::path::PathBuf;

use clap::{Args, Subcommand};
use domain::Address;

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
