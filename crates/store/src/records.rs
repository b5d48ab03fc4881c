use domain::{
    Address, ApiKey, ApiKeyId, B256, BlockNumber, BlockRef, Bytes, Delivery, DeliveryNumber, Deployment, DropCount,
    EventLocation, TransactionFailure, UnixMillis, VerificationJob, VerifiedCode, Webhook, WebhookId,
};
use serde::{Deserialize, Serialize};

use crate::{
    MatchedBlock, StoreError,
    record_json::{
        ApiKeyJson, DeliveryJson, DeploymentJson, DropCountJson, MatchedBlockJson, TransactionFailureJson,
        VerificationJobJson, VerifiedCodeJson, WebhookJson, optional_block, optional_location,
    },
};

/// One record that does not follow from the chain, in a form that every store can read and write. It contains ids and
/// counters as they are, so that a copy behaves like the original.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Record {
    ApiKey(#[serde(with = "ApiKeyJson")] ApiKey),
    UsedProof(UsedProof),
    VerifiedCode(Box<VerifiedCodeRecord>),
    VerifiedContract(VerifiedContractRecord),
    Deployment(DeploymentRecord),
    Job(JobRecord),
    Failure(FailureRecord),
    Webhook(#[serde(with = "WebhookJson")] Webhook),
    DeliveryLog(DeliveryLogRecord),
    Event(EventRecord),
    Delivery(DeliveryRecord),
    MatchedBlock(#[serde(with = "MatchedBlockJson")] MatchedBlock),
    OrphanedBlock(OrphanedBlockRecord),
    Matching(MatchingRecord),
}

/// A proof that an owner used for a key: it cannot be used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UsedProof {
    pub owner: Address,
    pub signed_at: UnixMillis,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VerifiedCodeRecord {
    /// None if it applies to every address with this code.
    pub only_at: Option<Address>,
    /// Where it was verified.
    pub origin: Address,
    #[serde(with = "VerifiedCodeJson")]
    pub code: VerifiedCode,
}

/// A contract that was verified, with its number in the order of verifications.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VerifiedContractRecord {
    pub number: u64,
    pub address: Address,
    pub code_hash: B256,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeploymentRecord {
    pub address: Address,
    pub code_hash: B256,
    #[serde(with = "DeploymentJson")]
    pub deployment: Deployment,
}

/// A verification job with its number in the order of submission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct JobRecord {
    pub number: u64,
    #[serde(with = "VerificationJobJson")]
    pub job: VerificationJob,
}

/// Why a transaction failed: stored too, since a node that has dropped old state cannot tell it again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FailureRecord {
    pub transaction: B256,
    pub block: B256,
    #[serde(with = "TransactionFailureJson")]
    pub failure: TransactionFailure,
}

/// The counters of a webhook's messages. It outlives its webhook until they are deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeliveryLogRecord {
    pub webhook: WebhookId,
    /// The oldest stored message.
    pub first: DeliveryNumber,
    /// The next number to assign.
    pub next: DeliveryNumber,
    pub pending: u64,
    #[serde(with = "DropCountJson")]
    pub dropped: DropCount,
}

/// The body and position of an event, shared by its messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EventRecord {
    pub number: u64,
    #[serde(with = "optional_location")]
    pub location: Option<EventLocation>,
    pub body: Bytes,
    /// Messages that refer to it.
    pub uses: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeliveryRecord {
    /// The number of its event.
    pub event: u64,
    /// Whether it may have been received although no attempt says so.
    pub maybe_received: bool,
    /// The block whose reorg retracts it.
    pub retracted_with: Option<BlockNumber>,
    /// Without its location, which is that of the event.
    #[serde(with = "DeliveryJson")]
    pub delivery: Delivery,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OrphanedBlockRecord {
    pub number: BlockNumber,
    /// The first bytes of its hash, which identify it among blocks with this number.
    pub hash_prefix: HashPrefix,
    pub times: u32,
    pub known_to: WebhookId,
}

pub type HashPrefix = [u8; 8];

/// How far the chain was matched against the webhooks, and the last numbers assigned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MatchingRecord {
    /// Of the watch list.
    pub version: u64,
    pub last_webhook: WebhookId,
    pub last_event: u64,
    #[serde(with = "optional_block")]
    pub cursor: Option<BlockRef>,
    /// The first block whose messages have to be retracted, during a retraction.
    pub retracting_from: Option<BlockNumber>,
    /// The cursor of internal transactions.
    pub internal: Option<BlockNumber>,
}

