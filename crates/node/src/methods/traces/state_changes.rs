//! What a transaction changed in the state of the chain.

use domain::B256;

use super::request::{self, TIMEOUT};
use crate::{
    decode::RawStateChanges,
    endpoint::{call::Call, upstream::Upstream},
    error::NodeError,
    rpc_method::RpcMethod,
    traced::StateChanges,
};

/// None if the node does not trace states or does not have the transaction.
pub(crate) async fn trace(upstream: &Upstream, hash: B256) -> Result<Option<StateChanges>, NodeError> {
    let options = r#"{"tracer":"prestateTracer","tracerConfig":{"diffMode":true}}"#;
    let call = Call::new(RpcMethod::DebugTraceTransaction, format!(r#"["{hash:#x}",{options}]"#)).within(TIMEOUT);
    let traced = request::trace(upstream, call, &upstream.capabilities().lacks_state_traces).await?;
    Ok(traced.and_then(|RawStateChanges(changes)| changes))
}
