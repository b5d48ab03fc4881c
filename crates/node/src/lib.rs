//! Client of an EVM node: JSON-RPC over HTTP, WebSocket and IPC, with every response checked.
//!
//! No response leaves this crate unchecked: a block is returned with its own receipts or not at all, and its contents
//! must match its hash. Callers may issue any number of concurrent calls; the client limits concurrency and request
//! rate to what the node can take.

mod account;
mod balances;
mod basics;
mod blocks;
mod call;
mod call_metrics;
mod call_tree;
mod calls;
mod check;
mod client;
mod codes;
mod config;
mod contract;
mod creation;
mod decode;
mod dev_chain;
mod endpoint;
mod endpoint_health;
mod error;
mod failover;
mod failure;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
#[allow(clippy::expect_used, clippy::indexing_slicing, reason = "a fuzz target panics if a property does not hold")]
pub mod fuzzing;
mod heads;
mod internal;
mod jitter;
mod limiter;
mod logs;
mod method_breaker;
mod packed_balances;
mod packed_calls;
mod pending;
mod rate;
mod raw;
mod retry;
mod rpc_error;
mod silence;
mod state;
mod state_changes;
mod status;
mod survey;
mod traces;
mod transaction;
mod transport;
mod upstream;
mod verify;
mod view;

pub use call::{CallOutcome, CallRequest};
pub use call_metrics::{CallEnd, MethodMetrics};
pub use call_tree::{CallTree, TracedFrame};
pub use calls::{CallBlock, CallResult, CallResults, ContractCall};
pub use client::NodeClient;
pub use codes::Codes;
pub use config::{NodeConfig, PollBounds, RetryPolicy};
pub use dev_chain::is_dev_chain;
pub use endpoint::{Endpoint, EndpointError};
pub use error::NodeError;
pub use heads::{Head, Heads, Polling};
pub use internal::{BlockCalls, InternalCall};
pub use logs::{FoundLog, LogFilter};
pub use packed_balances::MOST_ACCOUNTS as BALANCES_PER_CALL;
pub use state_changes::{AccountChange, Change, SlotChange, StateChanges};
pub use status::{EndpointStatus, NodeStatus};
pub use survey::HeadSurvey;
pub use transport::{Exchange, TransportError};
pub use verify::{BlockCheck, BlockChecks, BlockChecksError, RejectedBlock};
pub use view::ViewOutcome;
