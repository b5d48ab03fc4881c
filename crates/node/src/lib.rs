//! The client of an EVM node: JSON-RPC over HTTP, WebSocket and IPC, checked before it is believed.
//!
//! Nothing a node says leaves this crate unchecked: a block comes with the receipts of that very block or not at all, and
//! what it holds must be what its hash says.
//! Callers issue as many calls at once as they like; the client admits what the node bears.

mod ability;
mod account;
mod basics;
mod blocks;
mod call;
mod calls;
mod check;
mod client;
mod codes;
mod config;
mod contract;
mod creation;
mod decode;
mod endpoint;
mod error;
mod failover;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod heads;
mod jitter;
mod limiter;
mod rate;
mod retry;
mod rpc_error;
mod silence;
mod standing;
mod state;
mod status;
mod survey;
mod traces;
mod transaction;
mod transport;
mod upstream;
mod verify;
mod view;

pub use call::{CallOutcome, CallRequest};
pub use calls::{CallBlock, ContractAnswer, ContractAnswers, ContractCall};
pub use client::NodeClient;
pub use codes::Codes;
pub use config::{NodeConfig, PollBounds, RetryPolicy};
pub use endpoint::{Endpoint, EndpointError};
pub use error::NodeError;
pub use heads::Heads;
pub use status::NodeStatus;
pub use survey::HeadSurvey;
pub use transport::{Exchange, TransportError};
pub use verify::{BlockCheck, BlockChecks, BlockChecksError, RefusedBlock};
pub use view::ViewOutcome;
