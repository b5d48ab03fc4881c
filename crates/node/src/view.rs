//! `eth_call` with revert data.

use alloy_primitives::Bytes;

use crate::{
    CallBlock, CallRequest, NodeError,
    call::parties,
    contract::block_text,
    decode::HexBytes,
    rpc_error::RpcErrorKind,
    upstream::{Call, Upstream},
};

const METHOD: &str = "eth_call";

/// How a read-only call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ViewOutcome {
    Returned(Bytes),
    /// The contract reverted or the execution failed.
    Reverted {
        /// The revert data; None if the node does not return it.
        data: Option<Bytes>,
        /// The node's message.
        message: String,
    },
    /// The node no longer has the state of the block.
    StateGone,
}

pub(crate) async fn call(upstream: &Upstream, request: &CallRequest, at: CallBlock) -> Result<ViewOutcome, NodeError> {
    let parties = parties(request);
    let block = block_text(at);
    let params = format!(
        r#"[{{{parties}"input":"{data}","data":"{data}","gas":"{:#x}"}},{block}]"#,
        request.gas,
        data = request.data
    );
    match upstream.call::<HexBytes>(&Call::new(METHOD, params)).await {
        Ok(Some(output)) => Ok(ViewOutcome::Returned(output.0)),
        Ok(None) => Err(NodeError::invalid_response(METHOD, "null")),
        Err(NodeError::Rpc { data: Some(data), message, .. }) => {
            Ok(ViewOutcome::Reverted { data: Some(data), message })
        }
        Err(error) => match (error.rpc_kind(), error) {
            (Some(RpcErrorKind::Execution | RpcErrorKind::Fatal), NodeError::Rpc { data, message, .. }) => {
                Ok(ViewOutcome::Reverted { data, message })
            }
            (Some(RpcErrorKind::StateGone), _) => Ok(ViewOutcome::StateGone),
            (_, error) => Err(error),
        },
    }
}
