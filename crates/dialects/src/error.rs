use contracts::calls::CallError;
use enrichment::AccountError;
use node::NodeError;
use store::StoreError;

/// Why a request failed for reasons that are not its own.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DialectError {
    #[error("no block is indexed yet")]
    NothingIndexed,
    #[error("too many requests of the client wait")]
    Busy,
    #[error("a response took too long to read")]
    TooSlow,
    #[error("the list has too many other rows between those that are asked for")]
    TooManyScanned,
    #[error("the node does not have an indexed transaction in its block")]
    Moved,
    #[error("the node does not have the state of the newest indexed block")]
    OlderState,
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
        match self {
            Self::Busy | Self::TooSlow | Self::TooManyScanned => {
                tracing::debug!(error, "a request in another dialect ended");
            }
            Self::NothingIndexed
            | Self::Moved
            | Self::OlderState
            | Self::Store(_)
            | Self::Node(_)
            | Self::Account(_)
            | Self::Call(_) => tracing::warn!(error, "a request in another dialect failed"),
        }
        match self {
            Self::Busy => "Max rate limit reached: too many of your requests wait. Please respect the rate limit.",
            Self::TooSlow => "The response was not read in time.",
            Self::TooManyScanned => {
                "Query Timeout occured. Please select a smaller result dataset: give contractaddress, or startblock and endblock."
            }
            Self::NothingIndexed => "No block is indexed yet. Try again shortly.",
            Self::Store(_) | Self::Account(AccountError::Store(_)) | Self::Call(CallError::Store(_)) => {
                "The index is unavailable. Try again shortly."
            }
            Self::Moved => "A transaction moved to another block meanwhile. Try again.",
            Self::OlderState | Self::Node(_) | Self::Account(_) | Self::Call(_) => {
                "The node is unavailable. Try again shortly."
            }
        }
    }
}
