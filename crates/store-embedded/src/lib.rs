//! The default store: an index on the local disk, embedded in the process.
//!
//! Every transaction has a sequential id in chain order. A list is a sorted run of such ids, stored in chunks that
//! carry the count of all entries before them. So a total is one read, a page is one seek at any depth, a block range
//! is two searches, and reverting a block truncates the lists that it extended.

mod blocking;
mod cache;
mod check;
mod codec;
mod engine;
mod fingerprint;
#[doc(hidden)]
#[allow(clippy::expect_used, clippy::indexing_slicing, reason = "a fuzz target panics if a property does not hold")]
pub mod fuzzing;
mod internal;
mod keys;
mod lists;
mod meta;
mod options;
mod private_files;
mod ranked;
mod raw_records;
mod read;
mod reader;
mod record_takeover;
mod reindex;
mod replacement;
mod rows;
mod shared_work;
mod snapshot;
mod states;
mod store;
#[doc(hidden)]
pub mod testing;
mod token_names;
mod token_status;
mod undo;
mod upgrade;
mod user_records;
mod verified_contracts;
mod webhook_records;
mod write;
mod writer;

pub use engine::{LostRecords, Repair};
pub use meta::{RECORDS as RECORDS_VERSION, SCHEMA as INDEX_VERSION};
pub use options::StoreOptions;
pub use reader::EmbeddedReader;
pub use reindex::Reindex;
pub use snapshot::{ARCHIVED, Inspected, Restoration, copy_index, has_index, inspect, restore};
pub use store::EmbeddedStore;
pub use user_records::EmbeddedUserRecords;
pub use verified_contracts::EmbeddedVerifiedContracts;
pub use webhook_records::EmbeddedWebhookRecords;
pub use writer::EmbeddedWriter;
