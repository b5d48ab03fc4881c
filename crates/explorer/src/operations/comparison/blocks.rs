//! Compares blocks of the index with each other, and with those of the node.

use std::{
    ops::RangeInclusive,
    time::{Duration, Instant},
};

use anyhow::Context;
use domain::{B256, BlockNumber, BlockRange, BlockRef, Order, PageRequest};
use futures::StreamExt;
use ingest::{Difference, compare_block};
use node::NodeClient;
use store::ChainReader;

use super::report::Report;
use crate::terminal::progress_bar::{ProgressBar, Unit};

/// Blocks compared concurrently.
const CONCURRENCY: usize = 32;
/// Blocks per page read from the index.
const PAGE: u32 = 1_000;
const LOG_EVERY: Duration = Duration::from_secs(5);

/// The first and the newest block of the index; None if it is empty.
pub(crate) async fn extent(reader: &dyn ChainReader) -> anyhow::Result<Option<(BlockNumber, BlockRef)>> {
    let Some(tip) = reader.find_tip().await? else { return Ok(None) };
    let oldest = PageRequest { offset: 0, limit: 1, order: Order::OldestFirst };
    let first = reader.list_blocks(BlockRange::ALL, oldest).await?.items.into_iter().next();
    Ok(first.map(|first| (first.number, tip)))
}

/// Checks that each block is the child of the previous one.
pub(crate) async fn check_links(
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

/// Compares each of these blocks with the node.
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
