//! Batches of contract calls (`eth_call`).

mod contract_call;
mod packed;

use std::{sync::atomic::Ordering, time::Duration};

use alloy_primitives::Bytes;
use domain::{Address, BlockNumber, BlockRef};
use futures::future::{BoxFuture, try_join_all};

pub use self::contract_call::ContractCall;
use self::packed::Packed;
use crate::{
    client::NodeClient,
    decode::CappedBytes,
    endpoint::{call::Call, health::Operation, upstream::Upstream},
    error::NodeError,
    methods::block_param::{BlockParam, CallBlock},
    rpc_error::RpcErrorKind,
    rpc_method::RpcMethod,
};

/// Far more than a view function needs. It bounds the node's work and the length of a response: since memory costs gas,
/// this much gas buys about 1.6 MB.
const GAS: u64 = 5_000_000;
/// Calls per request and concurrent requests: bounds the memory that oversized responses can take.
const GROUP: usize = 25;
const CONCURRENT_REQUESTS: usize = 2;
/// How often a call with an unclassified error is repeated next to a control call.
const CONTROL_RETRIES: u32 = 3;
/// The first pause before that; it doubles each time.
const CONTROL_PAUSE: Duration = Duration::from_millis(50);

/// How one call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallResult {
    /// Empty where there is no code.
    Returned(Bytes),
    /// Reverted, out of gas, invalid opcode, or a response of more than 64 KiB.
    Reverted,
}

/// Results in the order of the calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallResults {
    pub results: Vec<CallResult>,
    /// The block at which the calls were executed; None for [`CallBlock::Latest`], where it is unknown.
    pub block: Option<BlockNumber>,
}

impl NodeClient {
    /// Calls many contracts at one block. Falls back to the node's head if the state is unavailable and the head is not
    /// older; [`CallResults::block`] is the block that was used.
    pub fn calls(&self, calls: Vec<ContractCall>, at: CallBlock) -> BoxFuture<'_, Result<CallResults, NodeError>> {
        Box::pin(async move {
            let calls = &calls;
            self.with_retries(Operation::Calls, self.tries(), |_, upstream| async move {
                call_contracts(&upstream, calls, at).await
            })
            .await
        })
    }
}

pub(crate) async fn call_contracts(
    upstream: &Upstream,
    calls: &[ContractCall],
    at: CallBlock,
) -> Result<CallResults, NodeError> {
    let at = match at {
        CallBlock::Latest => {
            let results = call_all(upstream, calls, &CallBlock::Latest.to_string()).await?;
            return Ok(CallResults { results, block: None });
        }
        CallBlock::At(block) => block,
    };
    match call_at(upstream, calls, at).await {
        Ok(results) => Ok(CallResults { results, block: Some(at.number) }),
        // The node has pruned this state.
        Err(error) if error.rpc_kind() == Some(RpcErrorKind::StateGone) => {
            let head = upstream.head().await?;
            if head.number < at.number {
                // A node behind the index may not have the contracts yet.
                return Err(error);
            }
            let results = call_at(upstream, calls, head).await?;
            Ok(CallResults { results, block: Some(head.number) })
        }
        Err(error) => Err(error),
    }
}

async fn call_at(upstream: &Upstream, calls: &[ContractCall], at: BlockRef) -> Result<Vec<CallResult>, NodeError> {
    let state = BlockParam::of(upstream, at);
    let outcome = call_all(upstream, calls, &state.to_string()).await;
    match outcome.as_ref().err().and_then(|error| state.fallback(upstream, error)) {
        Some(other) => call_all(upstream, calls, &other.to_string()).await,
        None => outcome,
    }
}

async fn call_all(upstream: &Upstream, calls: &[ContractCall], block: &str) -> Result<Vec<CallResult>, NodeError> {
    let mut results = Vec::with_capacity(calls.len());
    for group in calls.chunks(packed::MAX_CALLS) {
        let packed = if group.len() > 1 { call_packed(upstream, group, block).await? } else { None };
        results.extend(match packed {
            Some(packed) => complete(upstream, group, packed, block).await?,
            None => call_singly(upstream, group, block).await?,
        });
    }
    Ok(results)
}

