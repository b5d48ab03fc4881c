use std::path::PathBuf;

use clap::Args;

use super::target::TargetOptions;

#[derive(Debug, Args)]
pub(crate) struct SnapshotOptions {
    /// The folder to create; on the file system of the data folder, it shares most files with it. A name that ends with `.tar`:
    /// one file with checksums; `-`: the same on standard output
    #[arg(value_name = "TARGET")]
    pub(crate) target: PathBuf,

    /// Only the index, without keys, webhooks and verified contracts: a snapshot that can be published
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

#[derive(Debug, Args)]
pub(crate) struct RepairOptions {
    /// The data folder [default: explorer in your data folder]
    #[arg(long, env = "EXPLORER_DATA", value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
}
