//! Balances of many accounts at one block.

mod packed;

use std::sync::atomic::Ordering;

use alloy_primitives::U256;
use domain::{Address, BlockRef};
use futures::future::BoxFuture;

pub use self::packed::BALANCES_PER_CALL;
use crate::{
    client::NodeClient,
    decode::{CappedBytes, Wide},
    endpoint::{call::Call, health::Operation, upstream::Upstream},
    error::NodeError,
    methods::block_param::BlockParam,
    rpc_error::RpcErrorKind,
    rpc_method::RpcMethod,
};

/// Balances per request, if the node does not run the program.
const GROUP: usize = 100;

impl NodeClient {
    /// Balances of many accounts, in their order, at exactly this block: an error if the node does not have its state.
    pub fn balances<'a>(
        &'a self,
        addresses: &'a [Address],
        at: BlockRef,
    ) -> BoxFuture<'a, Result<Vec<U256>, NodeError>> {
        Box::pin(async move {
            let request = |_, upstream: Upstream| async move { fetch_balances(&upstream, addresses, at).await };
            self.with_retries(Operation::Balances, self.tries(), request).await
        })
    }
}

/// In the order of the addresses. Never of another block: the balances of a list must be of the same block.
pub(crate) async fn fetch_balances(
    upstream: &Upstream,
    addresses: &[Address],
    at: BlockRef,
) -> Result<Vec<U256>, NodeError> {
    let state = BlockParam::of(upstream, at);
    let outcome = request_all(upstream, addresses, &state).await;
    match outcome.as_ref().err().and_then(|error| state.fallback(upstream, error)) {
        Some(other) => request_all(upstream, addresses, &other).await,
        None => outcome,
    }
}

async fn request_all(upstream: &Upstream, addresses: &[Address], block: &BlockParam) -> Result<Vec<U256>, NodeError> {
    let lacks_packed_balances = &upstream.capabilities().lacks_packed_balances;
    let mut balances = Vec::with_capacity(addresses.len());
    for group in addresses.chunks(packed::BALANCES_PER_CALL) {
        if group.len() == 1 || lacks_packed_balances.load(Ordering::Relaxed) {
            balances.extend(request_singly(upstream, group, block).await?);
            continue;
        }
        match request_packed(upstream, group, block).await? {
            Ok(packed) => balances.extend(complete(upstream, group, packed, block).await?),
            Err(Refusal(failure)) => {
                balances.extend(request_singly(upstream, group, block).await?);
                // Only now is it certain that the program is the reason, not the block.
                lacks_packed_balances.store(true, Ordering::Relaxed);
                tracing::info!(
                    endpoint = upstream.name(),
                    failure,
                    "balances are requested one by one, since the node does not run a program for many"
                );
            }
        }
    }
    Ok(balances)
}

/// Why the node did not run the program.
struct Refusal(String);

/// Reads the balances by one call; None in place of one that is too large for the program.
async fn request_packed(
    upstream: &Upstream,
    addresses: &[Address],
    block: &BlockParam,
) -> Result<Result<Vec<Option<U256>>, Refusal>, NodeError> {
    let (sender, gas) = (packed::SENDER, packed::GAS);
    let code = packed::pack(addresses);
    let params = format!(r#"[{{"from":"{sender:#x}","data":"{code}","gas":"{gas:#x}"}},{block}]"#);
    match upstream.call::<CappedBytes>(&Call::new(RpcMethod::Call, params)).await {
        Ok(Some(CappedBytes::Bytes(returned))) => {
            Ok(packed::unpack(&returned, addresses.len()).ok_or_else(|| Refusal("an unexpected result".to_owned())))
        }
        Ok(_) => Ok(Err(Refusal("no result".to_owned()))),
        // No contract is called, so a failed execution says something about the node, such as its limit of gas.
        Err(error)
            if matches!(
                error.rpc_kind(),
                Some(RpcErrorKind::InvalidParams | RpcErrorKind::Fatal | RpcErrorKind::Execution)
            ) =>
        {
            Ok(Err(Refusal(error.to_string())))
        }
        Err(error) => Err(error),
    }
}

/// Requests those balances alone that are too large for the program.
async fn complete(
    upstream: &Upstream,
    addresses: &[Address],
    packed: Vec<Option<U256>>,
    block: &BlockParam,
) -> Result<Vec<U256>, NodeError> {
    let large = addresses.iter().zip(&packed).filter(|(_, balance)| balance.is_none());
    let large: Vec<Address> = large.map(|(address, _)| *address).collect();
    let mut single = request_singly(upstream, &large, block).await?.into_iter();
    let balance = |packed: Option<U256>| packed.or_else(|| single.next());
    let complete: Option<Vec<U256>> = packed.into_iter().map(balance).collect();
    complete.ok_or_else(|| NodeError::invalid_response(RpcMethod::GetBalance, "fewer results than requests"))
}

async fn request_singly(
    upstream: &Upstream,
    addresses: &[Address],
    block: &BlockParam,
) -> Result<Vec<U256>, NodeError> {
    let mut balances = Vec::with_capacity(addresses.len());
    for group in addresses.chunks(GROUP) {
        let calls: Vec<Call> = group
            .iter()
            .map(|address| Call::new(RpcMethod::GetBalance, format!(r#"["{address:#x}",{block}]"#)))
            .collect();
        for response in upstream.call_many::<Wide>(&calls).await? {
            balances.push(response?.ok_or_else(|| NodeError::invalid_response(RpcMethod::GetBalance, "no result"))?.0);
        }
    }
    Ok(balances)
}
