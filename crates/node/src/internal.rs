//! Calls inside transactions that move value or create contracts, from `callTracer`.

use std::{sync::atomic::Ordering, time::Duration};

use domain::{Address, B256, BlockNumber, Bytes, U256};

use crate::{
    NodeError,
    decode::{RawBlockCalls, RawCalls},
    traces::lacks_traces,
    upstream::{Call, Upstream},
};

const TRANSACTION: &str = "debug_traceTransaction";
const BLOCK: &str = "debug_traceBlockByNumber";
const MOST_BYTES: usize = 64 << 20;
const TIMEOUT: Duration = Duration::from_secs(15);

/// A call inside a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InternalCall {
    /// In lower case: `call`, `create`, `create2`, `selfdestruct`.
    pub kind: String,
    /// The position of the call among those of its parent, from the outermost call down.
    pub path: Vec<u32>,
    pub from: Address,
    /// The receiver, or the created contract; None for a failed creation.
    pub to: Option<Address>,
    pub value: U256,
    pub input: Bytes,
    pub gas: u64,
    pub gas_used: u64,
    /// Why the call, or one that it is inside of, failed.
    pub error: Option<String>,
}

impl InternalCall {
    #[must_use]
    pub fn is_creation(&self) -> bool {
        self.kind.starts_with("create")
    }
}

/// The internal calls of one transaction; None if the node does not trace or does not have the transaction.
pub(crate) async fn trace_transaction(upstream: &Upstream, hash: B256) -> Result<Option<Vec<InternalCall>>, NodeError> {
    let call = Call::new(TRANSACTION, format!(r#"["{hash:#x}",{{"tracer":"callTracer"}}]"#));
    let traced = trace::<RawCalls>(upstream, &call).await?;
    Ok(traced.map(|RawCalls(calls)| calls))
}

/// The internal calls of every transaction of a block, in order, with the transaction's hash if the node sends it.
pub(crate) async fn trace_block(
    upstream: &Upstream,
    number: BlockNumber,
) -> Result<Option<Vec<(Option<B256>, Vec<InternalCall>)>>, NodeError> {
    let call = Call::new(BLOCK, format!(r#"["{number:#x}",{{"tracer":"callTracer"}}]"#));
    Ok(trace::<RawBlockCalls>(upstream, &call).await?.map(|RawBlockCalls(transactions)| transactions))
}

async fn trace<T: serde::de::DeserializeOwned + Send + 'static>(
    upstream: &Upstream,
    call: &Call,
) -> Result<Option<T>, NodeError> {
    if upstream.capabilities().lacks_traces.load(Ordering::Relaxed) {
        return Ok(None);
    }
    match upstream.call_unlimited_within::<T>(call, MOST_BYTES, TIMEOUT).await {
        Ok(traced) => Ok(traced),
        Err(error) if lacks_traces(&error) => Ok(None),
        Err(error) => Err(error),
    }
}
