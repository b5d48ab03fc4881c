use std::path::PathBuf;

use clap::Args;

use crate::config::location::DatabaseUrl;

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
