//! How a node is told which state is meant.

use std::{fmt, sync::atomic::Ordering};

use domain::BlockRef;

use crate::{NodeError, rpc_error::RpcErrorKind, upstream::Upstream};

/// The state of a block, in the words of one request.
#[derive(Debug)]
pub(crate) enum StateName {
    /// By EIP-1898: all answers are of one branch.
    Hash(BlockRef),
    Number(BlockRef),
}

impl StateName {
    /// By hash, until the node turned out not to take one.
    pub(crate) fn of(upstream: &Upstream, at: BlockRef) -> Self {
        if upstream.abilities().lacks_state_by_hash.load(Ordering::Relaxed) { Self::Number(at) } else { Self::Hash(at) }
    }

    /// What to ask with instead, if the error says that the node takes no hash. That is remembered.
    pub(crate) fn instead(&self, upstream: &Upstream, error: &NodeError) -> Option<Self> {
        let Self::Hash(at) = *self else { return None };
        if error.rpc_kind() != Some(RpcErrorKind::InvalidParams) {
            return None;
        }
        if !upstream.abilities().lacks_state_by_hash.swap(true, Ordering::Relaxed) {
            tracing::info!(endpoint = upstream.name(), %error, "the node tells states by block number only");
        }
        Some(Self::Number(at))
    }
}

/// As JSON text.
impl fmt::Display for StateName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hash(at) => write!(f, r#"{{"blockHash":"{}"}}"#, at.hash),
            Self::Number(at) => write!(f, r#""{:#x}""#, at.number),
        }
    }
}
