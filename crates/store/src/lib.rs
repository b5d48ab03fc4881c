//! The storage traits and the rules that all stores share.
//!
//! The traits use domain types only, so that the API and the ingest do not depend on a particular store.

mod block_credits;
mod block_times;
mod contract_data;
mod error;
#[doc(hidden)]
#[allow(clippy::expect_used, clippy::indexing_slicing, reason = "a fuzz target panics if a property does not hold")]
pub mod fuzzing;
mod internal;
mod lifecycle;
pub mod log_data;
mod older_index;
mod parties;
mod queue_loads;
mod raw_records;
mod readers;
mod record_json;
mod record_lines;
mod records;
mod row_numbers;
pub mod rules;
mod shared_jobs;
mod shared_quotas;
mod store_check;
mod traits;
mod user_records;
mod verified_contracts;
mod webhook_records;

pub use block_credits::list_block_credits;
pub use block_times::find_first_block_since;
pub use contract_data::ContractDataWriter;
pub use error::{BoxError, Failure, StoreError};
pub use internal::{InternalProgress, InternalWriter};
pub use lifecycle::{CacheUse, SnapshotContent, Store};
pub use older_index::OlderIndex;
pub use parties::{Parties, Party};
pub use queue_loads::QueueLoads;
pub use raw_records::{RawRecords, RecordImport};
pub use readers::{
    AddressReader, ApprovalReader, BlockReader, ChainReader, CreditReader, InternalReader, KnownAddressReader,
    LogReader, NftReader, StateVersion, TokenReader, TradeReader, TransactionReader, TransferReader,
};
pub use record_lines::{FileChain, InvalidLine, Line, RecordFileHeader};
pub use records::{
    DeliveryLogRecord, DeliveryRecord, DeploymentRecord, EventRecord, FailureRecord, HashPrefix, JobRecord,
    MatchingRecord, OrphanedBlockRecord, Record, RecordKind, RecordPosition, UsedProof, VerifiedCodeRecord,
    VerifiedContractRecord,
};
pub use row_numbers::RowNumber;
pub use rules::{ChainTotals, CurrentDay, ListKey, ListKind, check_order, fetch_policy};
pub use shared_jobs::{JOB_LEASE, SharedJobs};
pub use shared_quotas::{QuotaCaller, QuotaLeft, QuotaUse, SharedQuotas};
pub use store_check::{StoreCheck, StoreFault, StorePart};
pub use traits::{CachedAccounts, CachedFailures, CachedNftMetadata, ChainWriter, IndexWriter, Undo};
pub use user_records::{ACTIVE_KEYS_PER_OWNER, AddKeyError, LISTED_KEYS, UserRecords};
pub use verified_contracts::{JOB_RETENTION, KEPT_JOBS, Kept, VerifiedContracts};
pub use webhook_records::{
    AddWebhookError, EnqueueError, InternalMatches, KEPT_ATTEMPTS, MATCHED_BLOCK_HISTORY, MAX_WAIT, MatchedBlock,
    Matches, NewEvent, Orphaning, Part, Progress, QueueCounts, QueueHead, QueueState, Recipient, Removal,
    RetractedBatch, Retraction, RetractionCursor, WEBHOOKS_PER_OWNER, WatchList, Watcher, WebhookLimits,
    WebhookRecords, WebhookTotals,
};
