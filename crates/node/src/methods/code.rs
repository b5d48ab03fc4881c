//! `eth_getCode`.

use std::fmt;

use alloy_primitives::Bytes;
use domain::{Address, BlockNumber, BlockRef};
use futures::future::BoxFuture;

use crate::{
    client::NodeClient,
    decode::HexBytes,
    endpoint::{call::Call, health::Operation, upstream::Upstream},
    error::NodeError,
    methods::block_param::{BlockParam, CallBlock},
    rpc_error::RpcErrorKind,
    rpc_method::RpcMethod,
};

/// Codes per request: each may be tens of kilobytes long.
const GROUP: usize = 25;

/// Code in the order of the addresses, and the block at which it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Codes {
    pub codes: Vec<Bytes>,
    pub block: BlockNumber,
}

impl NodeClient {
    /// The code of many addresses at one block. Falls back to the node's head if the state is unavailable and the head is not
    /// older; [`Codes::block`] is the block that was used.
    pub fn codes(&self, addresses: Vec<Address>, at: BlockRef) -> BoxFuture<'_, Result<Codes, NodeError>> {
        Box::pin(async move {
            let addresses = &addresses;
            self.with_retries(Operation::Codes, self.tries(), |_, upstream| async move {
                fetch_codes(&upstream, addresses, at).await
            })
            .await
        })
    }

    /// The code of an address.
    pub fn code(&self, address: Address, at: CallBlock) -> BoxFuture<'_, Result<Bytes, NodeError>> {
        Box::pin(async move {
            self.with_retries(Operation::Codes, self.tries(), |_, upstream| async move {
                fetch_code_or_latest(&upstream, address, at).await
            })
            .await
        })
    }

    /// The code of many addresses, in their order.
    pub fn codes_of<'a>(
        &'a self,
        addresses: &'a [Address],
        at: CallBlock,
    ) -> BoxFuture<'a, Result<Vec<Bytes>, NodeError>> {
        Box::pin(async move {
            let request = |_, upstream: Upstream| async move { fetch_codes_or_latest(&upstream, addresses, at).await };
            self.with_retries(Operation::Codes, self.tries(), request).await
        })
    }
}

/// At this block, or at the node's head if the state is unavailable and the head is not older.
pub(crate) async fn fetch_codes(upstream: &Upstream, addresses: &[Address], at: BlockRef) -> Result<Codes, NodeError> {
    match codes_at(upstream, addresses, at).await {
        Err(error) if is_pruned(&error) => {
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

/// At this block, or the latest if the state is unavailable: code rarely changes, so the latest is good enough.
pub(crate) async fn fetch_codes_or_latest(
    upstream: &Upstream,
    addresses: &[Address],
    at: CallBlock,
) -> Result<Vec<Bytes>, NodeError> {
    match request_codes(upstream, addresses, at).await {
        Err(error) if is_pruned(&error) && at != CallBlock::Latest => {
            request_codes(upstream, addresses, CallBlock::Latest).await
        }
        outcome => outcome,
    }
}

/// The same for one address.
pub(crate) async fn fetch_code_or_latest(
    upstream: &Upstream,
    address: Address,
    at: CallBlock,
) -> Result<Bytes, NodeError> {
    match request_code(upstream, address, at).await {
        Err(error) if is_pruned(&error) && at != CallBlock::Latest => {
            request_code(upstream, address, CallBlock::Latest).await
        }
        outcome => outcome,
    }
}

async fn request_codes(
    upstream: &Upstream,
    addresses: &[Address],
    block: impl fmt::Display,
) -> Result<Vec<Bytes>, NodeError> {
    let mut codes = Vec::with_capacity(addresses.len());
    for group in addresses.chunks(GROUP) {
        let calls: Vec<Call> = group.iter().map(|address| call(*address, &block)).collect();
        for response in upstream.call_many::<HexBytes>(&calls).await? {
            codes.push(read(response?)?);
        }
    }
    Ok(codes)
}

async fn request_code(upstream: &Upstream, address: Address, block: CallBlock) -> Result<Bytes, NodeError> {
    read(upstream.call(&call(address, block)).await?)
}

fn call(address: Address, block: impl fmt::Display) -> Call {
    Call::new(RpcMethod::GetCode, format!(r#"["{address:#x}",{block}]"#))
}

fn read(result: Option<HexBytes>) -> Result<Bytes, NodeError> {
    Ok(result.ok_or_else(|| NodeError::invalid_response(RpcMethod::GetCode, "null"))?.0)
}

fn is_pruned(error: &NodeError) -> bool {
    error.rpc_kind() == Some(RpcErrorKind::StateGone)
}
