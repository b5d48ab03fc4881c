//! `eth_call` at the latest block.

use std::time::Duration;

use alloy_primitives::Bytes;
use domain::Address;

use crate::{
    NodeError,
    decode::HexBytes,
    rpc_error::RpcErrorKind,
    upstream::{Call, Upstream},
};

const METHOD: &str = "eth_call";

/// A call at the node's latest block.
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

pub(crate) async fn call(upstream: &Upstream, request: &CallRequest) -> Result<CallOutcome, NodeError> {
    match upstream.call::<HexBytes>(&Call::new(METHOD, params(request))).await {
        Ok(Some(output)) => Ok(CallOutcome::Returned(output.0)),
        Ok(None) => Err(NodeError::invalid_response(METHOD, "null")),
        Err(error) if is_execution_failure(&error) => Ok(CallOutcome::Failed(error.to_string())),
        Err(error) => Err(error),
    }
}

pub(crate) fn timed_out(endpoint: &str, timeout: Duration) -> NodeError {
    NodeError::TimedOut { endpoint: endpoint.to_owned(), method: METHOD, timeout }
}

fn params(request: &CallRequest) -> String {
    let parties = parties(request);
    format!(r#"[{{{parties}"input":"{}","gas":"{:#x}"}},"latest"]"#, request.data, request.gas)
}

/// The `from` and `to` members of the call object, each followed by a comma.
pub(crate) fn parties(request: &CallRequest) -> String {
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
        let error =
            |code, message: &str| NodeError::Rpc { method: METHOD, code, message: message.to_owned(), data: None };
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