/// Makes the calls by one request; None if the node cannot.
async fn call_packed(
    upstream: &Upstream,
    calls: &[ContractCall],
    block: &str,
) -> Result<Option<Vec<Packed>>, NodeError> {
    let lacks_packed_calls = &upstream.capabilities().lacks_packed_calls;
    if lacks_packed_calls.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let Some(code) = packed::pack(calls) else { return Ok(None) };
    let gas = packed::GAS;
    let call = Call::new(RpcMethod::Call, format!(r#"[{{"data":"{code}","gas":"{gas:#x}"}},{block}]"#));
    let failure = match upstream.call::<CappedBytes>(&call).await {
        Ok(Some(CappedBytes::Bytes(returned))) => match packed::unpack(&returned, calls.len()) {
            Some(results) => return Ok(Some(results)),
            None => "an unexpected result".to_owned(),
        },
        Ok(Some(CappedBytes::TooMany)) => "too long a result".to_owned(),
        Ok(None) => return Err(NodeError::invalid_response(RpcMethod::Call, "null")),
        // A contract may be the reason, for example one that takes all gas.
        Err(error) if error.rpc_kind() == Some(RpcErrorKind::Execution) => return Ok(None),
        Err(error @ NodeError::Rpc { .. })
            if matches!(error.rpc_kind(), Some(RpcErrorKind::InvalidParams | RpcErrorKind::Fatal)) =>
        {
            error.to_string()
        }
        Err(error) => return Err(error),
    };
    lacks_packed_calls.store(true, Ordering::Relaxed);
    tracing::info!(
        endpoint = upstream.name(),
        failure,
        "contracts are called one by one, since the node does not run a program for many calls"
    );
    Ok(None)
}

/// Makes those calls alone that are unclear.
async fn complete(
    upstream: &Upstream,
    calls: &[ContractCall],
    packed: Vec<Packed>,
    block: &str,
) -> Result<Vec<CallResult>, NodeError> {
    let unclear = calls.iter().zip(&packed).filter(|(_, result)| **result == Packed::Unclear);
    let unclear: Vec<ContractCall> = unclear.map(|(call, _)| call.clone()).collect();
    let mut single = call_singly(upstream, &unclear, block).await?.into_iter();
    let result = |packed| match packed {
        Packed::Returned(bytes) => Some(CallResult::Returned(bytes)),
        Packed::Failed => Some(CallResult::Reverted),
        Packed::Unclear => single.next(),
    };
    let complete: Option<Vec<CallResult>> = packed.into_iter().map(result).collect();
    complete.ok_or_else(|| NodeError::invalid_response(RpcMethod::Call, "fewer results than requests"))
}

async fn call_singly(upstream: &Upstream, calls: &[ContractCall], block: &str) -> Result<Vec<CallResult>, NodeError> {
    let requests: Vec<Call> = calls.iter().map(|call| request(call, block)).collect();
    let mut results = Vec::with_capacity(requests.len());
    for together in requests.chunks(GROUP * CONCURRENT_REQUESTS) {
        let groups = together.chunks(GROUP).map(|group| call_group(upstream, group, block));
        results.extend(try_join_all(groups).await?.into_iter().flatten());
    }
    Ok(results)
}

async fn call_group(upstream: &Upstream, group: &[Call], block: &str) -> Result<Vec<CallResult>, NodeError> {
    let mut results = Vec::with_capacity(group.len());
    for (response, request) in upstream.call_many::<CappedBytes>(group).await?.into_iter().zip(group) {
        results.push(match read(response) {
            Err(error) if is_unclassified(&error) => retry_with_control(upstream, request, block, error).await?,
            response => response?,
        });
    }
    Ok(results)
}

fn request(call: &ContractCall, block: &str) -> Call {
    let ContractCall { to, data } = call;
    Call::new(RpcMethod::Call, format!(r#"[{{"to":"{to:#x}","data":"{data}","gas":"{GAS:#x}"}},{block}]"#))
}

fn read(response: Result<Option<CappedBytes>, NodeError>) -> Result<CallResult, NodeError> {
    match response {
        Ok(Some(CappedBytes::Bytes(bytes))) => Ok(CallResult::Returned(bytes)),
        Ok(Some(CappedBytes::TooMany)) => Ok(CallResult::Reverted),
        Ok(None) => Err(NodeError::invalid_response(RpcMethod::Call, "null")),
        Err(error) if error.rpc_kind() == Some(RpcErrorKind::Execution) => Ok(CallResult::Reverted),
        Err(error) => Err(error),
    }
}

/// An error for this one call that is neither a known execution failure nor a known node failure. Messages about
/// timeouts and load point to the node, not the contract.
fn is_unclassified(error: &NodeError) -> bool {
    let NodeError::Rpc { message, .. } = error else { return false };
    let message = message.to_ascii_lowercase();
    let overloaded = ["timeout", "timed out", "deadline", "cancel", "abort", "busy", "overload", "unavailable"];
    matches!(error.rpc_kind(), Some(RpcErrorKind::Transient | RpcErrorKind::Fatal))
        && !overloaded.iter().any(|word| message.contains(word))
}

/// Decides whether the call or the node is at fault by sending a control call that cannot fail along with it. Otherwise a
/// contract with an unusual error would be retried like a node that is down.
async fn retry_with_control(
    upstream: &Upstream,
    suspect: &Call,
    block: &str,
    mut error: NodeError,
) -> Result<CallResult, NodeError> {
    let control = request(&ContractCall { to: Address::ZERO, data: Bytes::new() }, block);
    for attempt in 0..CONTROL_RETRIES {
        tokio::time::sleep(CONTROL_PAUSE * (1 << attempt)).await;
        let mut responses = upstream.call_many::<CappedBytes>(&[suspect.clone(), control.clone()]).await?.into_iter();
        let (response, control) = (responses.next().map(read), responses.next().map(read));
        control.transpose()?;
        match response {
            Some(Err(again)) if is_unclassified(&again) => error = again,
            Some(response) => return response,
            None => return Err(error),
        }
    }
    tracing::debug!(%error, "call failed while the control call succeeded, treating it as reverted");
    Ok(CallResult::Reverted)
}
