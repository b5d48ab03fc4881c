//! Client of an EVM node: JSON-RPC over HTTP, WebSocket and IPC, with every response checked.
//!
//! No response leaves this crate unchecked: a block is returned with its own receipts or not at all, and its contents
//! must match its hash. Callers may issue any number of concurrent calls; the client limits concurrency and request
//! rate to what the node can take.

mod address;
mod client;
mod config;
mod decode;
mod dev_chain;
mod endpoint;
mod error;
#[doc(hidden)]
#[allow(clippy::expect_used, clippy::indexing_slicing, reason = "a fuzz target panics if a property does not hold")]
pub mod fuzzing;
mod genesis;
mod heads;
mod methods;
mod rpc_error;
mod rpc_method;
mod traced;
mod transport;
mod verify;

pub use address::{Endpoint, EndpointError};
pub use client::NodeClient;
pub use config::{NodeConfig, PollBounds, RetryPolicy};
pub use dev_chain::is_dev_chain;
pub use endpoint::{
    metrics::{CallEnd, MethodMetrics},
    status::{EndpointStatus, NodeStatus},
    survey::HeadSurvey,
};
pub use error::NodeError;
pub use genesis::{Genesis, GenesisError};
pub use heads::{Head, Heads, Polling};
pub use methods::{
    balances::BALANCES_PER_CALL,
    block_param::CallBlock,
    calls::{CallOutcome, CallRequest, ViewOutcome},
    code::Codes,
    contract_calls::{CallResult, CallResults, ContractCall},
    logs::{FoundLog, LogFilter},
};
pub use rpc_method::RpcMethod;
pub use traced::{
    AccountChange, BlockCalls, CallTree, Change, InternalCall, SlotChange, StateChanges, TracedFrame, TracedTransaction,
};
pub use transport::{Exchange, TransportError};
pub use verify::{BlockCheck, BlockChecks, BlockChecksError, RejectedBlock};
