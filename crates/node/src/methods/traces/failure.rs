//! Why a transaction failed: from its trace, or else from the same call on the state before its block.

use std::{sync::atomic::Ordering, time::Duration};

use alloy_primitives::Bytes;
use domain::{FailureSource, Transaction, TransactionDetail, TransactionFailure};
use serde::Deserialize;

use crate::{
    decode::HexBytes,
    endpoint::{call::Call, retry::retry_request, upstream::Upstream},
    error::NodeError,
    methods::traces::request::lacks_traces,
    rpc_error::RpcErrorKind,
    rpc_method::RpcMethod,
};

/// The trace of the outermost call has the input and the output of the transaction.
const MAX_TRACE_BYTES: usize = 8 << 20;
const TRACE_TIMEOUT: Duration = Duration::from_secs(10);
/// Longer data and messages are cut: they are stored, and shown.
const MAX_DATA: usize = 4 << 10;
const MAX_MESSAGE: usize = 200;

/// The outermost call, from `callTracer`.
#[derive(Debug, Deserialize)]
struct RawOutermostCall {
    error: Option<String>,
    output: Option<HexBytes>,
}

/// None: the node cannot tell.
pub(crate) async fn find_failure(
    upstream: &Upstream,
    transaction: &Transaction,
    detail: &TransactionDetail,
) -> Result<Option<TransactionFailure>, NodeError> {
    match trace(upstream, transaction).await {
        Ok(Some(failure)) => return Ok(Some(failure)),
        Ok(None) => {}
        Err(error) => tracing::debug!(endpoint = upstream.name(), %error, "cannot trace the transaction"),
    }
    repeat_call(upstream, transaction, detail).await
}

async fn trace(upstream: &Upstream, transaction: &Transaction) -> Result<Option<TransactionFailure>, NodeError> {
    if upstream.capabilities().lacks_transaction_traces.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let params =
        format!(r#"["{:#x}",{{"tracer":"callTracer","tracerConfig":{{"onlyTopCall":true}}}}]"#, transaction.hash);
    let call = Call::new(RpcMethod::DebugTraceTransaction, params).within(TRACE_TIMEOUT).unlimited(MAX_TRACE_BYTES);
    match retry_request(upstream, upstream.lane(), |_| upstream.call::<RawOutermostCall>(&call)).await {
        Ok(Some(RawOutermostCall { error: Some(error), output })) => {
            Ok(Some(failure(&error, output.map(|output| output.0), FailureSource::Trace)))
        }
        // A trace without an error is not the one of a failed transaction.
        Ok(_) => Ok(None),
        Err(error) if lacks_traces(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

async fn repeat_call(
    upstream: &Upstream,
    transaction: &Transaction,
    detail: &TransactionDetail,
) -> Result<Option<TransactionFailure>, NodeError> {
    let Some(parent) = transaction.block_number.checked_sub(1) else { return Ok(None) };
    let to = transaction.to.map(|to| format!(r#""to":"{to:#x}","#)).unwrap_or_default();
    let params = format!(
        r#"[{{"from":"{:#x}",{to}"value":"{:#x}","input":"{data}","data":"{data}","gas":"{:#x}"}},"{parent:#x}"]"#,
        transaction.from,
        transaction.value,
        detail.gas_limit,
        data = detail.input,
    );
    match upstream.call::<HexBytes>(&Call::new(RpcMethod::Call, params)).await {
        // It succeeds on that state, so what made it fail happened within the block.
        Ok(_) => Ok(None),
        Err(NodeError::Rpc { data: Some(data), message, .. }) => {
            Ok(Some(failure(&message, Some(data), FailureSource::ParentBlock)))
        }
        Err(error) => match (error.rpc_kind(), error) {
            (Some(RpcErrorKind::Execution), NodeError::Rpc { data, message, .. }) => {
                Ok(Some(failure(&message, data, FailureSource::ParentBlock)))
            }
            (Some(_), _) => Ok(None),
            (None, error) => Err(error),
        },
    }
}

fn failure(error: &str, data: Option<Bytes>, source: FailureSource) -> TransactionFailure {
    let error = error.chars().filter(|character| !character.is_control()).take(MAX_MESSAGE).collect();
    let data = data.filter(|data| !data.is_empty());
    let data = data.map(|data| if data.len() > MAX_DATA { data.slice(..MAX_DATA) } else { data });
    TransactionFailure { error, data, source }
}
