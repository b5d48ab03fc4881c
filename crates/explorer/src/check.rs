//! `explorer check`: reads everything in a store or, with `--node`, compares the index with the node; with `--repair`, reindexes
//! blocks that differ.

mod options;
mod repair;
mod report;
mod stored;

use std::{
    ops::RangeInclusive,
    process::ExitCode,
    time::{Duration, Instant},
};

use anyhow::{Context, bail};
use domain::{B256, BlockNumber, BlockRange, BlockRef, Order, PageRequest};
use futures::StreamExt;
use ingest::{Difference, compare_block};
use node::{BlockChecks, NodeClient, NodeConfig};
use store::{ChainReader, Store};

pub(crate) use self::{options::CheckOptions, report::Report};
use crate::{
    config::{self, Location, LogConfig},
    logging::{self, LogFormat},
    progress_bar::{ProgressBar, Unit},
    stores,
};

/// Exit code: the command succeeded, but the index differs.
const DIFFERS: u8 = 2;
/// Blocks compared concurrently.
const CONCURRENCY: usize = 32;
/// Blocks per page read from the index.
const PAGE: u32 = 1_000;
const LOG_EVERY: Duration = Duration::from_secs(5);

/// Exits with 0 if the index is correct or was repaired, with 2 if it differs, and with an error if it cannot be compared.
pub(crate) async fn run(options: CheckOptions) -> anyhow::Result<ExitCode> {
    logging::start(&LogConfig { filter: "warn,explorer=info".to_owned(), format: LogFormat::Text })?;
    let location = config::location(options.data.clone(), options.database.clone())?;
    let store = stores::open_existing(&location).await?;
    if !options.node && !stored::check(store.as_ref(), &location).await? {
        return Ok(ExitCode::from(DIFFERS));
    }
    compare_blocks(&options, &location, store.as_ref()).await.map_err(stored::explain)
}

async fn compare_blocks(options: &CheckOptions, location: &Location, store: &dyn Store) -> anyhow::Result<ExitCode> {
    let reader = store.reader();
    let Some((start, tip)) = extent(reader.as_ref()).await? else {
        logging::print("The index is empty.\n");
        return Ok(ExitCode::SUCCESS);
    };
    let (from, to) = (options.from.unwrap_or(start).max(start), options.to.unwrap_or(tip.number).min(tip.number));
    if from > to {
        bail!("no indexed block between --from and --to: the index has blocks {start} to {}", tip.number);
    }

    let mut report = Report::default();
    check_links(reader.as_ref(), from..=to, &mut report).await?;
    if !options.node {
        return Ok(conclude(&report, &format!("blocks {from} to {to} form one chain, and all rows match")));
    }
    let node = client(options)?;
    let identity = node.identity().await.context("cannot read the chain id and genesis block from the node")?;
    store.bind(identity, None).await.map_err(|error| stores::explain_binding(error, location))?;
    let numbers = sampled(from..=to, options.sample);
    compare(&node, reader.as_ref(), numbers.clone(), &mut report).await?;
    let equal = format!("{} of blocks {from} to {to} are what the node says", block_count(numbers.len()));
    let Some(first) = report.first_bad().filter(|_| options.repair) else { return Ok(conclude(&report, &equal)) };

    logging::print(&report.to_string());
    if let Some(obstacle) = repair::obstacle(store.writer().as_ref(), first, start).await? {
        logging::print(&format!("{obstacle}\n"));
        return Ok(ExitCode::from(DIFFERS));
    }
    logging::print(&format!("Indexing again from block {first} on.\n"));
    let tip = repair::reindex(&node, store, first, start).await?;
    let mut report = Report::default();
    check_links(reader.as_ref(), start.max(first.saturating_sub(1))..=tip.number, &mut report).await?;
    compare(&node, reader.as_ref(), (first..=tip.number).collect(), &mut report).await?;
    store.sync().await?;
    Ok(conclude(&report, &format!("reindexed: blocks {first} to {} are what the node says", tip.number)))
}

fn conclude(report: &Report, success: &str) -> ExitCode {
    if report.first_bad().is_none() {
        let mut sentence = success.to_owned();
        if let Some(first) = sentence.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        logging::print(&format!("{sentence}.\n"));
        return ExitCode::SUCCESS;
    }
    logging::print(&report.to_string());
    ExitCode::from(DIFFERS)
}

