//! Follows a chain: fetch, decode, reorganise, commit.
//!
//! The index is always a prefix of some branch that the node has shown. A pass looks at the node's head, goes back to
//! where the two agree if they part, and commits forward from there; whatever goes wrong, the next pass starts from
//! what the store holds.

mod batch;
mod config;
mod decode;
mod error;
mod fetch;
mod follow;
mod fork;
mod progress;

pub use config::IngestConfig;
pub use decode::decode_block;
pub use error::IngestError;
pub use follow::Follower;
pub use progress::Progress;
