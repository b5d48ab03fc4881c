//! Calls inside transactions that move value, create contracts or destroy them, from `callTracer` or `trace_block`.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use domain::{Address, B256, BlockNumber, InternalKind, U256};

use crate::{
    NodeError,
    decode::{RawBlockCalls, RawCalls, RawFlatCalls},
    traces::lacks_traces,
    upstream::{Call, Upstream},
};

pub(crate) const TRANSACTION: &str = "debug_traceTransaction";
const BLOCK: &str = "debug_traceBlockByNumber";
const FLAT_BLOCK: &str = "trace_block";
const MOST_BYTES: usize = 64 << 20;
pub(crate) const TIMEOUT: Duration = Duration::from_secs(15);

/// A call inside a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InternalCall {
    pub kind: InternalKind,
    /// The position of the call among those of its parent, from the outermost call down.
    pub path: Vec<u32>,
    pub from: Address,
    /// The receiver, or the created contract; None for a failed creation.
    pub to: Option<Address>,
    pub value: U256,
    pub gas: u64,
    pub gas_used: u64,
    /// Why the call, or one that it is inside of, failed.
    pub error: Option<String>,
}

/// The internal calls of every transaction of a block, in order, with the transaction's hash if the node sends it.
pub type BlockCalls = Vec<(Option<B256>, Vec<InternalCall>)>;

/// The internal calls of one transaction; None if the node does not trace or does not have the transaction.
pub(crate) async fn trace_transaction(upstream: &Upstream, hash: B256) -> Result<Option<Vec<InternalCall>>, NodeError> {
    Ok(trace_transaction_as::<RawCalls>(upstream, hash).await?.map(|RawCalls(calls)| calls))
}

/// The trace of one transaction, read as some type; None if the node does not trace or does not have the transaction.
pub(crate) async fn trace_transaction_as<T: serde::de::DeserializeOwned + Send + 'static>(
    upstream: &Upstream,
    hash: B256,
) -> Result<Option<T>, NodeError> {
    let call = Call::new(TRANSACTION, format!(r#"["{hash:#x}",{{"tracer":"callTracer"}}]"#)).within(TIMEOUT);
    trace(upstream, call, &upstream.capabilities().lacks_transaction_traces).await
}

/// None if the node does not trace blocks.
pub(crate) async fn trace_block(
    upstream: &Upstream,
    number: BlockNumber,
    timeout: Duration,
) -> Result<Option<BlockCalls>, NodeError> {
    let call = Call::new(BLOCK, format!(r#"["{number:#x}",{{"tracer":"callTracer"}}]"#)).within(timeout);
    let capabilities = upstream.capabilities();
    if let Some(traced) = trace::<RawBlockCalls>(upstream, call, &capabilities.lacks_block_traces).await? {
        return Ok(Some(traced.0));
    }
    let call = Call::new(FLAT_BLOCK, format!(r#"["{number:#x}"]"#)).within(timeout);
    let Some(RawFlatCalls(traced)) = trace(upstream, call, &capabilities.lacks_flat_traces).await? else {
        return Ok(None);
    };
    Ok(Some(traced.into_iter().map(|(hash, calls)| (Some(hash), calls)).collect()))
}

/// None if the node lacks the method, which is found out once, or if it answers with null.
pub(crate) async fn trace<T: serde::de::DeserializeOwned + Send + 'static>(
    upstream: &Upstream,
    call: Call,
    lacks_method: &AtomicBool,
) -> Result<Option<T>, NodeError> {
    if lacks_method.load(Ordering::Relaxed) {
        return Ok(None);
    }
    match upstream.call::<T>(&call.unlimited(MOST_BYTES)).await {
        Ok(traced) => Ok(traced),
        Err(error) if lacks_traces(&error) => {
            lacks_method.store(true, Ordering::Relaxed);
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