domain::all_variants! {
    /// The kinds of records, in their order in a file. That of matching is the last: it is written once the queues
    /// are complete.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum RecordKind {
        ApiKey,
        UsedProof,
        VerifiedCode,
        VerifiedContract,
        Deployment,
        Job,
        Failure,
        Webhook,
        DeliveryLog,
        Event,
        Delivery,
        MatchedBlock,
        OrphanedBlock,
        Matching,
    }
}

/// The position of a record among all records: its kind and its key. The order within a kind is that of the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RecordPosition {
    ApiKey(ApiKeyId),
    UsedProof(Address, UnixMillis),
    VerifiedCode(B256, Option<Address>),
    VerifiedContract(u64),
    Deployment(Address, B256),
    Job(u64),
    Failure(B256),
    Webhook(WebhookId),
    DeliveryLog(WebhookId),
    Event(u64),
    Delivery(WebhookId, DeliveryNumber),
    MatchedBlock(BlockNumber),
    OrphanedBlock(BlockNumber, HashPrefix),
    Matching,
}

impl RecordPosition {
    /// Checks a position to continue after: with one of another kind, all records of the kind would be read again.
    ///
    /// # Errors
    /// If it is of another kind.
    pub fn check(after: Option<Self>, kind: RecordKind) -> Result<(), StoreError> {
        match after {
            Some(after) if after.kind() != kind => Err(StoreError::Corrupt("a position among records of another kind")),
            Some(_) | None => Ok(()),
        }
    }

    #[must_use]
    pub fn kind(&self) -> RecordKind {
        match self {
            Self::ApiKey(_) => RecordKind::ApiKey,
            Self::UsedProof(..) => RecordKind::UsedProof,
            Self::VerifiedCode(..) => RecordKind::VerifiedCode,
            Self::VerifiedContract(_) => RecordKind::VerifiedContract,
            Self::Deployment(..) => RecordKind::Deployment,
            Self::Job(_) => RecordKind::Job,
            Self::Failure(_) => RecordKind::Failure,
            Self::Webhook(_) => RecordKind::Webhook,
            Self::DeliveryLog(_) => RecordKind::DeliveryLog,
            Self::Event(_) => RecordKind::Event,
            Self::Delivery(..) => RecordKind::Delivery,
            Self::MatchedBlock(_) => RecordKind::MatchedBlock,
            Self::OrphanedBlock(..) => RecordKind::OrphanedBlock,
            Self::Matching => RecordKind::Matching,
        }
    }
}

impl Record {
    #[must_use]
    pub fn position(&self) -> RecordPosition {
        match self {
            Self::ApiKey(key) => RecordPosition::ApiKey(key.id),
            Self::UsedProof(proof) => RecordPosition::UsedProof(proof.owner, proof.signed_at),
            Self::VerifiedCode(record) => RecordPosition::VerifiedCode(record.code.code_hash, record.only_at),
            Self::VerifiedContract(contract) => RecordPosition::VerifiedContract(contract.number),
            Self::Deployment(record) => RecordPosition::Deployment(record.address, record.code_hash),
            Self::Job(job) => RecordPosition::Job(job.number),
            Self::Failure(failure) => RecordPosition::Failure(failure.transaction),
            Self::Webhook(webhook) => RecordPosition::Webhook(webhook.id),
            Self::DeliveryLog(log) => RecordPosition::DeliveryLog(log.webhook),
            Self::Event(event) => RecordPosition::Event(event.number),
            Self::Delivery(record) => RecordPosition::Delivery(record.delivery.webhook, record.delivery.number),
            Self::MatchedBlock(matched) => RecordPosition::MatchedBlock(matched.block.number),
            Self::OrphanedBlock(block) => RecordPosition::OrphanedBlock(block.number, block.hash_prefix),
            Self::Matching(_) => RecordPosition::Matching,
        }
    }
}
