//! Reindexes from the first block that differs.

use std::{sync::Arc, time::Duration};

use anyhow::{Context, bail};
use domain::{BlockNumber, BlockRef, SyncPhase, SyncStatus};
use ingest::{Follower, IngestConfig, Progress};
use node::NodeClient;
use store::{ChainWriter, Store};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

const LOG_EVERY: Duration = Duration::from_secs(5);

/// Why the index cannot be reverted to before this block, and what to do instead; None if it can.
pub(super) async fn obstacle(
    writer: &dyn ChainWriter,
    first_bad: BlockNumber,
    start: BlockNumber,
) -> anyhow::Result<Option<String>> {
    let oldest = writer.oldest_revertible().await?.unwrap_or(start);
    if first_bad > start && first_bad > oldest {
        return Ok(None);
    }
    Ok(Some(format!(
        "Block {first_bad} cannot be reverted: the index can be reverted only to block {oldest}. Fill a new index of a data \
         folder from block {start} on with `explorer reindex`, or index into an empty database and bring API keys, webhooks and \
         verified contracts there with `explorer records export` and `import`."
    )))
}

/// Reverts the blocks from `first_bad` on, indexes to the node's head again, and returns the new tip.
pub(super) async fn reindex(
    node: &NodeClient,
    store: &dyn Store,
    first_bad: BlockNumber,
    start: BlockNumber,
) -> anyhow::Result<BlockRef> {
    let mut writer = store.writer();
    let before = writer.tip().await?.context("the index is empty")?;
    writer.revert_to(first_bad - 1).await.context("cannot revert the blocks")?;
    let (status, mut sync) = watch::channel(SyncStatus::starting());
    let progress = Arc::new(Progress::default());
    let config = IngestConfig::from_block(start);
    let reader = store.reader();
    let follower = Follower::new(node.clone(), writer, reader, config, status, Arc::clone(&progress));
    let cancel = CancellationToken::new();
    let following = tokio::spawn(follower.run(cancel.clone()));
    let tip = loop {
        let waited = tokio::time::timeout(LOG_EVERY, sync.changed()).await;
        let status = sync.borrow_and_update().clone();
        let lag = status.lag();
        match (status.phase, status.tip) {
            (SyncPhase::Halted { reason }, _) => bail!("indexing stopped: {reason}"),
            (SyncPhase::Following, Some(tip)) if lag == Some(0) => break tip,
            (_, tip) if waited.is_err() => {
                tracing::info!(block = tip.map(|tip| tip.number), of = before.number, "reindexing");
                if let Some(rejected) = node.status().rejected_block {
                    bail!("block {} of the node fails a check: {}", rejected.number, rejected.check);
                }
            }
            _ => {}
        }
        if waited.is_ok_and(|changed| changed.is_err()) {
            break sync.borrow().tip.context("indexing ended before the first block")?;
        }
    };
    cancel.cancel();
    following.await?.context("cannot write the index")?;
    Ok(tip)
}
