//! Measures the real binary from outside, with a chain that is served over HTTP.

#![expect(clippy::indexing_slicing, reason = "fields of JSON, which are null if they are missing")]

mod api;
mod backlog;
mod calls;
mod chain;
mod checks;
mod compare;
mod costs;
mod deliveries;
mod download;
mod explorer;
mod faults;
mod figures;
mod filters;
mod head;
mod html_pages;
mod index;
mod internal;
mod machine;
mod options;
mod overhead;
mod page_depth;
mod postgres;
mod progress;
mod recording;
mod replay;
mod soak;
mod verification;

use std::io::Write;

use anyhow::Context;
use clap::Parser;
use mimalloc::MiMalloc;

use crate::{
    chain::{ChainPlan, RecordedChain},
    options::{Options, Part},
};

/// The same allocator as the explorer, so that the baselines benefit from it too.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// For measurements that do not depend on the length of the chain.
const SMALL_CHAIN: ChainPlan = ChainPlan { transactions: 500, per_block: 8 };

/// Many small blocks, so that the number of requests matters.
const FAULTS_CHAIN: ChainPlan = ChainPlan { transactions: 8_000, per_block: 4 };

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let options = Options::parse();
    if let Some(body) = &options.serve_bare {
        return api::serve_bare(body).await;
    }
    // An error means that a provider is already installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut out = std::io::stdout().lock();

    writeln!(out, "{}", machine::describe().await?)?;
    if options.wants(Part::Serve) {
        let chain = RecordedChain::make(options.chain()).await?;
        let remote = chain.serve(options.remote_node()).await?;
        writeln!(
            out,
            "{}\nUp to block {}: {}\nAs a remote node: {}",
            chain.describe(),
            chain.head,
            chain.url(),
            remote.url()
        )?;
        return Ok(tokio::signal::ctrl_c().await?);
    }
    if [Part::Index, Part::Api, Part::Head, Part::Pages].into_iter().any(|part| options.wants(part)) {
        let chain = RecordedChain::make(options.chain()).await?;
        writeln!(out, "{}", chain.describe())?;
        let data = tempfile::tempdir()?;
        if options.wants(Part::Index) {
            writeln!(out, "{}", index::measure(&chain, data.path(), options.remote_node()).await?)?;
        }
        if options.wants(Part::Api) {
            writeln!(out, "{}", page_depth::measure(&chain, data.path(), options.requests, &[]).await?)?;
            writeln!(out, "{}", api::measure(&chain, data.path(), options.load_seconds()).await?)?;
        }
        if options.wants(Part::Pages) {
            writeln!(out, "{}", html_pages::measure(&chain, data.path(), options.requests).await?)?;
        }
        // Last, since it extends the chain.
        if options.wants(Part::Head) {
            writeln!(out, "{}", head::measure(&chain, data.path(), options.head_blocks, &[]).await?)?;
        }
    }
    if options.wants(Part::Compare) {
        let other = options.other.as_deref().context("--only compare needs --other with the path of a binary")?;
        let chain = RecordedChain::make(options.chain()).await?;
        writeln!(out, "{}", compare::measure(&chain, other, options.rounds, options.requests).await?)?;
    }
    if options.wants(Part::Postgres) {
        let chain = RecordedChain::make(options.chain()).await?;
        let (requests, blocks) = (options.requests, options.head_blocks);
        writeln!(out, "{}", postgres::measure(&chain, requests, blocks, options.load_seconds()).await?)?;
    }
    if options.wants(Part::Internal) {
        let chain = RecordedChain::make(internal::CHAIN).await?;
        writeln!(out, "{}", internal::measure(&chain).await?)?;
    }
    if options.wants(Part::Calls) {
        let chain = RecordedChain::make(calls::CHAIN).await?;
        writeln!(out, "{}", calls::measure(&chain).await?)?;
    }
    if options.wants(Part::Costs) {
        let chain = RecordedChain::make(options.chain()).await?;
        writeln!(out, "{}", costs::measure(&chain).await?)?;
    }
    if options.wants(Part::Endurance) {
        let chain = RecordedChain::make(options.chain()).await?;
        writeln!(out, "{}", api::measure_endurance(&chain, options.minutes, options.memory).await?)?;
    }
    if options.wants(Part::Soak) {
        writeln!(out, "{}", soak::measure(options.soak(), options.memory).await?)?;
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
