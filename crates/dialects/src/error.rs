use contracts::calls::CallError;
use enrichment::AccountError;
use node::NodeError;
use store::StoreError;

/// Why a request failed for reasons that are not its own.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DialectError {
    #[error("no block is indexed yet")]
    NothingIndexed,
    #[error("the node does not have an indexed transaction in its block")]
    Moved,
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Node(#[from] NodeError),
    #[error(transparent)]
    Account(#[from] AccountError),
    #[error(transparent)]
    Call(#[from] CallError),
}

impl DialectError {
    /// What the client sees: never the cause, which is logged here, once.
    pub(crate) fn report(&self) -> &'static str {
        let error: &dyn std::error::Error = self;
        tracing::warn!(error, "a request in another dialect failed");
        match self {
            Self::NothingIndexed => "No block is indexed yet. Try again shortly.",
            Self::Store(_) | Self::Account(AccountError::Store(_)) | Self::Call(CallError::Store(_)) => {
                "The index is unavailable. Try again shortly."
            }
            Self::Moved => "A transaction moved to another block meanwhile. Try again.",
            Self::Node(_) | Self::Account(_) | Self::Call(_) => "The node is unavailable. Try again shortly.",
        }
    }
}
