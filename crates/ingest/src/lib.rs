//! Follows a chain: fetch, decode, resolve, reorganise, commit; and behind the tip, settle.
//!
//! The index is always a prefix of some branch that the node has shown. A pass looks at the node's head, goes back to
//! where the two agree if they part, and commits forward from there; whatever goes wrong, the next pass starts from
//! what the store holds.
//!
//! What a block's logs say is decoded purely. What they leave open (is the emitter of a swap a pool, of which standard
//! is a token) is resolved with its contracts before the block is committed, since it decides what the block holds.
//! What only decorates (a token's name and supply) is settled behind the tip and never holds it.

mod abi;
mod asked_once;
mod batch;
mod compare;
mod config;
mod creations;
mod decode;
mod error;
mod fetch;
mod finality;
mod follow;
mod fork;
mod lower_head;
mod pools;
mod progress;
mod resolve;
mod rhythm;
mod setback;
mod settle;
mod standards;
#[cfg(test)]
mod test_node;
mod watchdog;

pub use compare::{CompareError, Difference, compare_block};
pub use config::{IngestConfig, Traces};
pub use error::IngestError;
pub use follow::Follower;
pub use progress::Progress;
