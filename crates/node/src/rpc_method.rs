//! The JSON-RPC methods that the client can call.

use std::fmt;

macro_rules! rpc_methods {
    ($($method:ident = $name:literal),+ $(,)?) => {
        /// A method of a node. A call is made of one of these, so no other is ever sent.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum RpcMethod {
            $($method),+
        }

        impl RpcMethod {
            /// Every method that may be called. The documentation of nodes names them all.
            pub const ALL: &[Self] = &[$(Self::$method),+];

            /// As in a request.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$method => $name),+
                }
            }
        }
    };
}

rpc_methods! {
    ChainId = "eth_chainId",
    ClientVersion = "web3_clientVersion",
    BlockNumber = "eth_blockNumber",
    GetBlockByNumber = "eth_getBlockByNumber",
    GetBlockReceipts = "eth_getBlockReceipts",
    GetTransactionByHash = "eth_getTransactionByHash",
    GetTransactionReceipt = "eth_getTransactionReceipt",
    GetBalance = "eth_getBalance",
    GetTransactionCount = "eth_getTransactionCount",
    GetCode = "eth_getCode",
    GetStorageAt = "eth_getStorageAt",
    Call = "eth_call",
    GetLogs = "eth_getLogs",
    GetUncleByBlockHashAndIndex = "eth_getUncleByBlockHashAndIndex",
    GetBlockAccessList = "eth_getBlockAccessList",
    Subscribe = "eth_subscribe",
    DebugTraceTransaction = "debug_traceTransaction",
    DebugTraceBlockByNumber = "debug_traceBlockByNumber",
    TraceTransaction = "trace_transaction",
    TraceBlock = "trace_block",
    // Only forwarded, for clients that ask for the node's own response.
    GasPrice = "eth_gasPrice",
    EstimateGas = "eth_estimateGas",
    GetBlockTransactionCountByNumber = "eth_getBlockTransactionCountByNumber",
    GetTransactionByBlockNumberAndIndex = "eth_getTransactionByBlockNumberAndIndex",
    GetUncleByBlockNumberAndIndex = "eth_getUncleByBlockNumberAndIndex",
    SendRawTransaction = "eth_sendRawTransaction",
}

impl fmt::Display for RpcMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_method_has_a_name_of_its_own_in_a_known_namespace() {
        let names: BTreeSet<&str> = RpcMethod::ALL.iter().map(|method| method.name()).collect();
        assert_eq!(names.len(), RpcMethod::ALL.len());
        let is_known = |name: &&str| ["eth_", "debug_", "trace_", "web3_"].iter().any(|space| name.starts_with(space));
        assert!(names.iter().all(is_known), "{names:?}");
    }
}
