//! Follows a chain: fetches, decodes, resolves and commits blocks, handles reorgs, and enriches contracts behind the tip.
//!
//! The index is always a prefix of a branch that the node has served. Each step reads the node's head, reverts to the
//! common ancestor if the branches differ, and commits forward from there; after any failure the next step starts from
//! the state of the store.
//!
//! Decoding a block's logs is pure. What logs leave open (is the emitter of a swap a pool, which standard does a token
//! follow) is resolved by contract calls before the commit, since it decides the contents of the block. Metadata (a
//! token's name and supply) is fetched behind the tip and never delays it.

mod abi;
mod background_round;
mod batch;
mod compare;
mod config;
mod contract_data;
mod creations;
mod decode;
mod error;
mod failing_calls;
mod fetch;
mod fill;
mod finality;
mod follow;
mod follow_error;
mod fork;
#[doc(hidden)]
#[allow(clippy::expect_used, clippy::indexing_slicing, reason = "a fuzz target panics if a property does not hold")]
pub mod fuzzing;
mod lower_head;
mod native_logs;
mod operator_requests;
mod outcomes;
mod pools;
mod progress;
mod recent_traces;
mod resolve;
mod rhythm;
mod single_flight;
mod standards;
#[cfg(test)]
mod test_node;
mod token_audit;
mod tracer;
mod watchdog;

pub use compare::{CompareError, Difference, compare_block};
pub use config::{IngestConfig, Traces};
pub use error::IngestError;
pub use follow::Follower;
pub use operator_requests::OperatorRequests;
pub use progress::Progress;
pub use token_audit::{HolderDifference, TokenAudit, audit_token};
