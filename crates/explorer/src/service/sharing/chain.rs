//! The chain that another process indexes.

use std::{sync::Arc, time::Duration};

use anyhow::bail;
use domain::{BlockId, BlockRef, ChainIdentity, SyncStatus};
use node::NodeClient;
use store::{ChainReader, StoreError};
use tokio::{sync::watch, time::Instant};

use crate::{
    config::indexing::OnNewChain,
    service::supervisor::Supervisor,
    stores::{SharedStore, SyncReport},
};

/// How long the start waits for a node. One that is down is compared when it answers.
const START_WAIT: Duration = Duration::from_secs(2);
/// How often nodes are compared again, and the block with which they are. Behind an address, there may be another node by now.
const COMPARE: Duration = Duration::from_secs(30);

/// Compares the node with the index before this process uses it.
///
/// # Errors
/// If no endpoint serves the indexed chain, unless the process that indexes would start over with that of the node.
pub(in crate::service) async fn compare_at_start(
    node: &NodeClient,
    store: &SharedStore,
    on_new_chain: OnNewChain,
) -> anyhow::Result<()> {
    let SyncReport { status, settled, .. } = match store.read_sync().await {
        Ok(report) => report,
        Err(error) => {
            tracing::warn!(%error, "cannot read which chain is indexed, comparing the node later");
            return Ok(());
        }
    };
    let Some(indexed) = status.chain else { return Ok(()) };
    node.expect_chain(indexed);
    node.expect_block(settled.filter(|block| block.number > 0));
    let Ok(Err(error)) = tokio::time::timeout(START_WAIT, node.identity()).await else { return Ok(()) };
    if !node.refuses_all() {
        return Ok(());
    }
    let may_start_over = match on_new_chain {
        OnNewChain::Reset => true,
        OnNewChain::Halt => false,
        OnNewChain::ByChain => status.is_dev_chain || node::is_dev_chain(indexed.chain_id, ""),
    };
    if may_start_over {
        tracing::warn!(%error, "waiting for the process that indexes to start over with the chain of the node");
        return Ok(());
    }
    bail!(
        "the node serves another chain than the index in the database: {error}. Point --rpc at a node of the indexed chain, or use \
         another database with --database"
    )
}

/// Uses only nodes that serve the chain that another process indexes, also after that one has started over with a new chain.
pub(in crate::service) fn expect_indexed(
    node: &NodeClient,
    reader: &Arc<dyn ChainReader>,
    sync: &watch::Receiver<SyncStatus>,
    supervisor: &Supervisor,
) {
    let expecting = Expecting { node: node.clone(), reader: Arc::clone(reader), sync: sync.clone() };
    supervisor.spawn("expected-chain", move |cancel| {
        let expecting = expecting.clone();
        async move {
            cancel.run_until_cancelled(expecting.run()).await;
        }
    });
}

#[derive(Clone)]
struct Expecting {
    node: NodeClient,
    reader: Arc<dyn ChainReader>,
    sync: watch::Receiver<SyncStatus>,
}

/// What nodes were compared with.
#[derive(Clone, Copy)]
struct Compared {
    chain: ChainIdentity,
    block: Option<BlockRef>,
    at: Instant,
}

impl Compared {
    /// Whether the index may no longer have it.
    fn is_outdated(&self, status: &SyncStatus) -> bool {
        let is_settled = self.block.is_none_or(|block| status.settled >= Some(block.number));
        let is_better_known = self.block.is_none() && status.settled.is_some_and(|settled| settled > 0);
        !is_settled || is_better_known || Some(self.chain) != status.chain || self.at.elapsed() >= COMPARE
    }
}

impl Expecting {
    /// Never returns.
    async fn run(mut self) {
        let mut compared: Option<Compared> = None;
        loop {
            let status = self.sync.borrow_and_update().clone();
            if let Some(chain) = status.chain
                && compared.is_none_or(|compared| compared.is_outdated(&status))
            {
                self.node.expect_chain(chain);
                match self.find_settled(&status).await {
                    Ok(block) => {
                        self.node.expect_block(block);
                        self.node.confirm_chain().await;
                        compared = Some(Compared { chain, block, at: Instant::now() });
                    }
                    Err(error) => tracing::debug!(%error, "cannot read a block to compare the node with"),
                }
            }
            // Without a sender, the status stays.
            if let Ok(Err(_)) = tokio::time::timeout(COMPARE, self.sync.changed()).await {
                tokio::time::sleep(COMPARE).await;
            }
        }
    }

    /// The latest block that no reorg reverts; None while that is only the genesis block.
    async fn find_settled(&self, status: &SyncStatus) -> Result<Option<BlockRef>, StoreError> {
        let Some(number) = status.settled.filter(|number| *number > 0) else { return Ok(None) };
        let block = self.reader.find_block(BlockId::Number(number)).await?;
        Ok(block.map(|block| BlockRef { number, hash: block.hash }))
    }
}
