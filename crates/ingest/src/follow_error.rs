use node::NodeError;
use store::StoreError;

/// Why the index did not advance. Node errors are retried; a fatal store error stops indexing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FollowError {
    #[error(transparent)]
    Node(#[from] NodeError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the node's chain forks off below the lowest block that can be reverted")]
    TooDeep,
}
