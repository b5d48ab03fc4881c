//! Measures the real binary from outside: a chain served over HTTP goes in, figures come out.

mod chain;
mod explorer;
mod figures;
mod filters;
mod index;
mod overhead;
mod pages;
mod renders;

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

    /// Transfers of the store on which filters are measured
    #[arg(long, default_value_t = 1_200_000)]
    transfers: u64,

    /// Measure this part alone
    #[arg(long)]
    only: Option<Part>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// Indexing a chain, and the pages of its busiest address
    Index,
    /// What keys and limits cost a request
    Overhead,
    /// Every combination of filters on crowded lists
    Filters,
    /// Time and size of every kind of page
    Pages,
}

impl Options {
    fn wants(&self, part: Part) -> bool {
        self.only.is_none_or(|only| only == part)
    }
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    // Another part may have chosen a provider already; the choice is the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut out = std::io::stdout().lock();

    writeln!(out, "{}", figures::machine())?;
    if options.wants(Part::Index) {
        let chain = chain::RecordedChain::make(options.transactions).await?;
        let data = tempfile::tempdir()?;
        writeln!(out, "{}", index::measure(&chain, data.path()).await?)?;
        writeln!(out, "{}", pages::measure(&chain, data.path(), options.requests).await?)?;
    }
    if options.wants(Part::Overhead) {
        let chain = chain::RecordedChain::make(SMALL_CHAIN).await?;
        writeln!(out, "{}", overhead::measure(&chain).await?)?;
    }
    if options.wants(Part::Filters) {
        let data = tempfile::tempdir()?;
        writeln!(out, "{}", filters::measure(data.path(), options.transfers, options.requests / 10).await?)?;
    }
    if options.wants(Part::Pages) {
        let chain = chain::RecordedChain::make(options.transactions).await?;
        let data = tempfile::tempdir()?;
        writeln!(out, "{}", renders::measure(&chain, data.path(), options.requests).await?)?;
    }
    Ok(())
}
