use node::NodeError;
use store::StoreError;

/// Why a step was given up. A node that fails is waited for; a store that fails is the end of following.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Setback {
    #[error(transparent)]
    Node(#[from] NodeError),
    #[error(transparent)]
    Store(#[from] StoreError),
}
