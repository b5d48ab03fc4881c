//! Follows the node into the store.

use std::{sync::Arc, time::Duration};

use domain::{BlockNumber, ChainTokenPrefix, SyncStatus};
use ingest::{Follower, IngestConfig, IngestError, OperatorRequests, Progress, Traces};
use node::NodeClient;
use store::Store;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{config::Location, stores};

/// Pause between attempts to read the node's chain identity.
const NODE_RETRY: Duration = Duration::from_secs(1);

/// Indexes the chain of a node.
pub(crate) struct Following {
    pub(crate) node: NodeClient,
    pub(crate) store: Arc<dyn Store>,
    /// Whether other processes may have the store open, too.
    pub(crate) is_shared: bool,
    pub(crate) location: Location,
    pub(crate) start_block: Option<BlockNumber>,
    pub(crate) traces: Traces,
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
        let Some(start_block) = cancel.run_until_cancelled(self.bind()).await.transpose()? else { return Ok(()) };
        let config = IngestConfig {
            traces: self.traces,
            window_bytes: self.waiting_blocks,
            ..IngestConfig::from_block(start_block)
        };
        loop {
            let (writer, reader) = (self.store.writer(), self.store.reader());
            let (node, status, progress) = (self.node.clone(), self.status.clone(), Arc::clone(&self.progress));
            let follower = Follower::new(node, writer, reader, config, status, progress);
            let follower = follower.with_requests(Arc::clone(&self.requests));
            match follower.run(cancel.clone()).await {
                // Another process has taken over: from now on, this one stands by.
                Err(IngestError::WriterReplaced) if self.is_shared => {}
                // The process ends, since a second writer of its own store was taken. Whoever supervises it starts it again.
                Err(error @ IngestError::WriterReplaced) => return Err(error.into()),
                // The error was logged and is shown in the status; the API keeps serving.
                Ok(()) | Err(IngestError::Store(_)) => return Ok(()),
            }
        }
    }

    /// Waits until the node reports its chain, and binds the data to that chain.
    async fn bind(&self) -> anyhow::Result<BlockNumber> {
        loop {
            match self.node.identity().await {
                Ok(identity) => match self.store.bind(identity, self.start_block).await {
                    Err(error) if error.is_transient() => {
                        tracing::warn!(%error, "waiting for the store");
                        tokio::time::sleep(NODE_RETRY).await;
                    }
                    Err(error) => return Err(stores::explain_binding(error, &self.location)),
                    Ok(start_block) => {
                        self.page_prefix.choose(identity.chain_id);
                        return Ok(start_block);
                    }
                },
                Err(error) => {
                    tracing::warn!(%error, "waiting for the node");
                    tokio::time::sleep(NODE_RETRY).await;
                }
            }
        }
    }
}
