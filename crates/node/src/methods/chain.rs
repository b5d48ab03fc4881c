//! Which chain the node serves, its head and its headers.

use domain::{BlockNumber, BlockRef, ChainIdentity};
use futures::future::BoxFuture;

use crate::{
    client::NodeClient,
    dev_chain::{DEV_CHAIN_IDS, is_dev_chain},
    endpoint::{failover::KnownChain, health::Operation, upstream::Upstream},
    error::NodeError,
    rpc_error::RpcErrorKind,
    rpc_method::RpcMethod,
};

impl NodeClient {
    /// Which chain the node serves.
    pub fn identity(&self) -> BoxFuture<'_, Result<ChainIdentity, NodeError>> {
        Box::pin(async move {
            let failover = self.failover();
            self.with_retries(
                Operation::Identity,
                self.tries(),
                |index, _| async move { failover.identity(index).await },
            )
            .await
        })
    }

    /// The node's latest block.
    pub fn head(&self) -> BoxFuture<'_, Result<BlockRef, NodeError>> {
        Box::pin(async move {
            self.with_retries(Operation::Head, self.tries(), |_, upstream| async move { upstream.head().await }).await
        })
    }

    /// The node's latest block, without retries: pollers retry on their own.
    pub(crate) async fn head_once(&self) -> Result<BlockRef, NodeError> {
        self.with_retries(Operation::Head, 1, |_, upstream| async move { upstream.head().await }).await
    }

    /// The number of the node's latest block, without retries.
    pub(crate) async fn head_number_once(&self) -> Result<BlockNumber, NodeError> {
        self.with_retries(Operation::Head, 1, |_, upstream| async move { upstream.head_number().await }).await
    }

    /// The node's `web3_clientVersion`.
    pub fn client_version(&self) -> BoxFuture<'_, Result<String, NodeError>> {
        Box::pin(async move {
            let request = |_, upstream: Upstream| async move { upstream.client_version().await };
            self.with_retries(Operation::Identity, 1, request).await
        })
    }

    /// Whether the node serves a chain for development, see [`crate::is_dev_chain`]. Requested once for each chain; an error if the
    /// node does not answer, and it is not known.
    pub fn is_dev_chain(&self) -> BoxFuture<'_, Result<bool, NodeError>> {
        Box::pin(self.detect_dev_chain())
    }

    /// The newest finalized block; None if the node has no notion of finality.
    pub fn finalized(&self) -> BoxFuture<'_, Result<Option<BlockNumber>, NodeError>> {
        Box::pin(async move {
            let request = |_, upstream: Upstream| async move {
                match upstream.header("finalized").await {
                    Ok(block) => Ok(block.map(|block| block.number)),
                    // The tag is unknown, or nothing is finalized yet: error messages vary between nodes.
                    Err(NodeError::Rpc { code, message, data, method }) => {
                        let error = NodeError::Rpc { method, code, message, data };
                        if error.rpc_kind() == Some(RpcErrorKind::Transient) { Err(error) } else { Ok(None) }
                    }
                    Err(error) => Err(error),
                }
            };
            // No retries: callers poll, and can continue without.
            self.with_retries(Operation::Finalized, 1, request).await
        })
    }

    /// The header of the block at a height; None if the node does not have it (yet).
    pub fn find_block_ref(&self, number: BlockNumber) -> BoxFuture<'_, Result<Option<BlockRef>, NodeError>> {
        Box::pin(async move {
            let request = |_, upstream: Upstream| async move {
                let found = upstream.header(&format!("{number:#x}")).await?;
                match found {
                    Some(block) if block.number != number => Err(NodeError::invalid_response(
                        RpcMethod::GetBlockByNumber,
                        format_args!("requested block {number}, got block {}", block.number),
                    )),
                    found => Ok(found),
                }
            };
            self.with_retries(Operation::Header, self.tries(), request).await
        })
    }

    async fn detect_dev_chain(&self) -> Result<bool, NodeError> {
        let identity = match self.failover().known_identity() {
            Some(identity) => identity,
            None => self.identity().await?,
        };
        if let Some(known) = self.failover().known_chain(identity) {
            return Ok(known.is_dev_chain);
        }
        let is_dev_chain = DEV_CHAIN_IDS.contains(&identity.chain_id)
            || match self.client_version().await {
                Ok(version) => is_dev_chain(identity.chain_id, &version),
                // Some hosted nodes do not tell; none of them is for development.
                Err(error) if error.lacks_method() => false,
                Err(error) => return Err(error),
            };
        self.failover().remember_chain(KnownChain { identity, is_dev_chain });
        Ok(is_dev_chain)
    }
}
