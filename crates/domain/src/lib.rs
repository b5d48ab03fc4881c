//! The domain types: blocks, transactions, addresses, pages, and the changes of a block.
//!
//! Plain values only: no clock, no IO, no serialization.

mod account;
mod address;
mod all_variants;
mod api_key;
mod approval;
mod block;
mod block_header;
mod changes;
mod coverage;
mod credit;
mod database_status;
mod day;
mod delivery;
mod difference;
mod event_kind;
mod fee;
mod filter;
mod gas;
mod internal_transaction;
mod log;
mod nft;
mod nft_metadata;
mod page;
mod pending_transaction;
mod replica;
mod reward;
mod stats;
mod sync;
mod task;
mod token;
mod token_prefix;
mod trade;
mod transaction;
mod transaction_detail;
mod transaction_failure;
mod transfer;
mod utc;
mod verification_job;
mod verified_contract;
mod webhook;

pub use account::{Account, Code};
pub use address::{AddressFacts, AddressOrigin, AddressOverview, AddressSummary, Creation, ListedAddresses, TokenName};
pub use alloy_primitives::{Address, B256, Bytes, U256};
pub use api_key::{ApiKey, ApiKeyId, KeyDigest, KeyUse, NewApiKey, UnixMillis};
pub use approval::{Approval, ApprovalEvent, ApprovalScope};
pub use block::{Block, BlockId, BlockNumber, BlockRef, ChainIdentity};
pub use block_header::BlockHeader;
pub use changes::{BlockChanges, InnerCreation, Involvement, TouchedHolder};
pub use coverage::Coverage;
pub use credit::{Credit, CreditClass, CreditEvent, CreditFilter, CreditSource};
pub use database_status::{DatabaseStatus, ReportAge};
pub use day::{DAY, DayFigures};
pub use delivery::{
    Attempt, AttemptOutcome, AttemptReport, ClaimedDelivery, Delivery, DeliveryId, DeliveryNumber, DeliveryStatus,
    DropCount, EventIdentity, EventLocation, InvalidDeliveryId, NewDelivery, NextStep,
};
pub use event_kind::{EventKind, EventKinds};
pub use fee::{Charges, Fee, Payment};
pub use filter::{BlockRange, TransactionFilter};
pub use gas::{Quartiles, RecentGas};
pub use internal_transaction::{
    InternalBlock, InternalEvent, InternalFilter, InternalFrontier, InternalKind, InternalPage, InternalTransaction,
    TracedRange,
};
pub use log::{FetchedBlock, IndexedLog, Log, LogEvent, LogFilter, LogPage, MAX_TOPICS, SYSTEM_ADDRESS};
pub use nft::{HeldNft, Nft};
pub use nft_metadata::{NftAttribute, NftDocument, NftMetadata};
pub use page::{Order, Page, PageRequest};
pub use pending_transaction::PendingTransaction;
pub use replica::ReplicaStatus;
pub use reward::RewardRules;
pub use stats::{BlockGasPrice, Stats};
pub use sync::{StatusLine, SyncPhase, SyncStatus};
pub use task::{TaskState, TaskStatus};
pub use token::{
    AuditResult, AuditSample, Balance, BalanceKey, BalanceSource, Holder, PendingToken, Token, TokenBalance,
    TokenBalanceAt, TokenKind, TokenMetadata,
};
pub use token_prefix::{ChainTokenPrefix, TokenPrefix, UnknownTokenPrefix};
pub use trade::{Exchange, Pool, PoolStyle, Trade, TradeDirection, TradeEvent, TradeFilter, TradedToken};
pub use transaction::{Outcome, Selector, Transaction};
pub use transaction_detail::{Authorization, AuthorizationOutcome, BlobFields, TransactionDetail, TransactionEvents};
pub use transaction_failure::{FailureSource, TransactionFailure};
pub use transfer::{Transfer, TransferEvent, TransferFilter};
pub use utc::{UtcTime, parse_day};
pub use verification_job::{
    CreationCheck, InvalidJobId, JobFailure, JobId, JobRefusal, JobResult, JobVerdict, VerificationJob,
};
pub use verified_contract::{
    Artifacts, CreationId, CreationProof, CreationTemplate, Deployment, Language, LibraryOffset, MatchKind, SourceFile,
    VerifiedCode, VerifiedContract, VerifiedSummary,
};
pub use webhook::{AttemptEffect, NewWebhook, RetiredSecret, SealedSecret, Webhook, WebhookChange, WebhookId};
