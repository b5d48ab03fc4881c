//! How a node is told which state is meant.

use std::sync::atomic::Ordering;

use domain::BlockRef;

use crate::{NodeError, rpc_error::RpcErrorKind, upstream::Upstream};

/// Asks for the state of a block, which `ask` gets as JSON text: by hash (EIP-1898), so that all answers are of one
/// branch; by number where the node does not take a hash.
pub(crate) async fn at_state<T>(
    upstream: &Upstream,
    at: BlockRef,
    ask: impl AsyncFn(String) -> Result<T, NodeError>,
) -> Result<T, NodeError> {
    let lacks_state_by_hash = &upstream.abilities().lacks_state_by_hash;
    if !lacks_state_by_hash.load(Ordering::Relaxed) {
        match ask(format!(r#"{{"blockHash":"{}"}}"#, at.hash)).await {
            Err(error) if error.rpc_kind() == Some(RpcErrorKind::InvalidParams) => {
                tracing::info!(endpoint = upstream.name(), %error, "the node tells states by block number only");
                lacks_state_by_hash.store(true, Ordering::Relaxed);
            }
            outcome => return outcome,
        }
    }
    ask(format!(r#""{:#x}""#, at.number)).await
}
