//! Follows the node into the store.

use std::{sync::Arc, time::Duration};

use domain::{BlockNumber, ChainIdentity, ChainTokenPrefix, SyncPhase, SyncStatus};
use ingest::{Follower, IngestConfig, IngestError, OperatorRequests, Progress};
use node::{NodeClient, NodeConfig, NodeError};
use store::{Store, StoreError};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{
    config::{
        indexing::{IndexingConfig, OnNewChain},
        location::Location,
    },
    stores::advice,
};

/// Pause between attempts to read the node's chain identity.
const NODE_RETRY: Duration = Duration::from_secs(1);
/// Pause between attempts to drop the index.
const STORE_RETRY: Duration = Duration::from_millis(500);

/// Indexes the chain of a node.
pub(crate) struct Following {
    pub(crate) node: NodeClient,
    /// Of the same node.
    pub(crate) node_config: NodeConfig,
    pub(crate) indexing: IndexingConfig,
    pub(crate) store: Arc<dyn Store>,
    /// Whether other processes may have the store open, too.
    pub(crate) is_shared: bool,
    pub(crate) location: Location,
    /// Chosen by the chain, unless the operator gave one.
    pub(crate) page_prefix: ChainTokenPrefix,
    /// Bytes.
    pub(crate) waiting_blocks: usize,
    pub(crate) status: watch::Sender<SyncStatus>,
    pub(crate) progress: Arc<Progress>,
    pub(crate) requests: Arc<OperatorRequests>,
}

impl Following {
    pub(crate) async fn run(self, cancel: CancellationToken) -> anyhow::Result<()> {
        // While the node is down, pages show which chain is indexed.
        let known = self.store.identity().await.ok().flatten();
        let is_dev_chain = self.store.is_dev_chain().await.unwrap_or_default();
        self.status.send_modify(|status| (status.chain, status.is_dev_chain) = (known, is_dev_chain));
        let mut was_bound = false;
        loop {
            let bound = cancel.run_until_cancelled(self.bind(was_bound)).await;
            let Some(Bound { start_block, starts_over }) = bound.transpose()? else { return Ok(()) };
            was_bound = true;
            let config = IngestConfig {
                traces: self.indexing.traces,
                window_bytes: self.waiting_blocks,
                starts_over,
                ..IngestConfig::from_block(start_block)
            };
            let (writer, reader) = (self.store.writer(), self.store.reader());
            let (node, status, progress) = (self.node.clone(), self.status.clone(), Arc::clone(&self.progress));
            let follower = Follower::new(node, writer, reader, config, status, progress);
            let follower = follower.with_requests(Arc::clone(&self.requests));
            match follower.run(cancel.clone()).await {
                // Decided when it is bound again.
                Err(IngestError::OtherChain) => {}
                Err(IngestError::TooDeep) => self.start_over_with_same_chain().await,
                Err(IngestError::WriterReplaced) if self.is_shared => {
                    tracing::info!("another process has taken over the index, standing by");
                }
                // The process ends, since a second writer of its own store was taken. Whoever supervises it starts it again.
                Err(error @ IngestError::WriterReplaced) => {
                    tracing::error!("another writer has taken over the index, indexing stops here");
                    let reason = error.to_string();
                    self.status.send_modify(|status| status.phase = SyncPhase::Halted { reason });
                    return Err(error.into());
                }
                // The error was logged and is shown in the status; the API keeps serving.
                Ok(()) | Err(IngestError::Store(_)) => return Ok(()),
            }
        }
    }

    /// Waits until the node reports its chain, and binds the data to that chain. If the data has another one, it is dropped, or this
    /// waits for the node to serve that chain again; at the start of the process, it fails instead.
    async fn bind(&self, was_bound: bool) -> anyhow::Result<Bound> {
        let mut is_reported = false;
        loop {
            let served = match self.node.identity().await {
                Ok(served) => Ok(served),
                Err(error) => self.node.other_chain().ok_or(error),
            };
            let outcome = match served {
                Ok(chain) => self.bind_to(chain).await,
                Err(error) => Err(BindError::Node(error)),
            };
            match outcome {
                Ok(bound) => return Ok(bound),
                Err(BindError::Store(StoreError::OtherChain { stored, requested })) => {
                    if self.may_start_over(stored).await {
                        self.start_over(stored, requested).await;
                        continue;
                    }
                    if !was_bound {
                        let error = StoreError::OtherChain { stored, requested };
                        return Err(advice::explain_binding(error, &self.location));
                    }
                    if !std::mem::replace(&mut is_reported, true) {
                        self.report_other_chain(stored, requested);
                    }
                }
                Err(BindError::Node(error)) => tracing::warn!(%error, "waiting for the node"),
                Err(BindError::Store(error)) if error.is_transient() => tracing::warn!(%error, "waiting for the store"),
                Err(BindError::Store(error)) => return Err(advice::explain_binding(error, &self.location)),
            }
            tokio::time::sleep(NODE_RETRY).await;
        }
    }

