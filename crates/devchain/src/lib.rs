//! An in-process EVM chain with JSON-RPC and generated traffic.
//!
//! Transactions are executed by revm, data types and hashes come from alloy; this crate adds the
//! transaction pool, block building, reorgs on demand and JSON-RPC. The same seed and the same calls
//! always give the same block hashes.

mod archive;
mod block;
mod builder;
mod call;
mod chain;
mod config;
mod evm;
mod keys;
mod ledger;
mod pool;
mod reorg;
mod rpc;
mod send;
mod signer;
mod state;
mod trace;
pub mod traffic;

pub use archive::ArchiveError;
pub use block::{BlockSummary, Inclusion, MinedBlock, MinedTransaction};
pub use call::{Call, CallError};
pub use chain::DevChain;
pub use config::{BaseFee, DevChainConfig};
pub use ledger::StateUnavailable;
pub use pool::SubmitError;
pub use reorg::{ReorgError, ReorgedTransactions};
pub use rpc::{RpcServer, is_trace};
pub use send::{Draft, SendError, TransactionType};
pub use signer::Signer;
