//! A block explorer for EVM chains in one binary: this crate reads the configuration, wires the parts together and
//! stops them in order. It is a library so that it compiles beside the code generation of the parts, which a binary waits for.

mod admin;
mod cli;
mod commands;
mod config;
#[cfg(feature = "demo")]
mod demo;
mod logging;
mod operations;
mod process;
mod service;
mod stores;
mod terminal;

use std::{process::ExitCode, time::Duration};

use clap::Parser;
use mimalloc::MiMalloc;

use crate::{
    cli::{Cli, Command},
    process::runtime,
};

/// Reuses memory that one thread allocates and another frees, which a backfill does for every block.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// For background work that does not end by itself after shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(300);

/// What the binary does, by the arguments of this process.
#[must_use]
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    make_files_private();
    match start(cli) {
        Ok(code) => code,
        Err(error) => {
            terminal::print_error(&error);
            ExitCode::FAILURE
        }
    }
}

/// Makes files readable only by their owner: they contain users' records and the key of webhook secrets.
fn make_files_private() {
    #[cfg(unix)]
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
}

fn start(cli: Cli) -> anyhow::Result<ExitCode> {
    let runtime = runtime::start()?;
    let result = runtime.block_on(async {
        match cli.command {
            Command::Run(options) => commands::run::run(*options).await?,
            #[cfg(feature = "demo")]
            Command::Demo(options) => demo::run(options).await?,
            Command::Reindex(options) => commands::reindex::run(*options).await?,
            Command::Keys(options) => commands::keys::run(options).await?,
            Command::Webhooks(options) => commands::webhooks::run(options).await?,
            Command::Contracts(options) => commands::contracts::run(options).await?,
            Command::Admin(options) => commands::admin::run(options).await?,
            Command::Check(options) => return commands::check::run(options).await,
            Command::Database(options) => commands::database::run(options).await?,
            Command::Snapshot(options) => commands::snapshot::run(options).await?,
            Command::Restore(options) => commands::restore::run(options).await?,
            Command::Records(options) => commands::records::run(options).await?,
            Command::Repair(options) => commands::repair::run(options).await?,
            Command::Completions { shell } => commands::manual::print_completions(shell)?,
            Command::Man { folder } => commands::manual::write_pages(&folder)?,
        }
        Ok(ExitCode::SUCCESS)
    });
    runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
    result
}
