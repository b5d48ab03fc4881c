//! The default store: an index on the local disk, inside the process.
//!
//! Every transaction has a running number in chain order, and every list is a run of such numbers cut into chunks that
//! carry the count of what came before them. So a total is read, a page is a seek whatever its depth, a range of blocks
//! is two searches, and taking a block back cuts the ends off the lists it had grown.

mod aside;
mod cache;
mod codec;
mod engine;
mod fingerprint;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod keys;
mod lists;
mod meta;
mod private_files;
mod ranked;
mod read;
mod reader;
mod rows;
mod shared_work;
mod standing;
mod states;
#[cfg(test)]
mod states_tests;
mod store;
mod token_names;
mod undo;
mod user_records;
mod verified_contracts;
mod webhook_records;
mod write;
mod writer;

pub use engine::{LostRecords, Repair};
pub use reader::EmbeddedReader;
pub use store::{EmbeddedStore, StoreOptions};
pub use user_records::EmbeddedUserRecords;
pub use verified_contracts::EmbeddedVerifiedContracts;
pub use webhook_records::EmbeddedWebhookRecords;
pub use writer::EmbeddedWriter;

mod sync {
    pub(crate) use std::sync::{Mutex, atomic::AtomicU64};
}
