//! Measures the real binary from outside: a chain served over HTTP goes in, figures come out.

mod chain;
mod explorer;
mod figures;
mod index;
mod pages;

use std::io::Write;

use clap::Parser;

#[derive(Debug, Parser)]
struct Options {
    /// Transactions of the chain that is indexed
    #[arg(long, default_value_t = 30_000)]
    transactions: u64,

    /// Requests per page whose latency is measured
    #[arg(long, default_value_t = 400)]
    requests: usize,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    // Another part may have chosen a provider already; the choice is the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut out = std::io::stdout().lock();

    let chain = chain::RecordedChain::make(options.transactions).await?;
    let data = tempfile::tempdir()?;
    writeln!(out, "{}", figures::machine())?;
    let index = index::measure(&chain, data.path()).await?;
    writeln!(out, "{index}")?;
    let pages = pages::measure(&chain, data.path(), options.requests).await?;
    writeln!(out, "{pages}")?;
    Ok(())
}
