//! Calls that are executed and leave no trace.

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

/// A call at the node's newest block.
#[derive(Debug, Clone)]
pub struct CallRequest {
    /// The sender that the code sees; None: the zero address.
    pub from: Option<Address>,
    /// None: the data is code that is run once and never deployed; what it returns is the answer.
    pub to: Option<Address>,
    pub data: Bytes,
    /// The gas that the execution may use.
    pub gas: u64,
    /// For the answer, all tries included.
    pub patience: Duration,
}

/// How an execution ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallOutcome {
    Returned(Bytes),
    /// Reverted, or stopped for want of gas; in the node's words.
    Failed(String),
}

pub(crate) async fn call(upstream: &Upstream, request: &CallRequest) -> Result<CallOutcome, NodeError> {
    match upstream.call::<HexBytes>(&Call::new(METHOD, params(request))).await {
        Ok(Some(output)) => Ok(CallOutcome::Returned(output.0)),
        Ok(None) => Err(NodeError::bad_answer(METHOD, "null")),
        Err(error) if is_of_the_execution(&error) => Ok(CallOutcome::Failed(error.to_string())),
        Err(error) => Err(error),
    }
}

pub(crate) fn timed_out(endpoint: &str, patience: Duration) -> NodeError {
    NodeError::TimedOut { endpoint: endpoint.to_owned(), method: METHOD, timeout: patience }
}

fn params(request: &CallRequest) -> String {
    let parties = parties(request);
    format!(r#"[{{{parties}"input":"{}","gas":"{:#x}"}},"latest"]"#, request.data, request.gas)
}

/// Who calls whom, as far as that is said: members of a JSON object, each with a comma behind it.
pub(crate) fn parties(request: &CallRequest) -> String {
    let member = |name: &str, party: Option<Address>| party.map(|party| format!(r#""{name}":"{party:#x}","#));
    [member("from", request.from), member("to", request.to)].into_iter().flatten().collect()
}

fn is_of_the_execution(error: &NodeError) -> bool {
    matches!(error.rpc_kind(), Some(RpcErrorKind::Execution | RpcErrorKind::Final))
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
            patience: Duration::from_secs(1),
        }
    }

    #[test]
    fn a_call_names_its_contract_and_a_run_of_code_names_none() {
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
    fn a_failed_execution_is_told_from_a_failed_node() {
        let error =
            |code, message: &str| NodeError::Rpc { method: METHOD, code, message: message.to_owned(), data: None };
        for (code, message) in [
            (3, "execution reverted: no"),
            (-32000, "out of gas"),
            (-32000, "execution reverted"),
            (-32603, "EVM error OutOfGas"),
            (-32000, "max initcode size exceeded: code size 60000 limit 49152"),
        ] {
            assert!(is_of_the_execution(&error(code, message)), "{message}");
        }
        for (code, message) in [(-32603, "internal error"), (-32000, "missing trie node"), (-32601, "no such method")] {
            assert!(!is_of_the_execution(&error(code, message)), "{message}");
        }
    }
}
