use clap::{Args, Subcommand};

use crate::config::location::DatabaseUrl;

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
