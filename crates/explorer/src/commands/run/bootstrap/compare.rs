//! Compares the index of a snapshot with the node.

use std::{collections::BTreeSet, time::Duration};

use anyhow::{Context, bail};
use domain::{BlockId, BlockNumber, BlockRange, BlockRef, Order, PageRequest};
use ingest::{Difference, compare_block};
use node::{NodeClient, NodeError};
use store::{ChainReader, Store};

use crate::stores::advice;

/// Random blocks that are compared.
const SAMPLE: usize = 64;
const RETRY: Duration = Duration::from_secs(1);
const MAX_ATTEMPTS: u32 = 30;

/// What was compared.
#[derive(Debug)]
pub(super) struct Compared {
    pub(super) tip: BlockRef,
    pub(super) equal: usize,
    /// A node may have dropped old blocks.
    pub(super) missing: usize,
}

/// Compares the chain, the tip, the first block and random blocks. Waits for a node that is not reachable or behind.
pub(super) async fn compare_sample(
    store: &dyn Store,
    node: &NodeClient,
    start_block: Option<BlockNumber>,
) -> anyhow::Result<Compared> {
    let identity = until_known(async || node.identity().await.map(Some)).await;
    store.bind(identity, start_block).await.map_err(advice::explain_bootstrapped)?;
    let reader = store.reader();
    let tip = reader.find_tip().await?.context("it has no blocks")?;
    let base = base(store, node, tip).await?;
    let (mut equal, mut missing) = (0, 0);
    for number in sampled(reader.as_ref(), base).await? {
        match compare(node, reader.as_ref(), number).await?[..] {
            [] => equal += 1,
            [Difference::NotAtNode] if number != base => missing += 1,
            [ref first, ..] => bail!("block {number} is not what the node says: {first}"),
        }
    }
    Ok(Compared { tip, equal, missing })
}

/// The newest block that the node has, too: the tip, or one below, if the last blocks were orphaned since and can be reverted.
async fn base(store: &dyn Store, node: &NodeClient, tip: BlockRef) -> anyhow::Result<BlockNumber> {
    let at_node = until_known(async || node.find_block_ref(tip.number).await).await;
    if at_node.hash == tip.hash {
        return Ok(tip.number);
    }
    if let Some(oldest) = store.writer().oldest_revertible().await? {
        let stored = store.reader().find_block(BlockId::Number(oldest)).await?;
        let at_node = until_known(async || node.find_block_ref(oldest).await).await;
        if stored.is_some_and(|stored| stored.hash == at_node.hash) {
            tracing::info!(tip = tip.number, "the last blocks of the snapshot were orphaned: they will be reverted");
            return Ok(oldest);
        }
    }
    bail!("its tip, block {}, is {}, and {} at the node", tip.number, tip.hash, at_node.hash)
}

/// The first block, the given one, and random ones between them.
async fn sampled(reader: &dyn ChainReader, to: BlockNumber) -> anyhow::Result<BTreeSet<BlockNumber>> {
    let oldest = PageRequest { offset: 0, limit: 1, order: Order::OldestFirst };
    let first = reader.list_blocks(BlockRange::ALL, oldest).await?.items.into_iter().next();
    let from = first.context("it has no blocks")?.number;
    let mut numbers = BTreeSet::from([from, to]);
    if to - from < SAMPLE as u64 {
        numbers.extend(from..=to);
    } else {
        numbers.extend((0..SAMPLE).map(|_| rand::random_range(from..=to)));
    }
    Ok(numbers)
}

async fn compare(node: &NodeClient, reader: &dyn ChainReader, number: BlockNumber) -> anyhow::Result<Vec<Difference>> {
    let mut attempts = 0;
    loop {
        match compare_block(node, reader, number).await {
            Ok(differences) => return Ok(differences),
            Err(error) if attempts == MAX_ATTEMPTS => {
                return Err(error).with_context(|| format!("cannot compare block {number}"));
            }
            Err(error) => {
                tracing::warn!(%error, block = number, "cannot compare a block with the node: trying again");
                attempts += 1;
                tokio::time::sleep(RETRY).await;
            }
        }
    }
}

/// Asks until the node knows.
async fn until_known<T>(mut ask: impl AsyncFnMut() -> Result<Option<T>, NodeError>) -> T {
    loop {
        match ask().await {
            Ok(Some(known)) => return known,
            Ok(None) => tracing::warn!("waiting for the node: it does not have the newest block of the snapshot yet"),
            Err(error) => tracing::warn!(%error, "waiting for the node"),
        }
        tokio::time::sleep(RETRY).await;
    }
}
