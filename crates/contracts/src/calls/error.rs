use node::NodeError;
use store::StoreError;

/// Why a call has no result.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    #[error("no source code is known of the contract at this address: verify it first, with POST /api/v1/verify")]
    NotVerified,
    #[error("there is no contract at this address in the state that is asked")]
    NoCode,
    #[error("the contract has no function {name}; it has {}", known.join(", "))]
    UnknownFunction { name: String, known: Vec<String> },
    #[error("several functions are meant by {name}: name one of {}", signatures.join(", "))]
    Ambiguous { name: String, signatures: Vec<String> },
    #[error("{signature} does not only read: it is not view or pure")]
    NotView { signature: String },
    #[error("{signature} takes {wanted} arguments, not {given}")]
    ArgumentCount { signature: String, wanted: usize, given: usize },
    #[error("{place} {rule}")]
    Argument { place: String, rule: String },
    #[error("the call reverted: {0}")]
    Reverted(String),
    #[error("the contract answered {bytes} bytes that are not what the function returns")]
    NotTheAnswer { bytes: usize },
    #[error("the answer is longer than {max} bytes")]
    AnswerTooLong { max: usize },
    #[error("the node no longer has the state of that block")]
    StateGone,
    #[error("the interface of the contract cannot be used: {0}")]
    Interface(String),
    #[error(transparent)]
    Node(#[from] NodeError),
    #[error(transparent)]
    Store(#[from] StoreError),
}
