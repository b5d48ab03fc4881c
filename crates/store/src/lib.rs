//! The storage traits, and the conformance suite that every implementation must pass.
//!
//! The traits use domain types only, so that the API and the ingest do not depend on a particular store.

#[cfg(feature = "conformance")]
pub mod conformance;
mod error;
mod lifecycle;
mod traits;
mod user_records;
mod verified_contracts;
mod webhook_records;

pub use error::{BoxError, StoreError};
pub use lifecycle::Store;
pub use traits::{ChainReader, ChainWriter, KeptAccounts, StateVersion, Undo};
pub use user_records::{ACTIVE_KEYS_PER_OWNER, AddKeyError, LISTED_KEYS, UserRecords};
pub use verified_contracts::{JOB_RETENTION, KEPT_JOBS, Kept, VerifiedContracts};
pub use webhook_records::{
    AddWebhookError, EnqueueError, KEPT_ATTEMPTS, LONGEST_WAIT, MATCHED_BLOCK_HISTORY, MatchedBlock, Matches, NewEvent,
    Orphaning, Part, Progress, QueueCounts, QueueHead, QueueState, Recipient, Removal, RetractedBatch, Retraction,
    RetractionCursor, WEBHOOKS_PER_OWNER, WatchList, Watcher, WebhookLimits, WebhookRecords, WebhookTotals,
};
