//! `eth_call`: one call, at the latest or at a chosen block.

use std::time::Duration;

use alloy_primitives::Bytes;
use domain::Address;
use futures::future::BoxFuture;

use crate::{
    client::NodeClient,
    decode::HexBytes,
    endpoint::{call::Call, health::Operation, upstream::Upstream},
    error::NodeError,
    methods::block_param::CallBlock,
    rpc_error::RpcErrorKind,
    rpc_method::RpcMethod,
};

/// A call and its limits.
#[derive(Debug, Clone)]
pub struct CallRequest {
    /// `msg.sender`; None: the zero address.
    pub from: Option<Address>,
    /// None: the data is init code that is executed but not deployed; its return value is the result.
    pub to: Option<Address>,
    pub data: Bytes,
    /// Gas limit of the execution.
    pub gas: u64,
    /// Total time limit, retries included.
    pub timeout: Duration,
}

/// How an execution ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallOutcome {
    Returned(Bytes),
    /// Reverted or out of gas, with the node's message.
    Failed(String),
}

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

impl NodeClient {
    /// Executes an `eth_call`, within the request's time limit including retries.
    pub fn call<'a>(&'a self, request: &'a CallRequest) -> BoxFuture<'a, Result<CallOutcome, NodeError>> {
        Box::pin(async move {
            let outcome = self.with_retries(Operation::Calls, self.tries(), |_, upstream| async move {
                call(&upstream, request).await
            });
            tokio::time::timeout(request.timeout, outcome)
                .await
                .unwrap_or_else(|_| Err(timed_out(self.endpoint_in_use(), request.timeout)))
        })
    }

    /// Like [`Self::call`], at a chosen block and with the revert data.
    pub fn view<'a>(
        &'a self,
        request: &'a CallRequest,
        at: CallBlock,
    ) -> BoxFuture<'a, Result<ViewOutcome, NodeError>> {
        Box::pin(async move {
            let outcome = self.with_retries(Operation::Calls, self.tries(), |_, upstream| async move {
                view(&upstream, request, at).await
            });
            tokio::time::timeout(request.timeout, outcome)
                .await
                .unwrap_or_else(|_| Err(timed_out(self.endpoint_in_use(), request.timeout)))
        })
    }
}

/// At the latest block.
pub(crate) async fn call(upstream: &Upstream, request: &CallRequest) -> Result<CallOutcome, NodeError> {
    match upstream.call::<HexBytes>(&Call::new(RpcMethod::Call, params(request))).await {
        Ok(Some(output)) => Ok(CallOutcome::Returned(output.0)),
        Ok(None) => Err(NodeError::invalid_response(RpcMethod::Call, "null")),
        Err(error) if is_execution_failure(&error) => Ok(CallOutcome::Failed(error.to_string())),
        Err(error) => Err(error),
    }
}

/// At a chosen block.
pub(crate) async fn view(upstream: &Upstream, request: &CallRequest, at: CallBlock) -> Result<ViewOutcome, NodeError> {
    let parties = parties(request);
    let params = format!(
        r#"[{{{parties}"input":"{data}","data":"{data}","gas":"{:#x}"}},{at}]"#,
        request.gas,
        data = request.data
    );
    match upstream.call::<HexBytes>(&Call::new(RpcMethod::Call, params)).await {
        Ok(Some(output)) => Ok(ViewOutcome::Returned(output.0)),
        Ok(None) => Err(NodeError::invalid_response(RpcMethod::Call, "null")),
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

pub(crate) fn timed_out(endpoint: &str, timeout: Duration) -> NodeError {
    NodeError::TimedOut { endpoint: endpoint.to_owned(), method: RpcMethod::Call.name(), timeout }
}

fn params(request: &CallRequest) -> String {
    let parties = parties(request);
    format!(r#"[{{{parties}"input":"{}","gas":"{:#x}"}},"latest"]"#, request.data, request.gas)
}

/// The `from` and `to` members of the call object, each followed by a comma.
fn parties(request: &CallRequest) -> String {
    let member = |name: &str, party: Option<Address>| party.map(|party| format!(r#""{name}":"{party:#x}","#));
    [member("from", request.from), member("to", request.to)].into_iter().flatten().collect()
}

fn is_execution_failure(error: &NodeError) -> bool {
    matches!(error.rpc_kind(), Some(RpcErrorKind::Execution | RpcErrorKind::Fatal))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(to: Option<Address>) -> CallRequest {
        CallRequest {
            from: None,
            to,
            data: Bytes::from_static(&[0xab, 0x01]),
            gas: 100,
            timeout: Duration::from_secs(1),
        }
    }

    #[test]
    fn a_call_has_a_to_field_and_init_code_has_none() {
        assert_eq!(
            params(&request(Some(Address::repeat_byte(0xaa)))),
            r#"[{"to":"0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","input":"0xab01","gas":"0x64"},"latest"]"#
        );
        assert_eq!(params(&request(None)), r#"[{"input":"0xab01","gas":"0x64"},"latest"]"#);
        let sent = CallRequest { from: Some(Address::repeat_byte(0xbb)), ..request(None) };
        assert_eq!(
            params(&sent),
            r#"[{"from":"0xbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","input":"0xab01","gas":"0x64"},"latest"]"#
        );
    }

    #[test]
    fn a_failed_execution_is_distinguished_from_a_failed_node() {
        let error = |code, message: &str| NodeError::Rpc {
            method: RpcMethod::Call.name(),
            code,
            message: message.to_owned(),
            data: None,
        };
        for (code, message) in [
            (3, "execution reverted: no"),
            (-32000, "out of gas"),
            (-32000, "execution reverted"),
            (-32603, "EVM error OutOfGas"),
            (-32000, "max initcode size exceeded: code size 60000 limit 49152"),
        ] {
            assert!(is_execution_failure(&error(code, message)), "{message}");
        }
        for (code, message) in [(-32603, "internal error"), (-32000, "missing trie node"), (-32601, "no such method")] {
            assert!(!is_execution_failure(&error(code, message)), "{message}");
        }
    }
}
