//! A block explorer for EVM chains in one binary: this crate reads the configuration, wires the parts together and
//! stops them in order.

mod background;
mod check;
mod cli;
mod config;
#[cfg(feature = "demo")]
mod demo;
#[cfg(feature = "demo")]
mod demo_names;
mod hooks;
mod keys;
mod logging;
mod memory;
mod open_files;
mod progress;
mod repair;
mod run;
mod service;
mod shutdown;
mod site;
mod stores;
mod supervisor;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use mimalloc::MiMalloc;

use crate::cli::{Cli, Command};

/// What one thread allocates and another frees comes back for use at once: during a backfill that is every block.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// For background work that does not end by itself once everything has been told to stop.
const LAST_PATIENCE: Duration = Duration::from_millis(300);

/// Beyond one for each core: a read that waits for the disk holds up the thread that makes it, and two are never made to
/// read.
const SPARE_THREADS: usize = 2;

/// Of each thread; only what is used is taken. A page or a pass is one deep tree of futures, and without optimisation they
/// need far more than the usual two megabytes.
pub(crate) const STACK_BYTES: usize = 16 << 20;

fn main() -> ExitCode {
    let cli = Cli::parse();
    make_files_private();
    match start(cli) {
        Ok(code) => code,
        Err(error) => {
            logging::complain(&error);
            ExitCode::FAILURE
        }
    }
}

/// What users leave, and the key of their webhooks' secrets, is for the owner of the data folder alone.
fn make_files_private() {
    #[cfg(unix)]
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
}

fn start(cli: Cli) -> anyhow::Result<ExitCode> {
    let threads = std::thread::available_parallelism()?.get() + SPARE_THREADS;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .thread_stack_size(STACK_BYTES)
        .enable_all()
        .build()?;
    let result = runtime.block_on(async {
        match cli.command {
            Command::Run(options) => run::run(*options).await.map(|()| ExitCode::SUCCESS),
            #[cfg(feature = "demo")]
            Command::Demo(options) => demo::run(options).await.map(|()| ExitCode::SUCCESS),
            Command::Keys(options) => keys::run(options).await.map(|()| ExitCode::SUCCESS),
            Command::Check(options) => check::run(options).await,
            Command::Repair(options) => repair::run(options).await.map(|()| ExitCode::SUCCESS),
        }
    });
    runtime.shutdown_timeout(LAST_PATIENCE);
    result
}
