//! Code and storage of a contract.

use alloy_primitives::Bytes;
use domain::{Address, B256};

use crate::{
    CallBlock, NodeError,
    decode::HexBytes,
    rpc_error::RpcErrorKind,
    upstream::{Call, Upstream},
};

const CODE: &str = "eth_getCode";
const STORAGE: &str = "eth_getStorageAt";
/// Codes per request: each may be tens of kilobytes long.
const CODES_AT_ONCE: usize = 25;

pub(crate) async fn fetch_code(upstream: &Upstream, address: Address, at: CallBlock) -> Result<Bytes, NodeError> {
    match code_at(upstream, address, at).await {
        // The node has pruned this state. Code rarely changes, so the latest is good enough.
        Err(error) if error.rpc_kind() == Some(RpcErrorKind::StateGone) && at != CallBlock::Latest => {
            code_at(upstream, address, CallBlock::Latest).await
        }
        outcome => outcome,
    }
}

/// The code at many addresses, in their order.
pub(crate) async fn fetch_codes(
    upstream: &Upstream,
    addresses: &[Address],
    at: CallBlock,
) -> Result<Vec<Bytes>, NodeError> {
    match codes_at(upstream, addresses, at).await {
        Err(error) if error.rpc_kind() == Some(RpcErrorKind::StateGone) && at != CallBlock::Latest => {
            codes_at(upstream, addresses, CallBlock::Latest).await
        }
        outcome => outcome,
    }
}

async fn codes_at(upstream: &Upstream, addresses: &[Address], at: CallBlock) -> Result<Vec<Bytes>, NodeError> {
    let block = block_text(at);
    let mut codes = Vec::with_capacity(addresses.len());
    for group in addresses.chunks(CODES_AT_ONCE) {
        let call = |address: &Address| Call::new(CODE, format!(r#"["{address:#x}",{block}]"#));
        let calls: Vec<Call> = group.iter().map(call).collect();
        for response in upstream.call_many::<HexBytes>(&calls).await? {
            codes.push(response?.ok_or_else(|| NodeError::invalid_response(CODE, "null"))?.0);
        }
    }
    Ok(codes)
}

async fn code_at(upstream: &Upstream, address: Address, at: CallBlock) -> Result<Bytes, NodeError> {
    let block = block_text(at);
    let code = upstream.call::<HexBytes>(&Call::new(CODE, format!(r#"["{address:#x}",{block}]"#))).await?;
    Ok(code.ok_or_else(|| NodeError::invalid_response(CODE, "null"))?.0)
}

pub(crate) async fn fetch_storage(
    upstream: &Upstream,
    address: Address,
    slots: &[B256],
    at: CallBlock,
) -> Result<Vec<B256>, NodeError> {
    let block = block_text(at);
    let call = |slot: &B256| Call::new(STORAGE, format!(r#"["{address:#x}","{slot}",{block}]"#));
    let calls: Vec<Call> = slots.iter().map(call).collect();
    let responses = upstream.call_many::<HexBytes>(&calls).await?;
    let read = |response: Result<Option<HexBytes>, NodeError>| {
        let word = response?.ok_or_else(|| NodeError::invalid_response(STORAGE, "null"))?.0;
        if word.len() > B256::len_bytes() {
            return Err(NodeError::invalid_response(STORAGE, "more than 32 bytes"));
        }
        Ok(B256::left_padding_from(&word))
    };
    responses.into_iter().map(read).collect()
}

/// The block parameter by number, which every node accepts.
pub(crate) fn block_text(at: CallBlock) -> String {
    match at {
        CallBlock::Latest => r#""latest""#.to_owned(),
        CallBlock::At(block) => format!(r#""{:#x}""#, block.number),
    }
}
