//! What a store must do, and the suite that proves that one does.
//!
//! The traits speak domain types only, so that neither the API nor the ingest can tell one store from another.

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
pub use verified_contracts::{Kept, VerifiedContracts};
pub use webhook_records::{
    AddWebhookError, EnqueueError, KEPT_ATTEMPTS, LONGEST_WAIT, MatchedBlock, Matches, NewEvent, Orphaning, Part,
    Progress, QueueCounts, QueueHead, QueueState, REMEMBERED_BLOCKS, Recipient, Removal, RetractedPiece,
    RetractedPlace, Retraction, WEBHOOKS_PER_OWNER, WatchList, Watcher, WebhookLimits, WebhookRecords, WebhookTotals,
};