fn block_count(blocks: usize) -> String {
    if blocks == 1 { "1 block".to_owned() } else { format!("{blocks} blocks") }
}

/// The first and the newest block of the index; None if it is empty.
pub(crate) async fn extent(reader: &dyn ChainReader) -> anyhow::Result<Option<(BlockNumber, BlockRef)>> {
    let Some(tip) = reader.find_tip().await? else { return Ok(None) };
    let oldest = PageRequest { offset: 0, limit: 1, order: Order::OldestFirst };
    let first = reader.list_blocks(BlockRange::ALL, oldest).await?.items.into_iter().next();
    Ok(first.map(|first| (first.number, tip)))
}

fn client(options: &CheckOptions) -> anyhow::Result<NodeClient> {
    if options.rpc.is_empty() {
        bail!("no node to compare with: give one with --rpc, such as --rpc http://127.0.0.1:8545");
    }
    // The index is compared with the node's data, so that data must be verified.
    let config = NodeConfig { verify_blocks: BlockChecks::Full, ..NodeConfig::new(options.rpc.clone()) };
    Ok(NodeClient::new(config)?)
}

/// All blocks, or a sample of this size; a sample of two or more includes the first and the last block.
fn sampled(range: RangeInclusive<BlockNumber>, sample: Option<u64>) -> Vec<BlockNumber> {
    let (from, to) = (*range.start(), *range.end());
    match sample {
        Some(size) if size <= to - from => {
            let spread = |index: u64| u128::from(to - from) * u128::from(index) / u128::from((size - 1).max(1));
            (0..size).map(|index| from + u64::try_from(spread(index)).unwrap_or_default()).collect()
        }
        _ => range.collect(),
    }
}

/// Checks that each block is the child of the previous one.
async fn check_links(
    reader: &dyn ChainReader,
    range: RangeInclusive<BlockNumber>,
    report: &mut Report,
) -> anyhow::Result<()> {
    let blocks = BlockRange { from: Some(*range.start()), to: Some(*range.end()) };
    let (mut offset, mut next, mut parent) = (0, *range.start(), None::<B256>);
    loop {
        let page = reader.list_blocks(blocks, PageRequest { offset, limit: PAGE, order: Order::OldestFirst }).await?;
        if page.items.is_empty() {
            break;
        }
        offset += page.items.len() as u64;
        for block in page.items {
            (next..block.number).for_each(|missing| report.add(missing, vec![Difference::NotInIndex]));
            if parent.is_some_and(|parent| parent != block.parent_hash) {
                report.add(block.number, vec![Difference::Header("parent hash")]);
            }
            (next, parent) = (block.number + 1, Some(block.hash));
        }
    }
    (next..=*range.end()).for_each(|missing| report.add(missing, vec![Difference::NotInIndex]));
    Ok(())
}

pub(crate) async fn compare(
    node: &NodeClient,
    reader: &dyn ChainReader,
    numbers: Vec<BlockNumber>,
    report: &mut Report,
) -> anyhow::Result<()> {
    let bar = ProgressBar::new(numbers.len() as u64, Unit::Things("blocks"));
    let (total, mut done, mut logged_at) = (numbers.len(), 0, Instant::now());
    let comparing = |number| async move { (number, compare_block(node, reader, number).await) };
    let mut compared = futures::stream::iter(numbers).map(comparing).buffered(CONCURRENCY);
    while let Some((number, differences)) = compared.next().await {
        report.add(number, differences.with_context(|| format!("cannot compare block {number}"))?);
        done += 1;
        bar.inc(1);
        if bar.is_hidden() && logged_at.elapsed() >= LOG_EVERY {
            tracing::info!(block = number, done, total, "comparing");
            logged_at = Instant::now();
        }
    }
    bar.finish_and_clear();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_spread_evenly_and_has_both_ends() {
        assert_eq!(sampled(10..=20, None).len(), 11);
        assert_eq!(sampled(10..=20, Some(3)), [10, 15, 20]);
        assert_eq!(sampled(10..=20, Some(1)), [10]);
        assert_eq!(sampled(10..=20, Some(50)).len(), 11);
        assert_eq!(sampled(0..=u64::MAX, Some(2)), [0, u64::MAX]);
        assert_eq!(sampled(7..=7, Some(1)), [7]);
    }
}
