use domain::{Account, Address, BlockNumber, BlockRef, ChainIdentity, FetchedBlock};

use crate::{Heads, NodeConfig, NodeError, NodeStatus};

/// Speaks with the node. Cheap to clone; all clones share connections, limits and counters.
#[derive(Debug, Clone)]
pub struct NodeClient {}

#[allow(unused_variables)]
impl NodeClient {
    /// Opens nothing yet: the node may be down.
    pub fn new(config: NodeConfig) -> Result<Self, NodeError> {
        Ok(Self {})
    }

    /// Which chain the node serves.
    pub async fn identity(&self) -> Result<ChainIdentity, NodeError> {
        Err(NodeError::NoEndpoint)
    }

    /// The node's newest block.
    pub async fn head(&self) -> Result<BlockRef, NodeError> {
        Err(NodeError::NoEndpoint)
    }

    /// The newest block that the node holds for final; None where it knows of no such thing.
    pub async fn finalized(&self) -> Result<Option<BlockNumber>, NodeError> {
        Err(NodeError::NoEndpoint)
    }

    /// The block at a height, by its header alone; None where the node does not have it (yet).
    pub async fn find_block_ref(&self, number: BlockNumber) -> Result<Option<BlockRef>, NodeError> {
        Err(NodeError::NoEndpoint)
    }

    /// The block at a height with transactions, receipts and logs, all checked; None where the node does not have it
    /// (yet).
    pub async fn find_block(&self, number: BlockNumber) -> Result<Option<FetchedBlock>, NodeError> {
        Err(NodeError::NoEndpoint)
    }

    /// Balance, nonce and code of an account at a block. Where the node no longer has the state of that block, at the
    /// node's head: [`Account::block`] tells.
    pub async fn account(&self, address: Address, at: BlockRef) -> Result<Account, NodeError> {
        Err(NodeError::NoEndpoint)
    }

    /// New heads from now on, beginning with the present one.
    #[must_use]
    pub fn heads(&self) -> Heads {
        Heads::new(self.clone())
    }

    #[must_use]
    pub fn status(&self) -> NodeStatus {
        NodeStatus {
            reachable: false,
            endpoint: String::new(),
            concurrency_limit: 0,
            requests: 0,
            retries: 0,
            refused_answers: 0,
        }
    }
}
