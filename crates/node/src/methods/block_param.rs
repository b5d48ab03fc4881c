//! The block parameter of calls that read the state of a block.

use std::{fmt, sync::atomic::Ordering};

use domain::BlockRef;

use crate::{endpoint::upstream::Upstream, error::NodeError, rpc_error::RpcErrorKind};

/// The state at which calls are executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallBlock {
    /// The node's head.
    Latest,
    At(BlockRef),
}

/// As JSON text: by number, which every node accepts.
impl fmt::Display for CallBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Latest => f.write_str(r#""latest""#),
            Self::At(block) => write!(f, r#""{:#x}""#, block.number),
        }
    }
}

/// Selects the state of a block in a request.
#[derive(Debug)]
pub(crate) enum BlockParam {
    /// By EIP-1898: all results are of one branch.
    Hash(BlockRef),
    Number(BlockRef),
}

impl BlockParam {
    /// By hash, unless the node is known not to support that.
    pub(crate) fn of(upstream: &Upstream, at: BlockRef) -> Self {
        if upstream.capabilities().lacks_state_by_hash.load(Ordering::Relaxed) {
            Self::Number(at)
        } else {
            Self::Hash(at)
        }
    }

    /// The parameter to retry with if the error shows that the node does not support hashes, which is remembered.
    pub(crate) fn fallback(&self, upstream: &Upstream, error: &NodeError) -> Option<Self> {
        let Self::Hash(at) = *self else { return None };
        if error.rpc_kind() != Some(RpcErrorKind::InvalidParams) {
            return None;
        }
        if !upstream.capabilities().lacks_state_by_hash.swap(true, Ordering::Relaxed) {
            tracing::info!(endpoint = upstream.name(), %error, "the node does not support state queries by block hash, using numbers");
        }
        Some(Self::Number(at))
    }
}

/// As JSON text.
impl fmt::Display for BlockParam {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hash(at) => write!(f, r#"{{"blockHash":"{}"}}"#, at.hash),
            Self::Number(at) => write!(f, r#""{:#x}""#, at.number),
        }
    }
}
