//! The init code of a contract.

use std::time::Duration;

use alloy_primitives::Bytes;
use domain::{Address, CreationId};
use serde::{Deserialize, de::DeserializeOwned};

use crate::{
    decode::{Account20, Hash, HexBytes, Quantity, RawCallCreations, RawFlatCreations},
    endpoint::{call::Call, retry::retry_request, upstream::Upstream},
    error::NodeError,
    methods::traces::request::lacks_traces,
    rpc_method::RpcMethod,
};

/// Longer traces are given up: the init code is not worth the memory.
const MAX_TRACE_BYTES: usize = 64 << 20;
const TRACE_TIMEOUT: Duration = Duration::from_secs(15);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawCreatingTransaction {
    hash: Hash,
    block_hash: Option<Hash>,
    to: Option<Account20>,
    input: HexBytes,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawOutcome {
    transaction_hash: Hash,
    block_hash: Hash,
    status: Option<Quantity>,
    contract_address: Option<Account20>,
}

/// None: unknown.
pub(crate) async fn find_creation_code(
    upstream: &Upstream,
    contract: Address,
    creation: CreationId,
) -> Result<Option<Bytes>, NodeError> {
    let call = Call::new(RpcMethod::GetTransactionByHash, format!(r#"["{}"]"#, creation.tx_hash));
    let (transaction, outcome) =
        tokio::join!(upstream.call::<RawCreatingTransaction>(&call), find_outcome(upstream, creation));
    let (Some(transaction), Some(outcome)) = (transaction?, outcome?) else { return Ok(None) };
    if transaction.hash.0 != creation.tx_hash {
        return Err(NodeError::invalid_response(RpcMethod::GetTransactionByHash, "another transaction"));
    }
    if transaction.block_hash.map(|hash| hash.0) != Some(creation.block_hash) {
        return Ok(None);
    }
    if outcome.status.is_some_and(|status| status.0 == 0) {
        return Ok(None);
    }
    // A transaction may create several contracts; its input is the init code of the one in the receipt only.
    if outcome.contract_address.map(|made| made.0) == Some(contract) {
        return Ok(transaction.to.is_none().then_some(transaction.input.0));
    }
    let Some(made) = trace_creations(upstream, creation).await? else { return Ok(None) };
    // The trace is requested by transaction hash: it is of this block only if the transaction still is.
    if find_outcome(upstream, creation).await?.is_none() {
        return Ok(None);
    }
    let mut of_contract = made.into_iter().filter(|(created, _)| *created == contract).map(|(_, code)| code);
    Ok(match (of_contract.next(), of_contract.next()) {
        (Some(code), None) => Some(code),
        // Not created here, or created twice, which makes the init code ambiguous.
        _ => None,
    })
}

/// The transaction's receipt; None if the node has it in no block or in another one.
async fn find_outcome(upstream: &Upstream, creation: CreationId) -> Result<Option<RawOutcome>, NodeError> {
    let call = Call::new(RpcMethod::GetTransactionReceipt, format!(r#"["{}"]"#, creation.tx_hash));
    let Some(outcome) = upstream.call::<RawOutcome>(&call).await? else { return Ok(None) };
    if outcome.transaction_hash.0 != creation.tx_hash {
        return Err(NodeError::invalid_response(RpcMethod::GetTransactionReceipt, "another transaction"));
    }
    Ok((outcome.block_hash.0 == creation.block_hash).then_some(outcome))
}

/// The contracts created inside a transaction with their init codes; None if the node does not trace.
async fn trace_creations(
    upstream: &Upstream,
    creation: CreationId,
) -> Result<Option<Vec<(Address, Bytes)>>, NodeError> {
    let params = format!(r#"["{}",{{"tracer":"callTracer"}}]"#, creation.tx_hash);
    if let Some(made) = trace::<RawCallCreations>(upstream, Call::new(RpcMethod::DebugTraceTransaction, params)).await?
    {
        return Ok(Some(made.0));
    }
    let params = format!(r#"["{}"]"#, creation.tx_hash);
    Ok(trace::<RawFlatCreations>(upstream, Call::new(RpcMethod::TraceTransaction, params)).await?.map(|made| made.0))
}

/// None: the node does not support tracing, or failed to trace this transaction.
async fn trace<T: DeserializeOwned + Send + 'static>(upstream: &Upstream, call: Call) -> Result<Option<T>, NodeError> {
    let call = call.within(TRACE_TIMEOUT).unlimited(MAX_TRACE_BYTES);
    match retry_request(upstream, upstream.lane(), |_| upstream.call::<T>(&call)).await {
        Ok(trace) => Ok(trace),
        // The init code is optional, so tracing errors are not fatal.
        Err(
            error @ (NodeError::Rpc { .. }
            | NodeError::InvalidResponse { .. }
            | NodeError::TimedOut { .. }
            | NodeError::HttpStatus { .. }),
        ) => {
            let missing = lacks_traces(&error);
            tracing::debug!(endpoint = upstream.name(), method = call.method.name(), missing, %error, "tracing a contract creation failed");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
