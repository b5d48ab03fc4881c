//! Calls inside transactions that move value, create contracts or destroy them, from `callTracer` or `trace_block`.

use std::time::Duration;

use domain::{B256, BlockNumber};

use super::request::{trace, trace_transaction_as};
use crate::{
    decode::{RawBlockCalls, RawCalls, RawFlatCalls},
    endpoint::{call::Call, upstream::Upstream},
    error::NodeError,
    rpc_method::RpcMethod,
    traced::{BlockCalls, TracedTransaction},
};

/// The internal calls of one transaction; None if the node does not trace or does not have the transaction.
pub(crate) async fn trace_transaction(upstream: &Upstream, hash: B256) -> Result<Option<TracedTransaction>, NodeError> {
    Ok(trace_transaction_as::<RawCalls>(upstream, hash).await?.map(|RawCalls(traced)| traced))
}

/// None if the node does not trace blocks.
pub(crate) async fn trace_block(
    upstream: &Upstream,
    number: BlockNumber,
    timeout: Duration,
) -> Result<Option<BlockCalls>, NodeError> {
    let call = Call::new(RpcMethod::DebugTraceBlockByNumber, format!(r#"["{number:#x}",{{"tracer":"callTracer"}}]"#))
        .within(timeout);
    let capabilities = upstream.capabilities();
    if let Some(traced) = trace::<RawBlockCalls>(upstream, call, &capabilities.lacks_block_traces).await? {
        return Ok(Some(traced.0));
    }
    let call = Call::new(RpcMethod::TraceBlock, format!(r#"["{number:#x}"]"#)).within(timeout);
    Ok(trace(upstream, call, &capabilities.lacks_flat_traces).await?.map(|RawFlatCalls(traced)| traced))
}