    async fn bind_to(&self, chain: ChainIdentity) -> Result<Bound, BindError> {
        let start_block = self.store.bind(chain, self.indexing.start_block).await?;
        self.node.expect_chain(chain);
        let is_dev_node = self.node.is_dev_chain().await?;
        // A copy of a public chain, served by a node for development, continues the index of a public chain.
        if self.store.reader().find_tip().await?.is_none() && self.store.is_dev_chain().await? != is_dev_node {
            self.store.set_dev_chain(is_dev_node).await?;
        }
        let is_dev_chain = self.is_dev_index(chain).await?;
        self.page_prefix.choose(chain.chain_id);
        self.status.send_modify(|status| {
            (status.chain, status.is_dev_chain) = (Some(chain), is_dev_chain);
            if status.other_chain.take().is_some() {
                status.phase = SyncPhase::Starting;
            }
        });
        let starts_over = is_dev_chain && is_dev_node && self.indexing.on_new_chain != OnNewChain::Halt;
        Ok(Bound { start_block, starts_over })
    }

    /// Whether the index was filled from a chain for development.
    async fn is_dev_index(&self, stored: ChainIdentity) -> Result<bool, StoreError> {
        Ok(node::is_dev_chain(stored.chain_id, "") || self.store.is_dev_chain().await?)
    }

    /// By default, the index of a public chain is never dropped, whatever the node is.
    async fn may_start_over(&self, stored: ChainIdentity) -> bool {
        match self.indexing.on_new_chain {
            OnNewChain::Reset => true,
            OnNewChain::Halt => false,
            OnNewChain::ByChain => self.is_dev_index(stored).await.unwrap_or_default() && self.serves_dev_chain().await,
        }
    }

    /// Whether the node that serves another chain than the expected one is for development.
    async fn serves_dev_chain(&self) -> bool {
        // Not with the client that expects the indexed chain: it refuses to use this node.
        let Ok(client) = NodeClient::new(self.node_config.clone()) else { return false };
        client.is_dev_chain().await.unwrap_or_default()
    }

    async fn start_over(&self, stored: ChainIdentity, found: ChainIdentity) {
        tracing::warn!(indexed = %stored, %found, "the chain was reset: dropping the index, and indexing the new chain; keys, webhooks \
            and verified sources stay");
        match self.store.writer().start_over(found).await {
            Ok(()) => {
                self.node.expect_chain(found);
                self.status.send_modify(|status| {
                    *status = SyncStatus { chain: Some(found), node_reachable: true, ..SyncStatus::starting() };
                });
            }
            Err(error) => {
                tracing::warn!(%error, "cannot drop the index, retrying");
                tokio::time::sleep(STORE_RETRY).await;
            }
        }
    }

    /// For a chain that was reset with the same genesis block, or that was rolled back further than blocks can be reverted.
    async fn start_over_with_same_chain(&self) {
        if let Ok(Some(chain)) = self.store.identity().await {
            self.start_over(chain, chain).await;
        }
    }

    fn report_other_chain(&self, indexed: ChainIdentity, found: ChainIdentity) {
        let advice = advice::advise_other_chain(&self.location, &indexed, &found);
        tracing::error!("{advice}");
        self.status.send_modify(|status| {
            status.phase = SyncPhase::Halted { reason: advice };
            status.node_reachable = true;
            status.other_chain = Some(found);
        });
    }
}

#[derive(Debug, thiserror::Error)]
enum BindError {
    #[error(transparent)]
    Node(#[from] NodeError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The chain of the data is that of the node.
struct Bound {
    start_block: BlockNumber,
    /// Whether a fork that is too deep to revert drops the index.
    starts_over: bool,
}
