//! Measures the real binary from outside: a chain served over HTTP goes in, figures come out.

mod chain;
mod explorer;
mod figures;
mod index;
mod overhead;
mod pages;

use std::io::Write;

use clap::Parser;

/// Transactions, where the length of the chain does not matter.
const SMALL_CHAIN: u64 = 500;

#[derive(Debug, Parser)]
struct Options {
    /// Transactions of the chain that is indexed
    #[arg(long, default_value_t = 30_000)]
    transactions: u64,

    /// Requests per page whose latency is measured
    #[arg(long, default_value_t = 400)]
    requests: usize,

    /// Measure only what keys and limits cost a request
    #[arg(long)]
    overhead: bool,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    // Another part may have chosen a provider already; the choice is the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut out = std::io::stdout().lock();

    if options.overhead {
        let chain = chain::RecordedChain::make(SMALL_CHAIN).await?;
        write!(out, "{}\n{}", figures::machine(), overhead::measure(&chain).await?)?;
        return Ok(());
    }
    let chain = chain::RecordedChain::make(options.transactions).await?;
    let data = tempfile::tempdir()?;
    writeln!(out, "{}", figures::machine())?;
    let index = index::measure(&chain, data.path()).await?;
    writeln!(out, "{index}")?;
    let pages = pages::measure(&chain, data.path(), options.requests).await?;
    writeln!(out, "{pages}")?;
    write!(out, "{}", overhead::measure(&chain).await?)?;
    Ok(())
}
