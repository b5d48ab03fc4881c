use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::target::TargetOptions;

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
