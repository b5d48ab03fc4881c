//! Requests for traces.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use domain::B256;
use serde::de::DeserializeOwned;

use crate::{
    endpoint::{call::Call, upstream::Upstream},
    error::NodeError,
    rpc_method::RpcMethod,
};

const MAX_BYTES: usize = 64 << 20;
pub(super) const TIMEOUT: Duration = Duration::from_secs(15);

/// The trace of one transaction, read as some type; None if the node does not trace or does not have the transaction.
pub(crate) async fn trace_transaction_as<T: DeserializeOwned + Send + 'static>(
    upstream: &Upstream,
    hash: B256,
) -> Result<Option<T>, NodeError> {
    let call = Call::new(RpcMethod::DebugTraceTransaction, format!(r#"["{hash:#x}",{{"tracer":"callTracer"}}]"#))
        .within(TIMEOUT);
    trace(upstream, call, &upstream.capabilities().lacks_transaction_traces).await
}

/// None if the node lacks the method, which is found out once, or if it answers with null.
pub(crate) async fn trace<T: DeserializeOwned + Send + 'static>(
    upstream: &Upstream,
    call: Call,
    lacks_method: &AtomicBool,
) -> Result<Option<T>, NodeError> {
    if lacks_method.load(Ordering::Relaxed) {
        return Ok(None);
    }
    match upstream.call::<T>(&call.unlimited(MAX_BYTES)).await {
        Ok(traced) => Ok(traced),
        Err(error) if lacks_traces(&error) => {
            lacks_method.store(true, Ordering::Relaxed);
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Nodes without tracing report it in many ways, gateways by HTTP status.
pub(crate) fn lacks_traces(error: &NodeError) -> bool {
    match error {
        NodeError::HttpStatus { status, .. } => (400..500).contains(status) && *status != 408,
        error => error.lacks_method(),
    }
}
