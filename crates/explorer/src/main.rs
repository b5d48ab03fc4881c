//! A block explorer for EVM chains in one binary: this crate reads the configuration, wires the parts together and
//! stops them in order.

mod admin;
mod admin_commands;
mod audits;
mod background;
mod bootstrap;
mod check;
mod cli;
mod config;
mod contract_commands;
mod database;
#[cfg(feature = "demo")]
mod demo;
mod folders;
mod following;
mod greeting;
mod hooks;
mod keys;
mod logging;
mod manual;
mod memory;
mod names;
mod open_files;
mod progress;
mod progress_bar;
mod records;
mod reindex;
mod repair;
mod requests;
mod run;
mod service;
mod sharing;
mod shutdown;
mod site;
mod snapshot;
mod stores;
mod supervisor;
mod token_prefix;
mod webhook_commands;

use std::{process::ExitCode, time::Duration};

use clap::Parser;
use mimalloc::MiMalloc;
use tokio::runtime::{Builder, Runtime};

use crate::cli::{Cli, Command};

/// Reuses memory that one thread allocates and another frees, which a backfill does for every block.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// For background work that does not end by itself after shutdown.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(300);

/// Threads in addition to one per core, since a read that waits for the disk blocks its thread.
const SPARE_THREADS: usize = 2;

/// Threads for reads that find no runtime thread free, and for other work that blocks. Each takes about a megabyte, and
/// more would not read faster: the rest waits for one.
const MAX_BLOCKING_THREADS: usize = 64;

/// Stack size of each thread; only used pages take memory. Deep trees of futures need far more than the default two
/// megabytes in unoptimised builds.
pub(crate) const STACK_BYTES: usize = 16 << 20;

fn main() -> ExitCode {
    let cli = Cli::parse();
    make_files_private();
    match start(cli) {
        Ok(code) => code,
        Err(error) => {
            logging::print_error(&error);
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
    let runtime = runtime()?;
    let result = runtime.block_on(async {
        match cli.command {
            Command::Run(options) => run::run(*options).await.map(|()| ExitCode::SUCCESS),
            #[cfg(feature = "demo")]
            Command::Demo(options) => demo::run(options).await.map(|()| ExitCode::SUCCESS),
            Command::Reindex(options) => reindex::run(*options).await.map(|()| ExitCode::SUCCESS),
            Command::Keys(options) => keys::run(options).await.map(|()| ExitCode::SUCCESS),
            Command::Webhooks(options) => webhook_commands::run(options).await.map(|()| ExitCode::SUCCESS),
            Command::Contracts(options) => contract_commands::run(options).await.map(|()| ExitCode::SUCCESS),
            Command::Admin(options) => admin_commands::run(options).await.map(|()| ExitCode::SUCCESS),
            Command::Check(options) => check::run(options).await,
            Command::Database(options) => database::run(options).await.map(|()| ExitCode::SUCCESS),
            Command::Snapshot(options) => snapshot::take(options).await.map(|()| ExitCode::SUCCESS),
            Command::Restore(options) => snapshot::restore(options).await.map(|()| ExitCode::SUCCESS),
            Command::Records(options) => records::run(options).await.map(|()| ExitCode::SUCCESS),
            Command::Repair(options) => repair::run(options).await.map(|()| ExitCode::SUCCESS),
            Command::Completions { shell } => manual::print_completions(shell).map(|()| ExitCode::SUCCESS),
            Command::Man { folder } => manual::write_pages(&folder).map(|()| ExitCode::SUCCESS),
        }
    });
    runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
    result
}

fn runtime() -> anyhow::Result<Runtime> {
    let threads = std::thread::available_parallelism()?.get() + SPARE_THREADS;
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(threads).max_blocking_threads(MAX_BLOCKING_THREADS).thread_stack_size(STACK_BYTES);
    Ok(builder.enable_all().build()?)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn blocking_work_of_many_connections_takes_a_bounded_number_of_threads() {
        static RUNNING: AtomicUsize = AtomicUsize::new(0);
        static MOST: AtomicUsize = AtomicUsize::new(0);
        let work = || {
            MOST.fetch_max(RUNNING.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(20));
            RUNNING.fetch_sub(1, Ordering::SeqCst);
        };
        let runtime = runtime().unwrap();
        let tasks: Vec<_> = (0..4 * MAX_BLOCKING_THREADS).map(|_| runtime.spawn_blocking(work)).collect();
        for task in tasks {
            runtime.block_on(task).unwrap();
        }
        assert!(MOST.load(Ordering::SeqCst) <= MAX_BLOCKING_THREADS, "{MOST:?}");
    }
}
