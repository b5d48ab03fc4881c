//! Measures the real binary from outside: a chain served over HTTP goes in, figures come out.

mod api;
mod backlog;
mod chain;
mod checks;
mod deliveries;
mod download;
mod explorer;
mod faults;
mod figures;
mod filters;
mod head;
mod index;
mod machine;
mod options;
mod overhead;
mod pages;
mod progress;
mod recording;
mod renders;
mod replay;
mod verification;

use std::io::Write;

use clap::Parser;
use mimalloc::MiMalloc;

use crate::chain::{ChainPlan, RecordedChain};
use crate::options::{Options, Part};

/// The explorer's own, so that what it is measured against gains by it as well.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Transactions, where the length of the chain does not matter.
const SMALL_CHAIN: ChainPlan = ChainPlan { transactions: 500, per_block: 8 };

/// Many small blocks: what counts is requests.
const FAULTS_CHAIN: ChainPlan = ChainPlan { transactions: 8_000, per_block: 4 };

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    if let Some(body) = &options.serve_bare {
        return api::serve_bare(body).await;
    }
    // Another part may have chosen a provider already; the choice is the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut out = std::io::stdout().lock();

    writeln!(out, "{}", machine::describe().await?)?;
    if options.wants(Part::Serve) {
        let chain = RecordedChain::make(options.chain()).await?;
        let far = chain.serve(options.far_node()).await?;
        writeln!(
            out,
            "{}\nUp to block {}: {}\nAs a far node: {}",
            chain.describe(),
            chain.head,
            chain.url(),
            far.url()
        )?;
        return Ok(tokio::signal::ctrl_c().await?);
    }
    if [Part::Index, Part::Api, Part::Head, Part::Pages].into_iter().any(|part| options.wants(part)) {
        let chain = RecordedChain::make(options.chain()).await?;
        writeln!(out, "{}", chain.describe())?;
        let data = tempfile::tempdir()?;
        if options.wants(Part::Index) {
            writeln!(out, "{}", index::measure(&chain, data.path(), options.far_node()).await?)?;
        }
        if options.wants(Part::Api) {
            writeln!(out, "{}", pages::measure(&chain, data.path(), options.requests).await?)?;
            writeln!(out, "{}", api::measure(&chain, data.path(), options.load_seconds()).await?)?;
        }
        if options.wants(Part::Pages) {
            writeln!(out, "{}", renders::measure(&chain, data.path(), options.requests).await?)?;
        }
        // Last, since it makes the chain longer than the others know it.
        if options.wants(Part::Head) {
            writeln!(out, "{}", head::measure(&chain, data.path(), options.head_blocks).await?)?;
        }
    }
    if options.wants(Part::Faults) {
        let chain = RecordedChain::make(FAULTS_CHAIN).await?;
        writeln!(out, "{}", faults::measure(&chain, options.rate_limit).await?)?;
    }
    if options.wants(Part::Checks) {
        let chain = RecordedChain::make(options.chain()).await?;
        writeln!(out, "{}", checks::measure(&chain).await?)?;
    }
    if options.wants(Part::Overhead) {
        let chain = RecordedChain::make(SMALL_CHAIN).await?;
        writeln!(out, "{}", overhead::measure(&chain).await?)?;
    }
    if options.wants(Part::Deliveries) {
        let chain = RecordedChain::make(SMALL_CHAIN).await?;
        writeln!(out, "{}", deliveries::measure(&chain).await?)?;
    }
    if options.wants(Part::Backlog) {
        writeln!(out, "{}", backlog::measure().await?)?;
    }
    if options.wants(Part::Verification) {
        let chain = RecordedChain::make(SMALL_CHAIN).await?;
        writeln!(out, "{}", verification::measure(&chain, options.packages.as_deref()).await?)?;
    }
    if options.wants(Part::Filters) {
        let data = tempfile::tempdir()?;
        writeln!(out, "{}", filters::measure(data.path(), options.transfers, options.requests / 10).await?)?;
    }
    Ok(())
}
