//! `eth_getCode` for many accounts.

use alloy_primitives::Bytes;
use domain::{Address, BlockNumber, BlockRef};

use crate::{
    NodeError,
    decode::HexBytes,
    rpc_error::RpcErrorKind,
    state::BlockParam,
    upstream::{Call, Upstream},
};

const METHOD: &str = "eth_getCode";
/// Codes per request: each may be tens of kilobytes long.
const GROUP: usize = 25;

/// Code in the order of the addresses, and the block at which it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Codes {
    pub codes: Vec<Bytes>,
    pub block: BlockNumber,
}

pub(crate) async fn fetch_codes(upstream: &Upstream, addresses: &[Address], at: BlockRef) -> Result<Codes, NodeError> {
    match codes_at(upstream, addresses, at).await {
        // The node has pruned this state.
        Err(error) if error.rpc_kind() == Some(RpcErrorKind::StateGone) => {
            let head = upstream.head().await?;
            if head.number < at.number {
                return Err(error);
            }
            codes_at(upstream, addresses, head).await
        }
        outcome => outcome,
    }
}

async fn codes_at(upstream: &Upstream, addresses: &[Address], at: BlockRef) -> Result<Codes, NodeError> {
    let state = BlockParam::of(upstream, at);
    let outcome = request_codes(upstream, addresses, &state).await;
    let codes = match outcome.as_ref().err().and_then(|error| state.fallback(upstream, error)) {
        Some(other) => request_codes(upstream, addresses, &other).await?,
        None => outcome?,
    };
    Ok(Codes { codes, block: at.number })
}

async fn request_codes(
    upstream: &Upstream,
    addresses: &[Address],
    state: &BlockParam,
) -> Result<Vec<Bytes>, NodeError> {
    let mut codes = Vec::with_capacity(addresses.len());
    for group in addresses.chunks(GROUP) {
        let calls: Vec<Call> =
            group.iter().map(|address| Call::new(METHOD, format!(r#"["{address:#x}",{state}]"#))).collect();
        for response in upstream.call_many::<HexBytes>(&calls).await? {
            codes.push(response?.ok_or_else(|| NodeError::invalid_response(METHOD, "no result"))?.0);
        }
    }
    Ok(codes)
}
