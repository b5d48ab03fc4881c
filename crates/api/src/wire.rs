//! The JSON bodies of the API.

mod account;
mod address;
mod api_key;
mod approval;
mod artifacts;
mod balance_history;
mod block;
mod block_header;
mod compiler;
mod contract;
mod contract_call;
mod coverage;
mod credit;
mod day;
mod gas;
mod health;
mod holder;
mod internal_transaction;
mod list;
mod log;
mod nft;
mod nft_metadata;
mod pending_transaction;
mod problem;
mod query;
mod scalar;
mod stats;
mod time;
mod token;
mod trade;
mod transaction;
mod transaction_detail;
mod transaction_parts;
mod transfer;
mod user_operation;
mod verify;
mod verify_job;
mod webhook;

pub use account::{Account, AccountList, MissingAccounts};
pub use address::{AddressDetail, Contract, KnownSource};
pub use api_key::{ApiKey, ApiKeyList, CreatedKey, NewKeyRequest, RevokedKey};
pub use approval::{Approval, ApprovalList, Scope};
pub use artifacts::{CompilerJson, StandardJsonInput, StandardJsonSource};
pub use balance_history::{BalanceHistory, BalancePoint, InexactReason};
pub use block::{Block, BlockList};
pub use block_header::BlockHeader;
pub use compiler::{Compiler, CompilerList};
pub use contract::{
    ContractList, ContractProxy, ContractSource, ContractSummary, Language, MatchKind, ProxyKind, VerifiedContract,
};
pub use contract_call::{CallRequest, CallResponse};
pub use coverage::Coverage;
pub use credit::{Issuance, IssuanceKind, IssuanceList, Uncle, Withdrawal, WithdrawalList};
pub use day::{Day, DayList};
pub use gas::GasPrices;
pub use health::{
    BackgroundTask, BlockTip, Health, HealthStatus, IndexState, IndexedChain, Phase, RejectedBlock, TaskState,
    WebhookFigures,
};
pub use holder::{Holder, HolderList, TokenBalance, TokenBalanceList};
pub use internal_transaction::{InternalTransaction, InternalTransactionList, InternalType};
pub use log::{EventLog, LogList};
pub use nft::{HeldNft, HeldNftList, Nft, NftList, NftTransferList};
pub use nft_metadata::{ImageFile, MetadataState, NftAttribute, NftDetail, NftMetadata};
pub use pending_transaction::{FoundTransaction, PendingTransaction};
pub use problem::Problem;
pub use query::{QueryEntity, QueryRecord, QueryResponse};
pub use scalar::{Address, AnyCaseAddress, AnyCaseHash, Decimal, Hash, Receiver, Selector, Total};
pub use stats::{Stats, StatsField};
pub use time::Timestamp;
pub use token::{BalanceSource, ImitatedToken, Likeness, Token, TokenDetail, TokenField, TokenList, TokenType};
pub use trade::DexTrade;
pub use transaction::{Transaction, TransactionList};
pub use transaction_detail::{
    Authorization, FailureSource, FeeParts, IgnoredAuthorization, TransactionDetail, TransactionFailure, TransactionLog,
};
pub use transaction_parts::{
    AccountChange, CallTree, NumberChange, SlotChange, StateChanges, TracedCall, TransactionTradeList,
    TransactionTransferList,
};
pub use transfer::TokenTransfer;
pub use user_operation::{UserOperation, UserOperationList};
pub use verify::{VerifyRequest, VerifyResponse};
pub use verify_job::{VerifyJob, VerifyJobFailure, VerifyJobStatus};
pub use webhook::{
    CreatedWebhook, DeletedWebhook, Delivery, DeliveryAttempt, DeliveryList, DeliveryStatus, EventType,
    NewWebhookRequest, QueuedDelivery, ReceiverUrl, RevealedSecret, RotatedSecret, WantedEvent, Webhook,
    WebhookChangeRequest, WebhookList,
};

pub use crate::error::ProblemCode;
