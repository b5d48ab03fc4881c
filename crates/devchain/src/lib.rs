//! An EVM chain inside the process, with JSON-RPC and living traffic.
//!
//! Execution is revm's, the data types and hashes are alloy's; this crate adds the pool, the
//! building of blocks, reorganisations on demand and a node's JSON-RPC. The same seed and the same
//! calls always give the same block hashes.

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
mod state;
pub mod traffic;

pub use block::{BlockSummary, Inclusion, MinedBlock, MinedTransaction};
pub use call::{Call, CallError};
pub use chain::DevChain;
pub use config::{BaseFee, DevChainConfig};
pub use ledger::StateUnavailable;
pub use pool::SubmitError;
pub use reorg::{ReorgError, ReorgedTransactions};
pub use rpc::RpcServer;
pub use send::{Draft, SendError, TransactionForm};
