use node::NodeError;
use store::StoreError;

/// Why a read call failed.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    #[error("no source code is known of the contract at this address: verify it first, with POST /api/v1/verify")]
    NotVerified,
    #[error("there is no contract at this address at the requested block")]
    NoCode,
    #[error("the contract has no function {name}; it has {}", known.join(", "))]
    UnknownFunction { name: String, known: Vec<String> },
    #[error("{name} is ambiguous: use one of the signatures {}", signatures.join(", "))]
    Ambiguous { name: String, signatures: Vec<String> },
    #[error("{signature} is not a view or pure function")]
    NotView { signature: String },
    #[error("{signature} takes {expected} arguments, not {given}")]
    ArgumentCount { signature: String, expected: usize, given: usize },
    #[error("{path} {rule}")]
    Argument { path: String, rule: String },
    #[error("the call reverted: {0}")]
    Reverted(String),
    #[error("the contract returned {bytes} bytes that do not decode as the outputs of the function")]
    UndecodableOutput { bytes: usize },
    #[error("the contract returned more than {max} bytes")]
    OutputTooLong { max: usize },
    #[error("the node no longer has the state of that block")]
    StateGone,
    #[error("the ABI of the contract is invalid: {0}")]
    Interface(String),
    #[error(transparent)]
    Node(#[from] NodeError),
    #[error(transparent)]
    Store(#[from] StoreError),
}
