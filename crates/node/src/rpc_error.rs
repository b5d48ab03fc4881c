//! Classifies JSON-RPC errors. Codes are hardly standardised, so messages count more.

use crate::decode::ErrorObject;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RpcErrorKind {
    /// Rate limit or quota exceeded.
    Limited,
    /// The batch is too large, its response is too long, or batches are not supported.
    BatchRefused,
    /// The node does not know the method.
    MethodMissing,
    /// The node does not have the block or its state (any more).
    StateGone,
    InvalidParams,
    /// The execution failed, not the node: revert, out of gas, invalid opcode.
    Execution,
    /// Retrying would not help.
    Fatal,
    /// A temporary failure of the node.
    Transient,
}

const EXECUTION: [&str; 20] = [
    "revert",
    "vm exception",
    "vm execution error",
    "evm error",
    "out of gas",
    "outofgas",
    "opcode",
    "bad instruction",
    "bad jump",
    "invalid jump",
    "stack underflow",
    "stack overflow",
    "stack limit",
    "write protection",
    "static call",
    "out of bounds",
    "max call depth",
    "gas required exceeds",
    "gas uint64 overflow",
    "initcode",
];
const BATCH: [&str; 3] = ["batch", "response size", "response too large"];
const LIMITED: [&str; 12] = [
    "limit exceeded",
    "rate limit",
    "rate-limit",
    "ratelimit",
    "too many requests",
    "request limit",
    "limit reached",
    "exceeded its",
    "capacity",
    "compute units",
    "throttl",
    "quota",
];
const STATE_GONE: [&str; 14] = [
    "missing trie node",
    "state not available",
    "state is not available",
    "state unavailable",
    "historical state",
    "no state available",
    "state not found",
    "pruned",
    "header not found",
    "block not found",
    "unknown block",
    "header for hash not found",
    "proof window",
    "outofrange",
];
const METHOD_MISSING: [&str; 13] = [
    "method not found",
    "does not exist",
    "not supported",
    "unsupported",
    "not available",
    "not implemented",
    "unknown method",
    "not whitelisted",
    "not allowed",
    "disabled",
    "forbidden",
    "access denied",
    "not enabled",
];
const INVALID: [&str; 5] =
    ["invalid argument", "invalid param", "cannot unmarshal", "invalid type", "as a json-rpc type"];

pub(crate) fn kind_of(error: &ErrorObject) -> RpcErrorKind {
    let message = error.message.to_ascii_lowercase();
    let says = |texts: &[&str]| texts.iter().any(|text| message.contains(text));
    match error.code {
        // Checked first: a revert reason is chosen by the contract and may contain any of the words below.
        3 | -32015 => RpcErrorKind::Execution,
        _ if says(&EXECUTION) => RpcErrorKind::Execution,
        _ if says(&BATCH) => RpcErrorKind::BatchRefused,
        -32005 | 429 | -32029 => RpcErrorKind::Limited,
        _ if says(&LIMITED) => RpcErrorKind::Limited,
        _ if says(&STATE_GONE) => RpcErrorKind::StateGone,
        // EIP-1474: resource not found.
        -32001 => RpcErrorKind::StateGone,
        -32601 | -32004 => RpcErrorKind::MethodMissing,
        -32602 => RpcErrorKind::InvalidParams,
        _ if says(&INVALID) => RpcErrorKind::InvalidParams,
        _ if says(&METHOD_MISSING) => RpcErrorKind::MethodMissing,
        -32600 | -32700 => RpcErrorKind::Fatal,
        _ => RpcErrorKind::Transient,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_known_nodes_are_classified() {
        let cases = [
            (-32601, "the method eth_getBlockReceipts does not exist/is not available", RpcErrorKind::MethodMissing),
            (-32000, "Method eth_getBlockReceipts is not supported", RpcErrorKind::MethodMissing),
            (-32000, "method not allowed", RpcErrorKind::MethodMissing),
            (-32600, "eth_getBlockReceipts is disabled for this key", RpcErrorKind::MethodMissing),
            (-32005, "daily request count exceeded, request rate limited", RpcErrorKind::Limited),
            (-32000, "Too Many Requests", RpcErrorKind::Limited),
            (-32600, "batch too large", RpcErrorKind::BatchRefused),
            (-32700, "The method eth_getBlockReceipts does not exist/is not available", RpcErrorKind::MethodMissing),
            (-32700, r#"Cannot wrap a "object" as a json-rpc type"#, RpcErrorKind::InvalidParams),
            (-32603, "Error: Transaction reverted without a reason string", RpcErrorKind::Execution),
            (-32003, "response size exceeded", RpcErrorKind::BatchRefused),
            (-32000, "missing trie node 00ab (path ) state 0x00 is not available", RpcErrorKind::StateGone),
            (-32000, "header not found", RpcErrorKind::StateGone),
            (-32001, "Resource not found", RpcErrorKind::StateGone),
            (-39001, "Unknown block", RpcErrorKind::StateGone),
            (-32000, "required historical state unavailable (reexec=128)", RpcErrorKind::StateGone),
            (-32602, "invalid argument 1: json: cannot unmarshal object into Go value", RpcErrorKind::InvalidParams),
            (3, "execution reverted", RpcErrorKind::Execution),
            (3, "execution reverted: rate limit exceeded", RpcErrorKind::Execution),
            (-32000, "execution reverted: batch too large, header not found", RpcErrorKind::Execution),
            (-32603, "VM Exception while processing: revert too many requests", RpcErrorKind::Execution),
            (-32015, "VM execution error.", RpcErrorKind::Execution),
            (-32000, "out of gas", RpcErrorKind::Execution),
            (-32000, "invalid opcode: INVALID", RpcErrorKind::Execution),
            (-32000, "stack limit reached 1024 (1023)", RpcErrorKind::Execution),
            (-32000, "EVM error: InvalidFEOpcode", RpcErrorKind::Execution),
            (-32600, "invalid request", RpcErrorKind::Fatal),
            (-32000, "execution aborted (timeout = 5s)", RpcErrorKind::Transient),
            (-32603, "internal error", RpcErrorKind::Transient),
            (-32002, "request timed out", RpcErrorKind::Transient),
        ];
        for (code, message, kind) in cases {
            assert_eq!(kind_of(&ErrorObject { code, message: message.to_owned(), data: None }), kind, "{message}");
        }
    }
}
